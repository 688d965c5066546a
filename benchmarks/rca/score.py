"""Counting: what was said of each case beside the truth, per set, and how sure it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from benchmarks.rca.baselines import Said
from benchmarks.rca.cases import Truth

Row = TypeVar("Row", bound=Mapping[str, Any])

#: kinds of cause in the words of sets that judge by category
_CATEGORIES = {
    "config_change": "configuration_error",
    "flag": "configuration_error",
    "deploy": "code_defect",
    "commit": "code_defect",
    "traffic": "resource_exhaustion",
    "resource": "resource_exhaustion",
    "disk": "resource_exhaustion",
    "node": "infrastructure",
    "certificate": "infrastructure",
    "upstream": "dependency_failure",
    "dns": "infrastructure",
    "neighbour": "resource_exhaustion",
    "cache": "resource_exhaustion",
    "data": "data_quality",
}


def category_of(kind: str) -> str:
    """The category a kind of cause belongs to; empty when it belongs to none."""
    return _CATEGORIES.get(kind, "")


def _names_any(text: str, names: Sequence[str]) -> bool:
    return any(name and name in text for name in names)


def judge(truth: Truth, said: Said) -> dict[str, bool | None]:
    """Which questions of the set the answer meets; None where the set does not ask."""
    ranked = [name.lower() for name in said.services]
    if truth.first_failing and said.first_failing:
        ranked = list(dict.fromkeys([said.first_failing.lower(), *ranked]))
    right = {name.lower() for name in truth.services}
    guilty = _names_any(said.change, truth.changes)
    out: dict[str, bool | None] = {
        "top1": bool(right & set(ranked[:1])) if right else None,
        "top3": bool(right & set(ranked[:3])) if right else None,
        "change": guilty if truth.changes else None,
        "no change": not said.change if truth.judged_by_change and not truth.changes else None,
        "decoy": not guilty and _names_any(said.change, truth.decoys) if truth.decoys else None,
        "accused healthy": said.accuses if truth.healthy else None,
        "forbidden": said.accuses and said.category in truth.forbidden if truth.forbidden else None,
    }
    out["right"] = _right(truth, out, said)
    return out


def _right(truth: Truth, found: Mapping[str, bool | None], said: Said) -> bool:
    """Right as a whole: the service, and the change or that there is none; nothing for a healthy one."""
    if truth.healthy:
        return not said.accuses
    asked = [found[key] for key in ("top1", "change", "no change")]
    if truth.category and all(one is None for one in asked):
        return said.accuses and said.category == truth.category
    return all(one is not False for one in asked)


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """`count/asked` of every question the set asks."""
    out: dict[str, str] = {}
    for key in rows[0]["judged"] if rows else ():
        asked = [row["judged"][key] for row in rows if row["judged"][key] is not None]
        if asked:
            out[key] = f"{sum(asked)}/{len(asked)}"
    return out


def calibration(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Of the answers that accuse something, the share that is right, by stated confidence."""
    out = {}
    for level in ("high", "medium", "low"):
        said = [r for r in rows if r["accuses"] and r["confidence"] == level]
        if said:
            out[level] = f"{sum(bool(r['judged']['right']) for r in said)}/{len(said)}"
    return out


def by(rows: Sequence[Row], key: Callable[[Mapping[str, Any]], str]) -> dict[str, list[Row]]:
    """Rows in groups, in the order of their first member."""
    out: dict[str, list[Row]] = {}
    for row in rows:
        out.setdefault(key(row), []).append(row)
    return out
