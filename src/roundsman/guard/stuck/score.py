"""Evidence adds up, news takes it away."""

from __future__ import annotations

from collections.abc import Collection

from roundsman.guard.stuck.evidence import SIGNALS, asked
from roundsman.guard.stuck.fold import WITHHELD
from roundsman.guard.stuck.memory import Asked, Conversation

NEWS = 1.5
"""Points a fresh result takes away."""
NEW_CALL = 1.0
"""Points a call that resembles none before takes away while it is judged."""
_EXTRA = frozenset(s.name for s in SIGNALS if s.extra)


def gathered(mine: Conversation, signals: Collection[str]) -> float:
    """Points of the remembered outcomes, in order, under these signals."""
    total = 0.0
    if not any(outcome.points for outcome in mine.past):
        return total
    for outcome in mine.past:
        points = [(n, p) for n, p in outcome.points if n in signals or n == WITHHELD]
        if points:
            total += max((p for n, p in points if n not in _EXTRA), default=0.0)
            total += sum(p for n, p in points if n in _EXTRA)
        elif outcome.fresh:
            total = max(0.0, total - NEWS)
    return total


def proposed(mine: Conversation, call: Asked, signals: Collection[str]) -> float:
    """Points of a call that is about to run; `-NEW_CALL` for one that resembles none before."""
    said = asked(mine, call, signals)
    return -NEW_CALL if said is None else said
