"""Levels chosen on some recordings, measured on others: `python -m benchmarks.stuck_held_out PATH...`

`benchmarks.stuck` measures one policy. Here the two levels that decide, `repetition.withhold` and
`repetition.stop`, are chosen anew for each part of the runs on all other parts: the best recall at no more
than 0.5 % false stops. Parts are the sources (one left out at a time), and five random fifths. The
points of the signals stay as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks.replay import prepare, replay
from benchmarks.stuck import is_stuck, repetition_rules
from benchmarks.trajectories import Read, files, read
from roundsman.policy import load_policy

Levels = tuple[float, float]
GRID: list[Levels] = [
    (withhold, stop)
    for withhold in (1.5, 2.0, 2.5)
    for stop in (2.0, 2.5, 3.0, 3.5, 4.0, 5.0)
    if withhold <= stop
]
MOST_FALSE = 0.005


@dataclass(frozen=True, slots=True)
class Seen:
    """One run: its labels, and the call at which each setting would have ended it (0: not)."""

    name: str
    source: str
    success: bool
    stuck: bool
    calls: int
    at: dict[Levels, int]


@dataclass(frozen=True, slots=True)
class Rates:
    """False stops of the successes, and stuck runs that were caught, each of how many."""

    false: int
    successes: int
    caught: int
    stuck: int

    def __add__(self, other: Rates) -> Rates:
        return Rates(
            self.false + other.false,
            self.successes + other.successes,
            self.caught + other.caught,
            self.stuck + other.stuck,
        )

    def __str__(self) -> str:
        false = 100 * self.false / self.successes if self.successes else 0.0
        recall = self.caught / self.stuck if self.stuck else 0.0
        return f"{false:.2f} % of {self.successes}, {recall:.3f} of {self.stuck}"


def rates(runs: Iterable[Seen], levels: Levels) -> Rates:
    """How a setting does on these runs; a stop at a stuck run's last call counts for nothing."""
    total = Rates(0, 0, 0, 0)
    for run in runs:
        first = run.at[levels]
        false = run.success and 0 < first <= run.calls
        caught = run.stuck and 0 < first < run.calls
        total += Rates(false, run.success, caught, run.stuck)
    return total


def choose(runs: Sequence[Seen]) -> Levels:
    """The setting of best recall at no more than `MOST_FALSE`; of equals the one with fewer false."""
    measured = {levels: rates(runs, levels) for levels in GRID}
    good = [g for g, r in measured.items() if r.false <= MOST_FALSE * r.successes]
    return max(good or GRID, key=lambda g: (measured[g].caught, -measured[g].false))


def held_out(runs: Sequence[Seen], part: Callable[[Seen], str]) -> tuple[Rates, list[str]]:
    """(the sum over the parts, a line each), every part under what was chosen without it."""
    total, lines = Rates(0, 0, 0, 0), []
    for name in sorted({part(run) for run in runs}):
        levels = choose([run for run in runs if part(run) != name])
        mine = rates([run for run in runs if part(run) == name], levels)
        total += mine
        lines.append(f"  {name:<26} {levels[0]:g}/{levels[1]:g}  {mine}")
    return total, lines


def seen(paths: Sequence[Path]) -> list[Seen]:
    """Every run with a step cap, under every setting."""
    base = load_policy("default")
    rules = {}
    for withhold, stop in GRID:
        levels = {"warn": 1.0, "withhold": withhold, "stop": stop}
        repetition = base.repetition.model_copy(update=levels)
        rules[withhold, stop] = repetition_rules(base.model_copy(update={"repetition": repetition}))
    found, met = [], Read()
    for path in files(paths):
        for run in read(path, met):
            if run.capped:
                prepared = prepare(run, {})
                at = {levels: replay(prepared, placed).stopped for levels, placed in rules.items()}
                name = f"{path.name}:{len(found)}"
                ok, stuck = run.success is True, is_stuck(run)
                found.append(Seen(name, run.source, ok, stuck, run.calls, at))
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stuck_held_out", description=__doc__
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    runs = seen(parser.parse_args().paths)
    print("withhold/stop, all runs: false stops, recall")
    for levels in GRID:
        print(f"  {levels[0]:g}/{levels[1]:g}  {rates(runs, levels)}")
    total, lines = held_out(runs, lambda run: run.source)
    print("each source under what was chosen on the others", *lines, f"  all  {total}", sep="\n")
    fifth = lambda run: str(int(sha256(run.name.encode()).hexdigest(), 16) % 5)  # noqa: E731
    total, lines = held_out(runs, fifth)
    print("each fifth under what was chosen on the others", *lines, f"  all  {total}", sep="\n")


if __name__ == "__main__":
    main()
