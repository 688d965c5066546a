"""What a report draws: the timeline of an incident, and the charts that show the movement.

Everything comes from results the run holds and from what is in memory: drawing must not take longer
than the investigation was allowed to, and no log is read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from roundsman.investigate.answers import number
from roundsman.investigate.facts import Facts, Moved
from roundsman.investigate.incident import Incident
from roundsman.investigate.windows import MINUTES
from roundsman.sources import Series, Window
from roundsman.sources.times import iso, parse_time

_CHARTS, _POINTS = 6, 120
_LOG_LINES, _METRICS = 6, 12
_HOUR = MINUTES * 60.0


def _window(incident: Incident) -> Window:
    whole = incident.window
    return Window(min(whole.start, whole.end - _HOUR), whole.end)


def _moved(facts: Facts) -> list[Moved]:
    """Metrics that moved: what a setting repeats last, what moved furthest first."""
    found = [*facts.metrics, *facts.transients, *facts.settings]
    return sorted(
        found, key=lambda m: (bool(m.row.get("setting")), -float(m.row.get("score") or 0), m.at)
    )


def timeline(incident: Incident, cause: Mapping[str, Any], facts: Facts) -> list[dict[str, Any]]:
    """Changes, onsets, new error lines and the alert in the order of their times (UTC).

    `facts` are what the run's results say.
    """
    rows: list[tuple[float, str, str, str]] = []
    for change in incident.source.changes(_window(incident)):
        keys = [f"{key} {old} → {new}" for key, (old, new) in list(change.diff.items())[:4]]
        what = f"{change.kind} {change.name}" + (f": {', '.join(keys)}" if keys else "")
        rows.append((change.at, what, "deploy", change.service))
    for moved in _moved(facts)[:_METRICS]:
        before, after = (
            "no samples" if moved.row.get(side) is None else moved.row[side]
            for side in ("before", "after")
        )
        rows.append((moved.at, f"{moved.name} {before} → {after}", "metric", moved.service))
    for line in sorted(facts.bad_logs, key=lambda m: -int(m.row.get("after") or 0))[:_LOG_LINES]:
        rows.append((line.at, line.name[:200], "log", line.service))
    if incident.alert and incident.alert.at is not None:
        rows.append((incident.alert.at, incident.alert.name, "alert", incident.alert.service))
    since = parse_time(cause.get("since"))
    if since is not None and not cause.get("abstained"):
        rows.append((since, "first movement", "onset", str(cause.get("service") or "")))
    order = {"deploy": 0, "onset": 1, "metric": 2, "log": 3, "alert": 4}
    rows.sort(key=lambda row: (row[0], order[row[2]]))
    return [{"at": iso(at), "what": what, "kind": k, "service": s} for at, what, k, s in rows]


def _marker(moved: Moved) -> bool:
    return bool(moved.row.get("setting")) and moved.row.get("moved") in ("appeared", "vanished")


def charts(incident: Incident, onset: str | None, facts: Facts) -> list[dict[str, Any]]:
    """Up to six metrics that moved, at most 120 points each, with the changes as marks.

    Constants that only appear or vanish (markers of a version) are drawn when nothing else moved.
    `onset` is the cause's `since`; a series that moved by itself carries its own time, and of a window
    of hours only the one around that is drawn. With nothing moved, the first series are drawn, so
    that a reader can see that they are quiet.
    """
    window = _window(incident)
    series = incident.source.series(window)
    named = {(one.service, one.metric): one for one in series}
    pairs: list[tuple[Series, Moved | None]] = []
    found_moved = _moved(facts)
    for moved in [one for one in found_moved if not _marker(one)] or found_moved:
        one = named.pop((moved.service, moved.name), None)
        if one is not None:
            pairs.append((_around(one, moved.at, window), moved))
    if not pairs:
        pairs = [(one, None) for one in series]
    changes = incident.source.changes(window)
    out = []
    for one, found in pairs[:_CHARTS]:
        picked = np.unique(
            np.linspace(0, one.times.size - 1, min(_POINTS, one.times.size)).astype(int)
        )
        first, last = float(one.times[0]), float(one.times[-1])
        marks = [
            {"at": iso(change.at), "label": f"{change.kind} {change.name}"}
            for change in changes
            if first - 60 <= change.at <= last + 60
        ]
        levels = {key: found.row.get(key) for key in ("before", "after")} if found else {}
        out.append(
            {
                **levels,
                "title": f"{one.service} {one.metric}".strip(),
                "service": one.service,
                "metric": one.metric,
                "points": [
                    [iso(float(one.times[i])), number(float(one.values[i]))] for i in picked
                ],
                "onset": iso(found.at) if found else onset,
                "marks": marks[:8],
            }
        )
    return out


def _around(series: Series, at: float, window: Window) -> Series:
    if window.end - window.start <= 1.5 * _HOUR:
        return series
    end = min(window.end, at + _HOUR / 2)
    inside = (series.times >= end - _HOUR) & (series.times <= end)
    if not inside.any():
        return series
    return Series(series.service, series.metric, series.times[inside], series.values[inside])
