"""One call over and over whose answers differ, if only like a clock's."""

from __future__ import annotations

from typing import ClassVar

from roundsman.guard.stuck.memory import Asked, Conversation, Outcome

UNBROKEN = 60
"""Calls in a row after which even answers that differ in more than numbers are no progress."""


class Clock:
    """The same call, and a result that differs in digits only. One unbroken run of a call counts
    in full from the sixtieth on, whatever it answers: a long stream is read in fewer pieces."""

    name: ClassVar[str] = "clock"
    extra: ClassVar[bool] = False

    def seen(self, mine: Conversation, outcome: Outcome) -> float:
        call = outcome.asked.call
        if outcome.withheld:
            return 0.0
        if mine.run[0] == call and mine.run[1] >= UNBROKEN:
            return 1.0
        alike = any(
            o.asked.call == call and o.shape == outcome.shape and o.print != outcome.print
            for o in mine.past
        )
        return 0.4 if alike else 0.0

    def asked(self, mine: Conversation, call: Asked) -> float:
        return 1.0 if mine.run[0] == call.call and mine.run[1] > 1 else 0.0
