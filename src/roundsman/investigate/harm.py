"""What users suffered: since when, where first, of which kinds, and whether it is over.

Movements that hurt nobody (a version, a request rate, a setting) are no harm, and harm that has gone by
itself is none that a cause must be found for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from roundsman.analysis.symptoms import TELLING, hurts, kinds_of, runs_short
from roundsman.investigate.facts import Facts, Moved
from roundsman.sources.times import parse_time

#: harm that stopped by itself before this share of the time since its onset is over
_OVER = 0.5
#: seconds of quiet at the end without which nothing is over
_QUIET = 20.0
#: movements of resources this long before the first harm belong to it, in seconds
_LEAD = 900.0
#: work that waits is late when it became so many times as much
_MANY = 8.0
#: kinds that only say that something suffers, whatever the cause
_VAGUE = frozenset({"error", "latency", "connection", "restart", "queue"})


@dataclass(frozen=True)
class Harm:
    """signs: what hurts, oldest first. resources: what filled up near it. kinds: kind of trouble ->
    the first sign that speaks of it. over: how it ended by itself, empty when it did not."""

    signs: tuple[Moved, ...]
    resources: tuple[Moved, ...]
    kinds: Mapping[str, Moved]
    over: str = ""

    @property
    def onset(self) -> float | None:
        """The first moment something hurt."""
        return self.signs[0].at if self.signs else None

    @property
    def telling(self) -> dict[str, Moved]:
        """The kinds that tell one mechanism from another."""
        return {kind: sign for kind, sign in self.kinds.items() if kind in TELLING}

    @property
    def vague(self) -> dict[str, Moved]:
        """The kinds that many causes produce."""
        return {kind: sign for kind, sign in self.kinds.items() if kind in _VAGUE}

    def services(self) -> dict[str, float]:
        """Services that suffered, lower case, with the moment of their first sign."""
        out: dict[str, float] = {}
        for one in self.signs:
            if one.service:
                out.setdefault(one.service.lower(), one.at)
        return out


def harm_of(facts: Facts) -> Harm:
    """The harm that results show."""
    anchor = facts.anchor()
    if anchor is None:
        return Harm((), (), {})
    metrics = [m for m in facts.metrics if m.at >= anchor - _LEAD]
    known = [m for m in metrics if hurts(m.name, m.level("before"), m.level("after"))]
    logs = [m for m in facts.bad_logs if m.at >= anchor - _LEAD]
    nameless = [m for m in metrics if not kinds_of(m.name)]
    signs = sorted([*logs, *known], key=lambda m: (m.at, m.log))
    signs = signs or sorted(filter(_waits, metrics), key=lambda m: m.at)
    signs = signs or sorted(nameless, key=lambda m: m.at)
    if not signs:
        return Harm((), (), {})
    short = [m for m in metrics if runs_short(m.name, m.level("before"), m.level("after"))]
    warned = [m for m in facts.logs if m.warns and m.at >= anchor - _LEAD]
    kinds: dict[str, Moved] = {}
    # what a line says tells more than what a metric is called
    for one in [*logs, *warned, *known, *short]:
        for kind in sorted(kinds_of(one.said)):
            kinds.setdefault(kind, one)
    return Harm(tuple(signs), tuple(short), kinds, _over(facts, signs))


def _waits(one: Moved) -> bool:
    """Whether work that waits has become many times as much: it is done late, whoever feels it."""
    before, after = one.level("before"), one.level("after")
    if "queue" not in kinds_of(one.name) or before is None or after is None:
        return False
    return after >= max(_MANY * before, _MANY)


def _over(facts: Facts, signs: list[Moved]) -> str:
    """How the harm ended: only log lines spoke of it, and they stopped early."""
    if any(not one.log for one in signs) or facts.end is None:
        return ""
    onset = signs[0].at
    last = max((parse_time(one.row.get("last")) or facts.end) for one in signs)
    quiet = facts.end - last
    if quiet < _QUIET or last - onset > _OVER * (facts.end - onset):
        return ""
    return f"the errors stopped by themselves {round(last - onset)} s after they began"
