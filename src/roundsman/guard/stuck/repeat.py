"""The same call with the same result: it was known already."""

from __future__ import annotations

from typing import ClassVar

from roundsman.guard.stuck.memory import Asked, Memory, Outcome


class Repeat:
    """Exact arguments, and a result that is equal but for volatile values. A call that is in flight
    already counts once for each time."""

    name: ClassVar[str] = "repeat"
    extra: ClassVar[bool] = False

    def seen(self, memory: Memory, outcome: Outcome) -> float:
        call = outcome.asked.call
        known = any(o.asked.call == call and o.print == outcome.print for o in memory.past)
        return 1.0 if known else 0.0

    def asked(self, memory: Memory, call: Asked) -> float:
        flying = sum(o.call == call.call for o in memory.open.values())
        known = any(o.asked.call == call.call for o in memory.past)
        return float(known) + flying
