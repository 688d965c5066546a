"""One table: `python -m benchmarks [--quick] [--big] [--profile]`."""

from __future__ import annotations

import argparse


def main() -> None:
    """Measure and print; every ratio is between two things measured in this run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--big", action="store_true", help="also 1 GB of logs")
    parser.add_argument("--profile", action="store_true", help="where a guarded step goes")
    options = parser.parse_args()

    from benchmarks.rounds import round_cost
    from benchmarks.starts import start_cost
    from benchmarks.steps import profile, step_cost

    repeat = 3 if options.quick else 7
    _row("what", "without", "with", "ratio", "added")
    for durable, where in ((False, "memory"), (True, "SQLite")):
        for steps in (10, 200):
            bare, guard = step_cost(steps, durable, repeat if steps == 10 else max(3, repeat // 2))
            _pair(f"step CPU, {steps} steps, session in {where}", bare / steps, guard / steps)
    for durable, where in ((True, "SQLite"), (False, "memory")):
        early, last = round_cost(durable)
        _pair(f"round CPU, 5th-24th and 281st-300th, session in {where}", early, last)
    starts = start_cost(repeat * 2)
    empty = starts.pop("python -c pass")
    for name, span in starts.items():
        _pair(f"start, python -c pass and {name}", empty, span)
    if options.big:
        from benchmarks.logs import log_cost

        cost = log_cost()
        what = f"1 GB of logs, zcat|grep ({cost.grep_found} hits), source ({cost.source_found})"
        _pair(what, cost.grep, cost.source)
        _pair(f"the same, DuckDB ({cost.duckdb_found} hits), source", cost.duckdb, cost.source)
        print(f"the source's peak memory: {cost.source_mb} MB")
    if options.profile:
        print()
        print(profile())


def _pair(what: str, without: float, beside: float) -> None:
    added = f"{(beside - without) * 1e3:+.2f} ms"
    ratio = f"{beside / without:.2f}"
    _row(what, f"{without * 1e3:.2f} ms", f"{beside * 1e3:.2f} ms", ratio, added)


def _row(*cells: str) -> None:
    first, *rest = cells
    print(f"{first:<58}" + "".join(f"{cell:>13}" for cell in rest), flush=True)


if __name__ == "__main__":
    main()
