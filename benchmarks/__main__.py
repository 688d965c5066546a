"""One table: `python -m benchmarks [--quick] [--big] [--profile] [--journal] [--workers]`."""

from __future__ import annotations

import argparse


def main() -> None:
    """Measure and print; every ratio is between two things measured in this run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--big", action="store_true", help="also 1 GB of logs")
    parser.add_argument("--profile", action="store_true", help="where a guarded step goes")
    parser.add_argument("--journal", action="store_true", help="only the journal, on both stores")
    parser.add_argument("--workers", action="store_true", help="only many investigations at once")
    options = parser.parse_args()
    if options.journal or options.workers:
        if options.journal:
            _journal(3 if options.quick else 7)
        if options.workers:
            _workers(options.quick)
        return

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


def _journal(repeat: int) -> None:
    from benchmarks.journal import bytes_each, journal_cost, resume_cost
    from benchmarks.rounds import late_resume, long_run

    cost = journal_cost(repeat)
    _row("what", "bare step", "journal", "share", "")
    for name, span in cost.by_store.items():
        share = f"{span / cost.bare:.1%}"
        _row(f"a step and an action, {name}", _ms(cost.bare), _ms(span), share, "")
    _row("what", "imports", "taking up", "ratio", "")
    for name, (records, loading, taking) in resume_cost(repeat).items():
        ratio = f"{taking / loading:.2f}"
        _row(f"a run of {records:,} records, {name}", _ms(loading), _ms(taking), ratio, "")
    for name, size in bytes_each().items():
        print(f"an investigation of the analyst in {name}: {size / 1000:.0f} kB")
    early, last, grown = long_run(1000)
    _pair("round CPU, 5th-24th and last 20 of 1,000, session in SQLite", early, last)
    print(f"memory of those rounds: {grown:+.1f} MB from the 20th to the 1,000th")
    first, bare = late_resume(990)
    _pair("CPU to the first model call, new run and resumed in its 991st round", bare, first)


def _workers(quick: bool) -> None:
    from benchmarks.workers import at_once, crew_cost
    from roundsman.drill.database_server import database_server

    for waiting in (False, True):
        who = "a model of 1 s a call" if waiting else "the analyst"
        counts = (1, 8, 32) if waiting else (1, 2, 4)
        for count, (rate, peak) in at_once(counts, waiting).items():
            print(f"{count} at once by {who}: {rate:.0f} a minute, {peak} MB")
    jobs, workers, kills = (12, 2, 3) if quick else (60, 3, 12)
    print("SQLite", crew_cost(jobs, workers, kills))
    with database_server() as server:
        print("PostgreSQL", crew_cost(jobs, workers, kills, server.new_database()))


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def _pair(what: str, without: float, beside: float) -> None:
    added = f"{(beside - without) * 1e3:+.2f} ms"
    ratio = f"{beside / without:.2f}"
    _row(what, f"{without * 1e3:.2f} ms", f"{beside * 1e3:.2f} ms", ratio, added)


def _row(*cells: str) -> None:
    first, *rest = cells
    print(f"{first:<58}" + "".join(f"{cell:>13}" for cell in rest), flush=True)


if __name__ == "__main__":
    main()
