"""Almost the same call with the same result: rephrased, not rethought."""

from __future__ import annotations

from typing import ClassVar

from roundsman.guard.gist import likeness
from roundsman.guard.stuck.memory import Asked, Memory, Outcome

LIKE = 0.6
"""Share of words in common from which on two calls are near-duplicates."""


class NearDuplicate:
    """Most words of the arguments are the same (numbers do not count) and so is the result. A blank
    result says little, so it weighs less."""

    name: ClassVar[str] = "near"
    extra: ClassVar[bool] = False

    def seen(self, memory: Memory, outcome: Outcome) -> float:
        mine = outcome.asked
        for o in memory.past:
            if o.print != outcome.print or o.asked.tool != mine.tool or o.withheld:
                continue
            if likeness(o.asked.gist, mine.gist) >= LIKE:
                return 0.7 if outcome.print else 0.5
        return 0.0

    def asked(self, memory: Memory, call: Asked) -> float:
        near = any(
            o.asked.tool == call.tool and likeness(o.asked.gist, call.gist) >= LIKE
            for o in memory.past
        )
        return 0.4 if near else 0.0
