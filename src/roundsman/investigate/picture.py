"""What a report draws: the timeline of an incident, and the charts that show the movement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from roundsman.analysis import Onset, find_onset, shifts
from roundsman.investigate.incident import Incident
from roundsman.investigate.tools import number
from roundsman.sources import Series, Window
from roundsman.sources.times import iso, parse_time

_CHARTS, _POINTS = 6, 120
_LOG_LINES, _METRICS = 6, 12


def _window(incident: Incident) -> Window:
    return Window(incident.window.end - 3600, incident.window.end)


def _moved(incident: Incident) -> list[tuple[Series, Onset]]:
    series = incident.source.series(_window(incident))
    if not series:
        return []
    extent = Window(
        min(float(one.times[0]) for one in series), max(float(one.times[-1]) for one in series)
    )
    found = [(one, onset) for one in series if (onset := find_onset(one, extent))]
    # what a setting repeats is shown last; what moved furthest first
    return sorted(found, key=lambda pair: (pair[1].setting, -pair[1].score, pair[1].at))


def timeline(incident: Incident, cause: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Changes, onsets, new error lines and the alert in the order of their times (UTC)."""
    rows: list[tuple[float, str, str, str]] = []
    window = _window(incident)
    for change in incident.source.changes(window):
        keys = [f"{key} {old} → {new}" for key, (old, new) in list(change.diff.items())[:4]]
        what = f"{change.kind} {change.name}" + (f": {', '.join(keys)}" if keys else "")
        rows.append((change.at, what, "deploy", change.service))
    for series, onset in _moved(incident)[:_METRICS]:
        before = "no samples" if onset.before is None else number(onset.before)
        after = "no samples" if onset.after is None else number(onset.after)
        rows.append((onset.at, f"{series.metric} {before} → {after}", "metric", series.service))
    moved = [one for one in shifts(incident.logs(window)[0]) if one.bad]
    for one in moved[:_LOG_LINES]:
        rows.append((one.at, one.template.template[:200], "log", one.template.service))
    if incident.alert and incident.alert.at is not None:
        rows.append((incident.alert.at, incident.alert.name, "alert", incident.alert.service))
    since = parse_time(cause.get("since"))
    if since is not None and not cause.get("abstained"):
        rows.append((since, "first movement", "onset", str(cause.get("service") or "")))
    order = {"deploy": 0, "onset": 1, "metric": 2, "log": 3, "alert": 4}
    rows.sort(key=lambda row: (row[0], order[row[2]]))
    return [{"at": iso(at), "what": what, "kind": k, "service": s} for at, what, k, s in rows]


def charts(incident: Incident, onset: str | None) -> list[dict[str, Any]]:
    """Up to six metrics that moved, at most 120 points each, with the changes as marks.

    `onset` is the cause's `since`; a series that moved by itself carries its own time. With nothing
    moved, the first series are drawn, so that a reader can see that they are quiet.
    """
    window = _window(incident)
    pairs: list[tuple[Series, Onset | None]] = [(one, found) for one, found in _moved(incident)]
    if not pairs:
        pairs = [(one, None) for one in incident.source.series(window)]
    out = []
    for series, found in pairs[:_CHARTS]:
        picked = np.unique(
            np.linspace(0, series.times.size - 1, min(_POINTS, series.times.size)).astype(int)
        )
        first, last = float(series.times[0]), float(series.times[-1])
        marks = [
            {"at": iso(change.at), "label": f"{change.kind} {change.name}"}
            for change in incident.source.changes(window)
            if first - 60 <= change.at <= last + 60
        ]
        out.append(
            {
                "title": f"{series.service} {series.metric}".strip(),
                "service": series.service,
                "metric": series.metric,
                "points": [
                    [iso(float(series.times[i])), number(float(series.values[i]))] for i in picked
                ],
                "onset": iso(found.at) if found else onset,
                "marks": marks[:8],
            }
        )
    return out
