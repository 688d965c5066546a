"""Services in which the cause most likely is, when no cause as such can be named: one signal is chosen.

The signals (failed requests, metrics, make-up of logs) speak of different faults, and added up they hide
each other. So the one is taken that singles out fewest: requests that began to fail somewhere; else calls
that wait although nobody works, where they have one service in common; else a
resource that ran away in one or two services; else, where there are logs, what a service logs; else how
far metrics moved, callers of a service that moved with them behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from roundsman.investigate.causes import Judgement
from roundsman.investigate.facts import Facts, Standing
from roundsman.investigate.place import calls_of

_MOST = 5
#: a resource that ran away: how far, and in how many services at most
_AWAY, _FEW = 3.0, 2
#: the next service's calls may wait so much of what the first one's do, where it stands apart
_APART = 0.7
#: a caller whose callee moved at least so much of its own distance only suffers, and counts so much
_SHARE, _SUFFERS = 0.2, 0.3
#: what moved longer before, or after, whom the alert names belongs to something else, in seconds
_EARLIER, _LATER = 900.0, 900.0
#: what a service counts that whom the alert names does not reach by calls
_UNREACHED = 0.5


@dataclass(frozen=True)
class Ranked:
    """A service, what makes it stand out in words, and the results that show it."""

    service: str
    why: str
    evidence: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """The form a report carries."""
        return {"service": self.service, "why": self.why, "evidence": list(self.evidence)}


def rank(facts: Facts, judged: Judgement, named: Iterable[str] = ()) -> list[Ranked]:
    """Services, the likeliest first; those the verdict names before all others."""
    out = [Ranked(name, "named by the verdict", ()) for name in named if name]
    out += _signal(facts, judged)
    known: dict[str, Ranked] = {}
    for one in out:
        known.setdefault(one.service.lower(), one)
    return list(known.values())[:_MOST]


def _signal(facts: Facts, judged: Judgement) -> list[Ranked]:
    failed = _failed(facts)
    away = [
        one
        for one in facts.furthest.values()
        if not one.felt and one.far >= _AWAY and not _is_host(facts, one.service)
    ]
    metrics = _by_metrics(facts)
    logs = _by_logs(facts)
    began = _began(facts, judged)
    if failed:
        return [*failed, *began, *metrics, *logs]
    waiting = _waiting(facts)
    if waiting:
        return [*waiting, *began, *logs, *metrics]
    if away and len(away) <= _FEW and logs:
        first = [_said(one, "ran away") for one in sorted(away, key=lambda one: -one.far)]
        return [*first, *logs, *metrics]
    if len(began) == 1 and judged.harm.signs:
        return [*began, *logs, *metrics]
    if logs:
        return [*logs, *began, *metrics]
    return [*metrics, *began]


def _is_host(facts: Facts, service: str) -> bool:
    """Whether a name is of a machine rather than a service: only what nodes report."""
    mine = [one.name.lower() for one in facts.metrics if one.service == service]
    return bool(mine) and all("node" in name or "host" in name for name in mine)


def _waiting(facts: Facts) -> list[Ranked]:
    """Services whose calls wait although nobody works, when they stand apart from the others."""
    found = sorted(facts.along.wait_in.items(), key=lambda one: (-one[1][1], one[0]))
    if not found or found[0][1][1] < _AWAY:
        return []
    if len(found) > 1 and found[1][1][1] > _APART * found[0][1][1]:
        return []
    return [
        Ranked(name, "calls of it wait, and no service works longer", (evidence,))
        for name, (evidence, _) in found[:_FEW]
    ]


def _failed(facts: Facts) -> list[Ranked]:
    return [
        Ranked(one.service, f"{one.row.get('errors')} failed requests began there", (one.evidence,))
        for one in facts.along.origins
    ]


def _began(facts: Facts, judged: Judgement) -> list[Ranked]:
    place = judged.place
    ordered = sorted(place.began, key=lambda name: (place.suffered.get(name, 0.0), name))
    signs = {one.service.lower(): one for one in reversed(judged.harm.signs)}
    return [
        Ranked(
            signs[name].service, f"suffered first: {signs[name].name[:80]}", (signs[name].evidence,)
        )
        for name in ordered
        if name in signs
    ]


def _said(one: Standing, how: str) -> Ranked:
    return Ranked(one.service, f"{one.name} {how}", (one.evidence,))


def _by_logs(facts: Facts) -> list[Ranked]:
    ordered = sorted(facts.makeup.values(), key=lambda one: -one.far)
    return [_said(one, "is another share of what it logs") for one in ordered]


def _by_metrics(facts: Facts) -> list[Ranked]:
    """How far, less for callers of what moved too, and for what moved at another time or out of reach."""
    # of two that differ in case only, as some systems name them, the one that moved further counts
    ordered = sorted(facts.furthest.values(), key=lambda one: one.far)
    standing = {one.service.lower(): one for one in ordered}
    calls = calls_of(facts)
    below: dict[str, set[str]] = {}
    for caller, callee in calls:
        below.setdefault(caller, set()).add(callee)
    alerted = facts.alerted.lower()
    anchor = standing[alerted].at if alerted in standing else facts.alert_at
    near = {
        name: one
        for name, one in standing.items()
        if anchor is not None and -_EARLIER <= one.at - anchor <= _LATER
    }
    standing = near or standing
    reach = _reach(alerted, below) if alerted in below else set(standing)
    scores: dict[str, float] = {}
    for name, one in standing.items():
        score = one.far
        deeper = [standing[callee].far for callee in below.get(name, ()) if callee in standing]
        if deeper and max(deeper) >= _SHARE * one.far:
            score *= _SUFFERS
        if name not in reach:
            score *= _UNREACHED
        scores[name] = score
    names = sorted(standing, key=lambda name: (-scores[name], standing[name].at))
    return [
        _said(standing[name], f"moved {standing[name].far:g} times its noise") for name in names
    ]


def _reach(start: str, below: dict[str, set[str]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        for callee in below.get(waiting.pop(), set()) - seen:
            seen.add(callee)
            waiting.append(callee)
    return seen
