"""A write that has succeeded is asked for again."""

from __future__ import annotations

from typing import ClassVar

from roundsman.guard.stuck.memory import Asked, Conversation, Outcome


class Rewrite:
    """The same write again after it succeeded, whatever it answers: a booking made twice has two
    numbers. A tool declared `write` is asked nothing twice in a row without a warning, nor while the
    first is under way; one that only looks like a write gets the benefit of the doubt."""

    name: ClassVar[str] = "rewrite"
    extra: ClassVar[bool] = False

    def seen(self, mine: Conversation, outcome: Outcome) -> float:
        return 1.0 if outcome.asked.alters and outcome.asked.call in mine.written else 0.0

    def asked(self, mine: Conversation, call: Asked) -> float:
        if not call.alters:
            return 0.0
        if call.alters == "declared" and any(o.call == call.call for o in mine.flying.values()):
            return 2.0
        if call.call not in mine.written:
            return 0.0
        last = mine.written[-1] == call.call
        return 2.0 if last and call.alters == "declared" else 1.0
