"""What results say of calls between services: where failures began, who passed them on."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from roundsman.analysis import deepest

#: what standing where failures began, or only in their way, is worth to a suspect
_BEGAN, _DEEPEST = 1.5, 1.0


@dataclass(frozen=True)
class Began:
    """A service in which failures of requests began; `row` is the tool's own entry."""

    evidence: str
    service: str
    row: Mapping[str, Any]


@dataclass
class CallFacts:
    """Services in which failures began, those that only pass them on (with the evidence), who calls
    whom."""

    origins: list[Began] = field(default_factory=list)
    victims: dict[str, str] = field(default_factory=dict)
    calls: set[tuple[str, str]] = field(default_factory=set)

    def add(self, evidence: str, result: Mapping[str, Any]) -> None:
        """Take what a result says of calls; other results say nothing."""
        known = {one.service for one in self.origins}
        for row in result.get("origins") or []:
            service = str(row.get("service") or "") if isinstance(row, Mapping) else ""
            if service and service not in known:
                self.origins.append(Began(evidence, service, row))
        for name in result.get("victims") or []:
            self.victims.setdefault(str(name), evidence)
        for pair in result.get("graph") or []:
            if isinstance(pair, list) and len(pair) == 2:
                self.calls.add((str(pair[0]), str(pair[1])))

    def place(self, service: str, moved: Set[str]) -> float:
        """What a service's place speaks for (above 0) or against it (below 0) being a cause.

        Spans decide where some failed; else the call graph, over the services that `moved` (lower case).
        """
        name = service.lower()
        if self.origins:
            if any(one.service.lower() == name for one in self.origins):
                return _BEGAN
            return -_BEGAN if name in {one.lower() for one in self.victims} else 0.0
        calls = {(a.lower(), b.lower()) for a, b in self.calls}
        known = moved & {one for pair in calls for one in pair}
        if name not in known or len(known) < 2:
            return 0.0
        deep = deepest(known, calls)
        return 0.0 if deep == known else _DEEPEST if name in deep else -_DEEPEST
