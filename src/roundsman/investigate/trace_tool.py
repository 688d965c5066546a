"""The tool over traces and the call graph; in the toolbox only where there are some."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from roundsman.analysis.calls import METHOD, picture
from roundsman.analysis.gaps import Waits, waits
from roundsman.investigate.answers import finish, number
from roundsman.investigate.incident import Incident
from roundsman.investigate.pieces import asked, earlier_of, window_of
from roundsman.investigate.steps import noted
from roundsman.investigate.windows import MINUTES
from roundsman.sources import Window
from roundsman.sources.times import iso

_EDGES, _ORIGINS, _GRAPH, _WAITS = 40, 12, 200, 8
_GAP = "ms a call lasts beyond the callee's own span"


def make_trace_tool(incident: Incident) -> Callable[..., dict[str, Any]] | None:
    """query_traces for an incident that has traces or a call graph, else None."""
    if not {"traces", "call graph"} & set(incident.source.kinds):
        return None

    def query_traces(
        service: str = "", window_minutes: int = MINUTES, end_minutes_ago: int = 0
    ) -> dict[str, Any]:
        """See which service calls which, how often it fails, and in which service failures began.

        Args:
            service: part of the name of a caller or a callee; empty for all.
            window_minutes: how many minutes to look at, at most 60.
            end_minutes_ago: where to end, in minutes before the incident's end.

        Returns:
            status, the query; `edges` (calls, errors, p95 in ms); `origins`: services in
            which failures began; `victims`: services that only pass on the failures of others;
            `waits`: calls that began to wait although the callee does not work longer;
            `graph`: [caller, callee]. A victim is rarely the cause.
        """
        return _query(incident, service, window_of(incident, window_minutes, end_minutes_ago))

    return query_traces


def _query(incident: Incident, service: str, window: Window) -> dict[str, Any]:
    query = asked(incident, "query_traces", "traces", window, service=service)
    spans = incident.source.spans(window)
    seen, part = picture(spans), service.lower()
    edges = [e for e in seen.edges if part in e.caller.lower() or part in e.callee.lower()]
    rows = []
    for one in edges[:_EDGES]:
        row: dict[str, Any] = {"caller": one.caller, "callee": one.callee, "calls": one.calls}
        row |= {"errors": one.errors}
        if one.first_error is not None:
            row["first_error"] = iso(one.first_error)
        if (p95 := one.p95()) is not None:
            row["p95_ms"] = number(p95 * 1000)
        rows.append(row)
    origins = [
        {"service": o.service, "errors": o.errors, "first": iso(o.first), "message": o.message}
        for o in seen.origins
        if part in o.service.lower()
    ]
    calls = incident.source.calls() | {(e.caller, e.callee) for e in seen.edges}
    graph = sorted([a, b] for a, b in calls if part in a.lower() or part in b.lower())
    found = noted(incident.source, "which calls wait", partial(waits, spans)) or Waits((), {})
    waiting = [
        {
            "caller": one.caller,
            "callee": one.callee,
            "onset": iso(one.at),
            "what": "share of calls without a span of the callee" if one.missing else _GAP,
            "before": number(one.before if one.missing else one.before * 1000),
            "after": number(one.after if one.missing else one.after * 1000),
            "far": number(one.far),
        }
        for one in found.pairs
        if part in one.caller.lower() or part in one.callee.lower()
    ]
    waiters = sorted(found.by_service.items(), key=lambda pair: (-pair[1], pair[0]))
    left = {
        name: count
        for name, count in (
            ("edges", len(edges) - _EDGES),
            ("origins", len(origins) - _ORIGINS),
            ("graph", len(graph) - _GRAPH),
            ("waits", len(waiting) - _WAITS),
        )
        if count > 0
    }
    hint = "no span failed; the graph says who is behind whom" if graph else "no calls here"
    if origins:
        hint = "look at metrics, logs and changes of the services in which failures began"
    return finish(
        {
            "status": "ok" if rows or graph or origins else "empty",
            "query": query,
            "origins": origins[:_ORIGINS],
            "victims": [name for name in seen.victims if part in name.lower()][:_EDGES],
            "edges": rows,
            "waits": waiting[:_WAITS],
            "wait_in": [] if service else [[name, number(far)] for name, far in waiters[:_WAITS]],
            "graph": graph[:_GRAPH],
            "method": METHOD,
            "counts": {"spans": len(spans), "edges": len(edges)},
            **earlier_of(incident, window),
            "left_out": left,
            "next": hint,
        },
        ("graph", "edges", "origins", "waits"),
    )
