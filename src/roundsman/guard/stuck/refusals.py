"""What another rule refuses is asked for again: the refusal itself becomes the loop."""

from __future__ import annotations

from typing import ClassVar

from roundsman.guard.stuck.memory import Asked, Conversation, Outcome


class Refused:
    """The same tool refused by the same rule, whatever the arguments. The first refusal is half a
    point, since an agent may not know yet; for the same reason more of it in one reply is none."""

    name: ClassVar[str] = "refused"
    extra: ClassVar[bool] = False

    def seen(self, mine: Conversation, outcome: Outcome) -> float:
        if not outcome.withheld:
            return 0.0
        alike = [o.step for o in mine.past if o.withheld and o.fault == outcome.fault]
        if outcome.step in alike:
            return 0.0
        return 1.0 if alike else 0.5

    def asked(self, mine: Conversation, call: Asked) -> float:
        again = any(o.withheld and o.fault and o.asked.tool == call.tool for o in mine.past)
        return 1.0 if again else 0.0
