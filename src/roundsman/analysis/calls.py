"""Cause and blast radius along calls: where failures begin, and who only suffers from them.

Method: a failed span none of whose children failed is where a failure began; a service whose failed
spans all have a failed child in another service only passes failures on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from roundsman.sources.protocols import Span

METHOD = "failed spans without a failed child are where a failure began; p95 of durations"


@dataclass
class Edge:
    """Calls from one service to another. Durations are those of the callee, in seconds."""

    caller: str
    callee: str
    calls: int = 0
    errors: int = 0
    first_error: float | None = None
    durations: list[float] = field(default_factory=list)

    def p95(self) -> float | None:
        """95th percentile of the durations, None without one."""
        return float(np.percentile(self.durations, 95)) if self.durations else None


@dataclass
class Origin:
    """A service in which failures began: how many, when first, and one message."""

    service: str
    errors: int
    first: float
    message: str


@dataclass(frozen=True)
class CallPicture:
    """What spans say: edges (most errors first), origins (most errors first), victims."""

    edges: list[Edge]
    origins: list[Origin]
    victims: list[str]


def picture(spans: Sequence[Span]) -> CallPicture:
    """Edges between services, the services in which failures began, those that pass them on."""
    by_trace = {(span.trace, span.id): span for span in spans if span.id}
    # span ids are unique across traces where they are what they should be
    by_id = {span.id: span for span in spans if span.id}
    parents = [
        by_trace.get((s.trace, s.parent)) or by_id.get(s.parent) if s.parent else None
        for s in spans
    ]
    edges: dict[tuple[str, str], Edge] = {}
    failed_below: set[int] = set()
    for span, parent in zip(spans, parents, strict=True):
        if parent is not None and span.error:
            failed_below.add(id(parent))
        if parent is not None and parent.service and span.service not in ("", parent.service):
            _count(edges, parent.service, span.service, span)
    callers = {id(parent) for parent in parents if parent is not None}
    origins: dict[str, Origin] = {}
    passed: Counter[str] = Counter()
    for span in spans:
        outside = bool(span.peer) and span.peer != span.service and id(span) not in callers
        if outside and span.service:
            _count(edges, span.service, span.peer, span)
        if not span.error or not span.service:
            continue
        if id(span) in failed_below:
            passed[span.service] += 1
            continue
        known = origins.setdefault(span.service, Origin(span.service, 0, span.at, ""))
        known.errors += 1
        known.first = min(known.first, span.at)
        known.message = known.message or span.message
    ranked = sorted(origins.values(), key=lambda one: (-one.errors, one.first))
    return CallPicture(
        sorted(edges.values(), key=lambda e: (-e.errors, -(e.p95() or 0.0), e.caller, e.callee)),
        ranked,
        sorted(name for name in passed if name not in origins),
    )


def _count(edges: dict[tuple[str, str], Edge], caller: str, callee: str, span: Span) -> None:
    edge = edges.setdefault((caller, callee), Edge(caller, callee))
    edge.calls += 1
    edge.errors += span.error
    if span.error:
        edge.first_error = span.at if edge.first_error is None else min(edge.first_error, span.at)
    if span.duration is not None:
        edge.durations.append(span.duration)


def deepest(names: Iterable[str], calls: Iterable[tuple[str, str]]) -> set[str]:
    """Those of the names that call, directly or through others, none of the rest.

    Names in a circle of calls are as deep as each other and stay, unless the circle calls one outside.
    """
    wanted = set(names)
    below: dict[str, set[str]] = {}
    for caller, callee in calls:
        below.setdefault(caller, set()).add(callee)

    def reached(name: str) -> set[str]:
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            for callee in below.get(waiting.pop(), set()) - seen:
                seen.add(callee)
                waiting.append(callee)
        return seen

    reach = {name: reached(name) for name in wanted}
    return {
        name
        for name in wanted
        if not any(other in wanted and name not in reach[other] for other in reach[name] - {name})
    }
