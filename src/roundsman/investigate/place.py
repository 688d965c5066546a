"""Where harm began: the services that suffered, in the order of how likely failures began in them.

Method: failed spans without a failed child decide where there are some; else who calls whom (call
graph, and error lines of one service that name another), the deepest that suffered first; else who
suffered first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from roundsman.analysis import deepest
from roundsman.investigate.facts import Facts
from roundsman.investigate.harm import Harm

_BEGAN, _SUFFERED, _MOVED, _NAMED, _VICTIM, _QUIET = 2.0, 1.0, 0.5, 1.0, -1.0, -0.5
_FIRST = 0.5
#: who suffers within so many seconds of the first is as early
_TOGETHER = 5.0


@dataclass(frozen=True)
class Place:
    """began: where failures began. suffered: everybody who did, with the moment. victims: who only passes
    failures on. named: services that errors of others name. moved: services in which anything moved."""

    began: frozenset[str]
    suffered: dict[str, float]
    victims: frozenset[str]
    named: frozenset[str]
    moved: frozenset[str]
    first: str = ""
    #: services in which requests began to fail, each by itself (from failed spans)
    apart: frozenset[str] = frozenset()

    def weight(self, service: str) -> tuple[float, str]:
        """What a service's place is worth for a change of it, and in which words."""
        name = service.lower()
        if name in self.began:
            early = _FIRST if name == self.first else 0.0
            return _BEGAN + early, "on the service in which failures began"
        if name in self.victims:
            return _VICTIM, "its service only passes on failures of others"
        if name in self.suffered:
            early = _FIRST if name == self.first else 0.0
            return _SUFFERED + early, "on a service that suffered"
        if name in self.named:
            return _NAMED, "errors of others name its service"
        if name in self.moved:
            return _MOVED, "on a service in which something moved"
        return _QUIET, "nothing moved in its service"


NOWHERE = Place(frozenset(), {}, frozenset(), frozenset(), frozenset())


def calls_of(facts: Facts) -> set[tuple[str, str]]:
    """Who calls whom, lower case: traces and call graph, and error lines that name another service."""
    calls = {(a.lower(), b.lower()) for a, b in facts.along.calls}
    known = {name.lower() for name in facts.known_services() if len(name) > 2}
    if not known:
        return calls
    pattern = re.compile(
        r"(?<![\w-])("
        + "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        + r")(?![\w-])"
    )
    for line in facts.logs:
        if line.bad or line.warns:
            caller = line.service.lower()
            for callee in set(pattern.findall(line.name.lower())) - {caller}:
                if caller and (callee, caller) not in calls:
                    calls.add((caller, callee))
    return calls


def place_of(facts: Facts, harm: Harm) -> Place:
    """Where the harm began, as far as results show it."""
    suffered = harm.services()
    calls = calls_of(facts)
    named = frozenset(callee for caller, callee in calls if caller in suffered) - suffered.keys()
    moved = frozenset(
        one.service.lower()
        for one in [*facts.metrics, *facts.settings, *facts.bad_logs]
        if one.service
    )
    origins = frozenset(one.service.lower() for one in facts.along.origins)
    victims = frozenset(name.lower() for name in facts.along.victims) - origins
    pool = frozenset(suffered) - victims
    first = min(suffered, key=lambda name: suffered[name], default="")
    if origins:
        began = origins & pool or origins
    else:
        deep = frozenset(deepest(pool, calls)) if len(pool) > 1 else pool
        began = (
            deep
            if deep != pool
            else frozenset(name for name in pool if suffered[name] <= suffered[first] + _TOGETHER)
        )
    apart = began if origins else frozenset()
    return Place(began, suffered, victims, named, moved, first, apart)
