"""Runs that ask for one thing again and again: in how many of their steps `default` ends them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from benchmarks.real_model.runs import MANY

Rows = Sequence[dict[str, Any]]

SHARE = 1 / 3
"""Of the steps under `baseline`, what a run that repeats itself may take under `default`."""


def ends_early(runs: Rows) -> dict[str, Any]:
    """Both readings of the claim: pair by pair, which is what `holds` says, and over the sum of steps.
    `later` pairs are those that take longer; of these, `repeated_all_the_same` counts the runs under
    `default` that asked for one thing just as often, and `went_another_way` those that never had a call
    withheld: told once, if at all, they asked for something else."""
    pairs = list(repeating(runs))
    later = [p for p in pairs if p["default"] > p["baseline"] * SHARE]
    found: dict[str, Any] = {
        "pairs": pairs,
        "later": len(later),
        "repeated_all_the_same": sum(p["identical_default"] >= MANY for p in later),
        "went_another_way": sum(_nothing_withheld(p["course_default"]) for p in later),
        "median_share": None,
        "share_of_all_steps": None,
        "holds": not later if pairs else None,
    }
    if pairs:
        found["median_share"] = round(median(p["default"] / p["baseline"] for p in pairs), 2)
        steps = {guard: sum(p[guard] for p in pairs) for guard in ("default", "baseline")}
        found["share_of_all_steps"] = round(steps["default"] / steps["baseline"], 2)
    return found


def _nothing_withheld(course: str) -> bool:
    return course == course.upper()


def repeating(runs: Rows) -> Iterator[dict[str, Any]]:
    """Steps under each guard of every case and seed that repeated one call, without a guard or under
    `baseline`."""
    groups: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = defaultdict(dict)
    for r in runs:
        groups[r["case"], r["seed"], r["tools"]][r["guard"]] = r
    for (case, seed, _), by_guard in groups.items():
        if not {"baseline", "default"} <= by_guard.keys():
            continue
        unheld = (
            by_guard[guard]["identical"] for guard in ("off", "baseline") if guard in by_guard
        )
        if max(unheld) >= MANY:
            steps = {guard: row["steps"] for guard, row in by_guard.items()}
            more = {
                f"{key}_{guard}": row[key]
                for guard, row in by_guard.items()
                for key in ("identical", "course")
            }
            yield {"case": case, "seed": seed, **steps, **more}


def lines_of(found: dict[str, Any]) -> list[str]:
    """Both readings on one line, and the pairs below it."""
    pairs = found["pairs"]
    if not pairs:
        return []
    head = (
        f"    {len(pairs) - found['later']} of {len(pairs)} pairs end in a third of the steps or less; "
        f"of the others {found['went_another_way']} went another way once told, "
        f"{found['repeated_all_the_same']} asked {MANY} times under default, too"
    )
    sums = f"    median share {found['median_share']}; of the sum of steps {found['share_of_all_steps']}"
    return [
        head,
        sums,
        *("    " + ", ".join(f"{k} {v}" for k, v in pair.items()) for pair in pairs),
    ]
