"""The same error again, and attempts that keep failing."""

from __future__ import annotations

from typing import ClassVar

from roundsman.guard.gist import likeness
from roundsman.guard.stuck.memory import Asked, Memory, Outcome
from roundsman.guard.stuck.near import LIKE


class SameError:
    """The same kind of failure (names and numbers masked), whatever the arguments; less when its
    words differ."""

    name: ClassVar[str] = "error"
    extra: ClassVar[bool] = False

    def seen(self, memory: Memory, outcome: Outcome) -> float:
        if not outcome.fault:
            return 0.0
        alike = [o for o in memory.past if o.fault == outcome.fault]
        if any(o.print == outcome.print for o in alike):
            return 0.8
        return 0.4 if alike else 0.0

    def asked(self, memory: Memory, call: Asked) -> float:
        return 0.0


class Failing:
    """A failure nobody has seen yet is news, if little: more of it when the call is a variation of
    one that failed."""

    name: ClassVar[str] = "failing"
    extra: ClassVar[bool] = False

    def seen(self, memory: Memory, outcome: Outcome) -> float:
        if not outcome.fault:
            return 0.0
        gist = outcome.asked.gist
        varied = any(o.fault and likeness(o.asked.gist, gist) >= LIKE for o in memory.past)
        return 0.6 if varied else 0.2

    def asked(self, memory: Memory, call: Asked) -> float:
        return 0.0
