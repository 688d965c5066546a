"""Clocks that differ between the sources of one incident, and what a verdict may then not rest on."""

from __future__ import annotations

from typing import Any

from roundsman.analysis.clocks import Skew, agreed, shifted
from roundsman.analysis.symptoms import kinds_of
from roundsman.investigate.entries import Changed, Moved
from roundsman.investigate.facts import CLOCK, Facts, same_values
from roundsman.investigate.harm import Harm
from roundsman.investigate.incident import Incident

NOT_CORRECTED = "times were not corrected"
_METRICS, _LOGS, _CHANGES = "metrics", "logs", "changes"


def clocks_row(incident: Incident) -> dict[str, Any]:
    """Skews that the sources' extents show, for a result; nothing when there are none."""
    found = shifted(incident.extents)
    rows = [
        {"of": one.of, "against": one.against, "seconds": one.seconds, "by": one.by}
        for one in found
    ]
    return {"clocks": rows} if rows else {}


def skews(facts: Facts) -> list[Skew]:
    """Every skew results show: by extents, by errors counted and logged, by settings changed and measured.

    Of one pair of sources the first that is found counts.
    """
    found = [
        Skew(str(row.get("of")), str(row.get("against")), float(row.get("seconds") or 0), str(row.get("by")))
        for row in facts.clocks
    ]  # fmt: skip
    lags = _errors_twice(facts)
    if (lag := agreed(lags)) is not None:
        found.append(Skew(_LOGS, _METRICS, lag, f"errors of {len(lags)} services show it"))
    lags = _settings_twice(facts)
    if (lag := agreed(lags)) is not None:
        found.append(Skew(_CHANGES, _METRICS, -lag, "what was changed is measured so far apart"))
    kept: dict[tuple[str, str], Skew] = {}
    for one in found:
        kept.setdefault((one.of, one.against), one)
    return list(kept.values())


def _errors_twice(facts: Facts) -> list[float]:
    """For each service whose errors are both counted and logged: by how much the logs are later."""
    counted: dict[str, float] = {}
    for one in facts.metrics:
        if "error" in kinds_of(one.name) and (one.level("after") or 0) > (one.level("before") or 0):
            name = one.service.lower()
            counted[name] = min(one.at, counted.get(name, one.at))
    logged: dict[str, float] = {}
    for one in facts.bad_logs:
        name = one.service.lower()
        logged[name] = min(one.at, logged.get(name, one.at))
    return [logged[name] - counted[name] for name in counted.keys() & logged.keys() if name]


def _settings_twice(facts: Facts) -> list[float]:
    """For each change whose new value or version a metric repeats: by how much the metric is later."""
    lags = []
    settings = [one for one in [*facts.settings, *facts.metrics] if one.row.get("setting")]
    for change in facts.changes:
        mine = [one.at - change.at for one in settings if _repeats(one, change)]
        if mine:
            lags.append(min(mine, key=abs))
    return lags


def _repeats(one: Moved, change: Changed) -> bool:
    version = change.name
    if one.row.get("moved") == "appeared":
        return len(version) > 3 and any(c.isdigit() for c in version) and version in one.name
    return any(same_values(one, pair) for pair in change.diff.values())


def doubtful_order(change: Changed, harm: Harm, found: list[Skew]) -> Skew | None:
    """The skew on which it depends whether the change came before the harm; None when by all it did."""
    metrics = min((one.at for one in harm.signs if not one.log), default=None)
    logs = min((one.at for one in harm.signs if one.log), default=None)
    for skew in found:
        onsets = [at for at in (metrics, logs) if at is not None]
        if {skew.of, skew.against} == {_LOGS, _METRICS}:
            lag = skew.seconds if skew.of == _LOGS else -skew.seconds
            onsets += [metrics + lag] if metrics is not None else []
            onsets += [logs - lag] if logs is not None else []
        moments = [change.at]
        if _CHANGES in (skew.of, skew.against):
            moments.append(change.at - (skew.seconds if skew.of == _CHANGES else -skew.seconds))
        if onsets and max(moments) > min(onsets) + CLOCK:
            return skew
    return None
