"""What results say of calls between services: where failures began, who passed them on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Began:
    """A service in which failures of requests began; `row` is the tool's own entry."""

    evidence: str
    service: str
    row: Mapping[str, Any]


@dataclass
class CallFacts:
    """Services in which failures began, those that only pass them on (with the evidence), who calls
    whom, and how many calls of whom to whom failed."""

    origins: list[Began] = field(default_factory=list)
    victims: dict[str, str] = field(default_factory=dict)
    calls: set[tuple[str, str]] = field(default_factory=set)
    failing: dict[tuple[str, str], int] = field(default_factory=dict)
    #: pairs whose calls wait (evidence, the tool's own row), and how far the calls of a service do
    waits: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    wait_in: dict[str, tuple[str, float]] = field(default_factory=dict)

    def callers(self) -> set[str]:
        """Who calls anybody, lower case."""
        return {caller.lower() for caller, _ in self.calls}

    def add(self, evidence: str, result: Mapping[str, Any]) -> None:
        """Take what a result says of calls; other results say nothing."""
        known = {one.service for one in self.origins}
        for row in result.get("origins") or []:
            service = str(row.get("service") or "") if isinstance(row, Mapping) else ""
            if service and service not in known:
                self.origins.append(Began(evidence, service, row))
        for name in result.get("victims") or []:
            self.victims.setdefault(str(name), evidence)
        for row in result.get("edges") or []:
            if isinstance(row, Mapping) and isinstance(row.get("errors"), int):
                edge = (str(row.get("caller")), str(row.get("callee")))
                self.failing[edge] = max(self.failing.get(edge, 0), row["errors"])
        seen = {(row.get("caller"), row.get("callee")) for _, row in self.waits}
        for row in result.get("waits") or []:
            if isinstance(row, Mapping) and (row.get("caller"), row.get("callee")) not in seen:
                self.waits.append((evidence, row))
        for pair in result.get("wait_in") or []:
            if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], int | float):
                self.wait_in.setdefault(str(pair[0]), (evidence, float(pair[1])))
        for pair in result.get("graph") or []:
            if isinstance(pair, list) and len(pair) == 2:
                self.calls.add((str(pair[0]), str(pair[1])))
