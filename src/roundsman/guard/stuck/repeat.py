"""The same call with the same result: it was known already."""

from __future__ import annotations

from typing import ClassVar

from roundsman.guard.stuck.memory import Asked, Conversation, Outcome


class Repeat:
    """Exact arguments, and a result that is equal but for volatile values. What another agent asked
    counts half, since agents side by side do not know of each other. A call that the same agent
    has in flight already counts once for each time."""

    name: ClassVar[str] = "repeat"
    extra: ClassVar[bool] = False

    def seen(self, mine: Conversation, outcome: Outcome) -> float:
        call = outcome.asked
        if outcome.withheld:
            return 0.0
        known = [
            o.asked.agent
            for o in mine.past
            if o.asked.call == call.call and o.print == outcome.print and not o.withheld
        ]
        return (1.0 if call.agent in known else 0.5) if known else 0.0

    def asked(self, mine: Conversation, call: Asked) -> float:
        flying = sum(o.call == call.call and o.agent == call.agent for o in mine.flying.values())
        known = [o.asked.agent for o in mine.past if o.asked.call == call.call]
        other = not any(agent in (call.agent, "") for agent in known)
        return ((0.5 if other else 1.0) if known else 0.0) + flying
