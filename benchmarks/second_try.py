"""Is a second try worth it? `python -m benchmarks.second_try PATH... [--json] [--policy FILE]`

Recorded runs (files or folders, see benchmarks/trajectories.py) in which one agent tried one task twice. How
often did the next try succeed, over all, and where the first failed and the policy would have stopped it?
By what the next try was told:

* more: the same prompt and the tables' names (InterCode calls that a handicap);
* of its failure: its own reflection on the first try (Reflexion);
* the same: the very prompt again, later;
* less: as the first, without the tables' names.

A round of `loop_until_done` after one that was ended is such a next try: with findings it is told more,
without any the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.replay import prepare, replay
from benchmarks.stuck import repetition_rules
from benchmarks.trajectories import Read, files, read
from roundsman.errors import RoundsmanError
from roundsman.policy import Policy, load_policy

_HELPED = "_handicap"
_TRIAL = re.compile(r"/t(\d+)$")
TOLD = ("more", "of its failure", "the same", "less")


class Try(NamedTuple):
    """One run: the `series` it belongs to without what tells its tries apart, whether it was `helped`, its
    number there, and what came of it. `stopped`: the policy would have ended it before its last call."""

    series: str
    helped: bool
    number: int
    task: str
    success: bool
    stopped: bool


def tries(paths: Sequence[Path], policy: Policy) -> Iterator[Try]:
    """The runs of these files whose outcome is known."""
    rules, met = repetition_rules(policy), Read()
    for path in paths:
        tasks = dict(_tasks(path))
        for run in read(path, met):
            if run.success is None or run.run_id not in tasks:
                continue
            series = run.run_id.rpartition("/")[0]
            trial = _TRIAL.search(series)
            stop = replay(prepare(run, {}), rules).stopped
            yield Try(
                _TRIAL.sub("", series).replace(_HELPED, ""),
                _HELPED in series,
                int(trial[1]) if trial else 0,
                tasks[run.run_id],
                run.success,
                0 < stop < run.calls,
            )


def told(first: Try, then: Try) -> str:
    """What the second of two tries was told beside the first; empty when they are no such pair."""
    if first.series != then.series or first.task != then.task:
        return ""
    if first.helped != then.helped:
        return "more" if then.helped else "less"
    if then.number == first.number + 1:
        return "of its failure" if "reflexion" in then.series else "the same"
    return ""


def measure(those: Iterable[Try]) -> dict[str, dict[str, int]]:
    """Counts by what the next try was told: pairs and successes of all, and of those whose first try failed
    and would have been stopped."""
    groups: dict[tuple[str, str], list[Try]] = defaultdict(list)
    for one in those:
        groups[one.series, one.task].append(one)
    found = {what: dict.fromkeys(("pairs", "then", "stopped", "stopped_then"), 0) for what in TOLD}
    for group in groups.values():
        for first in group:
            for then in group:
                what = told(first, then)
                if not what:
                    continue
                row = found[what]
                row["pairs"] += 1
                row["then"] += then.success
                if first.stopped and not first.success:
                    row["stopped"] += 1
                    row["stopped_then"] += then.success
    return found


def _tasks(path: Path) -> Iterator[tuple[str, str]]:
    """(run, first words of its user); lines that cannot be used are left to the reader of runs."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            try:
                row: Any = json.loads(line)
                said = (e["text"] for e in row["events"] if e.get("type") == "user")
                yield row["run_id"], next(said)
            except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
                continue


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print. 2 when a path or the policy cannot be used."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.second_try", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--policy", default="default", help="preset or file (default: default)")
    options = parser.parse_args(argv)
    try:
        found = measure(tries(files(options.paths), load_policy(options.policy)))
    except (OSError, RoundsmanError) as error:
        print(f"second_try: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(found, indent=1))
        return 0
    print(f"{'the next try was told':<24}{'succeeded':>16}{'after a stop':>16}")
    for what, row in found.items():
        cells = (f"{row['then']} of {row['pairs']}", f"{row['stopped_then']} of {row['stopped']}")
        print(f"{what:<24}" + "".join(f"{cell:>16}" for cell in cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
