"""Stuck or busy? `python -m benchmarks.stuck PATH... [--json] [--ablation] [--policy FILE]`

Replays recorded runs (files or folders, see benchmarks/trajectories.py) through the repetition
rules and counts, for each source:

* false stops: runs that later succeeded and would have been interrupted,
* recall: stuck runs (failed with the step cap used up) that would have been,
* the median call at which, and the calls that would have been saved.

`simple` is the reference's rule, which interrupts by not running a call. `ours` is the policy's:
it interrupts by stopping the run; `ours, withheld` counts the first call it does not run, and
`ours, warned` the first warning; `ours, in a round` its stop where the run is the first round of a
loop, which holds no finding yet. An interruption at a stuck run's last call counts
for nothing; at a successful run's last call it is a false stop.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.replay import Prepared, prepare, replay
from benchmarks.trajectories import Read, Run, files, read
from roundsman.errors import RoundsmanError
from roundsman.guard import Placed, rules_for
from roundsman.policy import Policy, load_policy

ALL_CAPPED = "all with a step cap"


@dataclass(slots=True)
class Tally:
    """Counts of one rule over one source. `at` and `saved` are of caught stuck runs."""

    false: int = 0
    caught: int = 0
    at: list[int] = field(default_factory=list)
    saved: int = 0

    def add(self, run: Run, first: int) -> None:
        if run.success and 0 < first <= run.calls:
            self.false += 1
        elif is_stuck(run) and 0 < first < run.calls:
            self.caught += 1
            self.at.append(first)
            self.saved += run.calls - first + 1


@dataclass(slots=True)
class Source:
    """One source: how many runs of which kind, and a tally for each way of measuring."""

    runs: int = 0
    calls: int = 0
    successes: int = 0
    stuck: int = 0
    stuck_calls: int = 0
    capped: bool = False
    tallies: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))

    def count(self, run: Run) -> None:
        self.runs += 1
        self.calls += run.calls
        self.capped = self.capped or run.capped
        self.successes += run.success is True
        if is_stuck(run):
            self.stuck += 1
            self.stuck_calls += run.calls

    def row(self) -> dict[str, Any]:
        """As `--json` gives it."""
        return {
            "runs": self.runs,
            "calls": self.calls,
            "successes": self.successes,
            "stuck": self.stuck,
            "hard_cap": self.capped,
            "rules": {
                name: {
                    "false_stops": t.false,
                    "false_stop_rate": _share(t.false, self.successes),
                    "caught": t.caught,
                    "recall": _share(t.caught, self.stuck),
                    "median_step": median(t.at) if t.at else None,
                    "calls_saved": t.saved,
                    "calls_saved_share": _share(t.saved, self.stuck_calls),
                }
                for name, t in self.tallies.items()
            },
        }


def is_stuck(run: Run) -> bool:
    """Failed, with the step cap used up."""
    return run.success is False and run.exhausted


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 5) if whole else None


def repetition_rules(policy: Policy) -> tuple[Placed, ...]:
    """The rules of a policy that look for repetition, enforced."""
    return tuple(Placed(p.rule) for p in rules_for(policy) if p.rule.name == "repetition")


def measure(
    runs: Iterable[Run], policy: Policy, more: dict[str, Policy] | None = None
) -> dict[str, Source]:
    """Tallies by source, and over all sources that have a step cap.

    `more`: further policies by name, measured by their stop.
    """
    simple = repetition_rules(_simple())
    ours = repetition_rules(policy)
    others = {name: repetition_rules(p) for name, p in (more or {}).items()}
    effects = {n: t.effect for n, t in policy.tools.allow.items() if "effect" in t.model_fields_set}
    sources: dict[str, Source] = defaultdict(Source)
    for run in runs:
        prepared = prepare(run, effects)
        firsts = {"simple": replay(prepared, simple).withheld, **_ours(prepared, ours)}
        for name, rules in others.items():
            firsts[name] = replay(prepared, rules).stopped
        for key in [run.source] + [ALL_CAPPED] * run.capped:
            sources[key].count(run)
            for name, first in firsts.items():
                sources[key].tallies[name].add(run, first)
    return dict(sources)


def _ours(prepared: Prepared, rules: Sequence[Placed]) -> dict[str, int]:
    seen, round_ = replay(prepared, rules), replay(prepared, rules, in_round=True)
    return {
        "ours": seen.stopped,
        "ours, in a round": round_.stopped,
        "ours, withheld": seen.withheld,
        "ours, warned": seen.warned,
    }


def _simple() -> Policy:
    base = load_policy("baseline")
    return base.model_copy(
        update={"repetition": base.repetition.model_copy(update={"mode": "simple"})}
    )


def without(policy: Policy, signal: str) -> Policy:
    """The policy with one signal fewer."""
    left = [s for s in policy.repetition.signals if s != signal]
    return policy.model_copy(
        update={"repetition": policy.repetition.model_copy(update={"signals": left})}
    )


def only(policy: Policy, signal: str) -> Policy:
    """The policy with one signal alone."""
    return policy.model_copy(
        update={"repetition": policy.repetition.model_copy(update={"signals": [signal]})}
    )


def _all_runs(paths: Sequence[Path], met: Read) -> Iterable[Run]:
    for path in paths:
        yield from read(path, met)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print. 2 when a path or the policy cannot be used."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stuck", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--ablation", action="store_true", help="also what each signal adds")
    parser.add_argument("--policy", default="default", help="preset or file (default: default)")
    options = parser.parse_args(argv)
    met = Read()
    try:
        policy = load_policy(options.policy)
        more = {}
        if options.ablation:
            for signal in policy.repetition.signals:
                more[f"without {signal}"] = without(policy, signal)
                more[f"only {signal}"] = only(policy, signal)
        sources = measure(_all_runs(files(options.paths), met), policy, more)
    except (OSError, RoundsmanError) as error:
        print(f"stuck: {error}", file=sys.stderr)
        return 2
    rows = {name: sources[name].row() for name in sorted(sources)}
    if options.json:
        print(json.dumps({"lines": met.lines, "bad": met.bad, "sources": rows}, indent=1))
    else:
        _print(rows, met)
    return 0


def _print(rows: dict[str, dict[str, Any]], met: Read) -> None:
    bad = ", ".join(f"{n} x {why}" for why, n in met.bad.items()) or "none"
    print(f"{met.lines:,} runs; not used: {bad}\n")
    head = ("false stops", "rate", "recall", "median step", "calls saved")
    print(f"{'':<38}" + "".join(f"{h:>13}" for h in head))
    for name, row in rows.items():
        cap = "" if row["hard_cap"] else ", no step cap"
        print(f"{name}: {row['successes']:,} successes, {row['stuck']:,} stuck{cap}")
        for rule, t in row["rules"].items():
            saved = f"{t['calls_saved']:,}"
            if t["calls_saved_share"] is not None:
                saved += f" {t['calls_saved_share']:.0%}"
            cells = (
                f"{t['false_stops']}",
                _percent(t["false_stop_rate"], 2),
                "-" if t["recall"] is None else f"{t['recall']:.3f}",
                "-" if t["median_step"] is None else f"{t['median_step']:g}",
                saved,
            )
            print(f"  {rule:<36}" + "".join(f"{c:>13}" for c in cells))


def _percent(share: float | None, digits: int) -> str:
    return "-" if share is None else f"{share:.{digits}%}"


if __name__ == "__main__":
    sys.exit(main())
