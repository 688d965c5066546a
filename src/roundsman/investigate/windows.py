"""How far one question looks back, in which pieces a longer window is walked, and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from roundsman.analysis.clocks import span
from roundsman.sources import Source, Unseen, Window
from roundsman.sources.times import iso, parse_time

#: minutes one question looks back at most; the policy lowers more to it
MINUTES = 60
#: neighbouring pieces share this many minutes, since a movement at an edge is seen from one side only
OVERLAP = 15
#: pieces the analyst walks: some nine hours, and room within every preset's actions
MOST_PIECES = 12
_TOOLS = {
    "query_metrics": "metrics",
    "query_logs": "logs",
    "list_deploys": "changes",
    "query_traces": "traces",
}
_SLACK = 90.0
#: an alert so many seconds away from all telemetry is none of it
_AWAY = 900.0


def earlier_minutes(whole: Window, piece: Window) -> int:
    """Minutes of the window that lie before a piece of it; less than a minute or two counts as none."""
    before = piece.start - whole.start
    return round(before / 60) if before > _SLACK else 0


def offsets(earlier: int, overlap: int = OVERLAP) -> list[int]:
    """Where the pieces before the newest end, in minutes before the window's end, the newest first.

    `earlier` is what lies before the newest piece. Together they reach its beginning, or are as many
    as may be walked.
    """
    step = MINUTES - overlap
    needed = -(-earlier // step)
    return [step * number for number in range(1, min(needed, MOST_PIECES - 1) + 1)]


def unasked(
    whole: Window, kinds: Sequence[str], evidence: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Parts of the window no question reached, in report form; only for kinds the folder holds."""
    asked: dict[str, list[tuple[float, float]]] = {kind: [] for kind in _TOOLS.values()}
    for row in evidence:
        query, kind = row.get("query"), _TOOLS.get(str(row.get("tool")))
        if kind is None or row.get("status") not in ("ok", "empty"):
            continue
        if isinstance(query, Mapping):
            start, end = parse_time(query.get("from")), parse_time(query.get("to"))
            if start is not None and end is not None:
                asked[kind].append((start, end))
    gaps: dict[tuple[float, float], list[str]] = {}
    for kind, spans in asked.items():
        if kind in kinds:
            for gap in _gaps(whole, spans):
                gaps.setdefault(gap, []).append(kind)
    why = "no question reached this part of the window"
    return [
        {"what": f"{_and(who)} from {iso(start)} to {iso(end)}", "why": why, "count": 1}
        for (start, end), who in sorted(gaps.items())
    ]


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _gaps(whole: Window, spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    reached, gaps = whole.start, []
    for start, end in sorted(spans):
        if start - reached > _SLACK:
            gaps.append((reached, min(start, whole.end)))
        reached = max(reached, end)
    if whole.end - reached > _SLACK:
        gaps.append((reached, whole.end))
    return [gap for gap in gaps if gap[1] > gap[0]]


def note_earlier(source: Source, window: Window) -> None:
    """A window nobody gave is a guess; what it leaves out is said."""
    extent = source.extent()
    if extent and window.start - extent.start > 90:
        what = f"telemetry from {iso(extent.start)} to {iso(window.start)}"
        why = "before the window looked at; a longer one can be given in incident.yaml"
        source.note(Unseen(what, why))


def note_elsewhere(source: Source, window: Window) -> None:
    """A window somebody gave may miss the telemetry altogether: where that lies is said."""
    extent = source.extent()
    if extent and (extent.end < window.start or extent.start > window.end):
        what = f"telemetry from {iso(extent.start)} to {iso(extent.end)}"
        source.note(Unseen(what, "all of it outside the window that was given"))


def note_services(source: Source, named: Sequence[str], window: Window) -> None:
    """A service somebody named that nothing is of is a slip, or silent: either is said."""
    known = [] if not named else source.services()
    lower = {one.lower(): one for one in known}
    for name in named:
        if any(name.lower() in one or one in name.lower() for one in lower if one):
            continue
        near = get_close_matches(name.lower(), lower, n=1)
        # a log file may hold lines of many services
        if not near and next(iter(source.lines(window, name)), None) is not None:
            continue
        meant = f"; did you mean {lower[near[0]]!r}?" if near else ""
        why = f"named in incident.yaml, and nothing in the telemetry is of it{meant}"
        source.note(Unseen(f"service {name!r}"[:100], why))


def note_alert(source: Source, at: float | None) -> None:
    """An alert that came when nothing was recorded may be dated by another clock."""
    extent = source.extent() if at is not None else None
    if at is None or extent is None:
        return
    away = max(extent.start - at, at - extent.end)
    if away > _AWAY:
        what = f"the alert at {iso(at)}, {span(away)} outside of the telemetry"
        source.note(Unseen(what, "its clock may differ, or what it was about was not recorded"))
