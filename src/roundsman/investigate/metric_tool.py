"""The tool over metrics: which series moved, when, and in which services furthest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from roundsman.analysis import find_onset, growing_since, ran_out
from roundsman.analysis.around import around, is_coarse
from roundsman.analysis.onset import METHOD as ONSET_METHOD
from roundsman.analysis.onset import emptied
from roundsman.analysis.symptoms import FILLS, hurts, is_rate, kinds_of, more_is_better, runs_short
from roundsman.investigate.answers import finish, number
from roundsman.investigate.clocks import clocks_row
from roundsman.investigate.incident import Incident
from roundsman.investigate.pieces import alert_of, asked, earlier_of, window_of
from roundsman.investigate.steps import noted
from roundsman.sources import Series, Unseen, Window
from roundsman.sources.times import iso

_SERIES, _SERVICES, _STEADY = 40, 10, 40
#: how far back a trend is followed, in seconds, and of how many series
_HISTORY, _MOST_TRENDS = 6 * 3600.0, 12
#: a coarse series is off at the alert from so many times its noise on
_OFF = 2.0
#: series one question fits; of more, those that left their middle furthest
_MOST_FITTED = 3000
#: metrics that end so many seconds before the window have stopped
_STOPPED = 60.0


def _worth_fitting(found: Sequence[Series]) -> Sequence[Series]:
    """All of them, or of very many the ones whose end is furthest from their middle."""
    if len(found) <= _MOST_FITTED:
        return found

    def looked_over(one: Series) -> float:
        values = one.values
        middle = float(np.median(values))
        end = float(np.median(values[-max(1, values.size // 5) :]))
        spread = float(np.mean(np.abs(values - middle))) + 0.05 * abs(middle) + 1e-12
        return abs(end - middle) / spread

    ranked = sorted(range(len(found)), key=lambda i: -looked_over(found[i]))
    return [found[i] for i in ranked[:_MOST_FITTED]]


def _furthest(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Services by their series that moved furthest in a bad direction, in multiples of its noise."""
    best: dict[str, dict[str, Any]] = {}
    for row in rows:
        before, after = row.get("before"), row.get("after")
        if row.get("moved") not in ("step", "appeared") or row.get("setting"):
            continue
        name = row["metric"]
        felt = hurts(name, before, after)
        if not felt and not runs_short(name, before, after):
            continue
        one = {
            "service": row["service"],
            "metric": name,
            "onset": row["onset"],
            "far": number(row["far"]),
            "felt": felt,
        }
        known = best.get(row["service"])
        if known is None or one["far"] > known["far"]:
            best[row["service"]] = one
    return sorted(best.values(), key=lambda one: -one["far"])[:_SERVICES]


def _steady(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Services that are asked as often as before: they have rates of requests, and none rose."""
    asked = [row for row in rows if is_rate(row["metric"])]
    rose = {row["service"] for row in asked if "moved" in row}
    names = {row["service"] for row in asked if row["median"]} - rose
    return sorted(names)[:_STEADY]


def _at_alert(incident: Incident, window: Window, found: Sequence[Series]) -> list[dict[str, Any]]:
    """The same of coarse series at the moment of the alert, against all there is before it."""
    alert = incident.alert.at if incident.alert else None
    if alert is None or not window.holds(alert) or not any(is_coarse(one) for one in found):
        return []
    wanted = {(one.service, one.metric) for one in found}
    best: dict[str, dict[str, Any]] = {}
    for one in incident.source.series(Window(window.start - _HISTORY, window.end)):
        off = around(one, alert) if (one.service, one.metric) in wanted else None
        if off is None or off.far < _OFF or not hurts(one.metric, off.before, off.then):
            continue
        row = {
            "service": one.service,
            "metric": one.metric,
            "onset": iso(off.at),
            "far": number(off.far),
            "felt": True,
        }
        known = best.get(one.service)
        if known is None or row["far"] > known["far"]:
            best[one.service] = row
    return sorted(best.values(), key=lambda one: -one["far"])[:_SERVICES]


def _row(series: Series, extent: Window) -> dict[str, Any]:
    onset = find_onset(series, extent)
    row: dict[str, Any] = {
        "service": series.service,
        "metric": series.metric,
        "points": int(series.values.size),
        "median": number(float(np.median(series.values))),
        "last": number(float(series.values[-1])),
    }
    if onset:
        row |= {
            "moved": onset.kind,
            "onset": iso(onset.at),
            "before": None if onset.before is None else number(onset.before),
            "after": None if onset.after is None else number(onset.after),
            "score": onset.score,
            "setting": onset.setting,
            "far": number(onset.far),
        }
    if (at := ran_out(series)) is not None:
        row["ran_out"] = iso(at)
    if more_is_better(series.metric) and (at := emptied(series)) is not None:
        row["emptied"] = iso(at)
    return row


def _note_gaps(
    incident: Incident, window: Window, everything: Sequence[Series], looked_over: int
) -> None:
    """Say in the report what the answer cannot show: metrics that stop early, series not fitted."""
    longest = max(everything, key=lambda one: one.times[-1])
    steps = np.diff(longest.times[-20:])
    step = float(np.median(steps)) if steps.size else 0.0
    last = float(longest.times[-1])
    if window.end == incident.window.end and window.end - last > max(_STOPPED, 4 * step):
        what = f"metrics from {iso(last)} to {iso(window.end)}"
        incident.source.note(Unseen(what, "no series has a sample there", len(everything)))
    if looked_over:
        why = f"only looked over; the {_MOST_FITTED:,} that left their middle furthest were fitted"
        incident.source.note(Unseen("series of one question", why, looked_over))


def _trends(incident: Incident, window: Window, rows: list[dict[str, Any]]) -> None:
    """Say of what filled up, or fell back after it did, since when it has been growing: looked for
    further back, and only of a few series, since a server is asked for each."""
    moved = [row for row in rows if row.get("score", 0) > 0 and not row["setting"]]
    full = [row for row in moved if kinds_of(row["metric"]) & FILLS or not kinds_of(row["metric"])]
    back = Window(window.start - _HISTORY, window.end)
    for row in sorted(full, key=lambda row: -row["score"])[:_MOST_TRENDS]:
        for one in incident.source.series(back, row["service"], row["metric"]):
            if (one.service, one.metric) == (row["service"], row["metric"]):
                since = growing_since(one)
                row |= {"growing_since": iso(since)} if since is not None else {}


def query_metrics(
    incident: Incident, service: str, metric: str, minutes: float, ago: float
) -> dict[str, Any]:
    """Series with when each moved, and the services that moved furthest in a bad direction."""
    window = window_of(incident, minutes, ago)
    query = asked(incident, "query_metrics", "metrics", window, service=service, metric=metric)
    source = incident.source
    everything = source.series(window)
    found = source.series(window, service, metric)
    if not found:
        names = sorted({f"{s.service}/{s.metric}" for s in everything})
        result = {
            "status": "empty",
            "query": query,
            "series": [],
            "counts": {"series": 0},
            **earlier_of(incident, window),
            **clocks_row(incident),
            "left_out": {},
            "next": "no series of that name here; there are: " + ", ".join(names)[:1500]
            if names
            else "there are no metrics in this window; look at the logs",
        }
        return finish(result, ())
    extent = Window(min(s.times[0] for s in everything), max(s.times[-1] for s in everything))
    fitted = _worth_fitting(found)
    gaps = partial(_note_gaps, incident, window, everything, len(found) - len(fitted))
    noted(source, "where metrics stop", gaps)
    rows = []
    for one in fitted:
        row = noted(source, "when a metric moved", partial(_row, one, extent))
        rows += [row] if row is not None else []
    noted(source, "since when metrics grow", partial(_trends, incident, window, rows))
    services: list[dict[str, Any]] = []
    if not (service or metric):
        at_alert = partial(_at_alert, incident, window, fitted)
        services = noted(source, "services at the alert", at_alert) or []
        services = services or noted(source, "services that moved", partial(_furthest, rows)) or []
    steady = noted(source, "whose requests are as before", partial(_steady, rows)) or []
    rows.sort(
        key=lambda row: (
            "moved" not in row and "emptied" not in row,
            row.get("setting", False),
            -row.get("score", 0),
        )
    )
    if len(rows) <= 2:
        for row in rows:
            match = next(
                s for s in found if (s.service, s.metric) == (row["service"], row["metric"])
            )
            picked = np.linspace(0, match.times.size - 1, min(30, match.times.size)).astype(int)
            row["samples"] = [[iso(match.times[i]), number(float(match.values[i]))] for i in picked]
    moved = sum("moved" in row for row in rows)
    left = {"series": len(rows) - _SERIES} if len(rows) > _SERIES else {}
    if len(fitted) < len(found):
        left["series_only_looked_over"] = len(found) - len(fitted)
    return finish(
        {
            "status": "ok",
            "query": query,
            "series": rows[:_SERIES],
            "method": ONSET_METHOD,
            "services": services,
            **({"steady": steady} if steady and not (service or metric) else {}),
            "counts": {"series": len(found), "moved": moved},
            **earlier_of(incident, window),
            **clocks_row(incident),
            **alert_of(incident),
            "left_out": left,
            "next": "look at the logs and the changes just before the earliest onset"
            if moved
            else "no series left its noise; a longer window or the logs may show more",
        },
        ("series",),
    )
