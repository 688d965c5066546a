"""Almost the same call with the same result: rephrased, not rethought."""

from __future__ import annotations

from typing import ClassVar

from roundsman.guard.gist import calls_alike
from roundsman.guard.stuck.memory import Asked, Conversation, Outcome

LIKE = 0.5
"""Share of words in common from which on two calls are near-duplicates."""
SAME_RESULT, BLANK_RESULT, ASKED = 0.6, 0.5, -0.25
"""Points: of an outcome, of one with a blank result, of a call that is asked for (below 0: the right
call is often a variation of the wrong one, so it takes more to withhold it)."""

OFTEN, ASKED_OFTEN = 4, 0.25
"""Variations of one call that gave one result, from which on another variation is nothing else."""

NUMBERS_ONLY, ASKED_NUMBERS = 0.8, 0.4
"""Points where even the words are the same ones, and only numbers, times or ids differ."""


class NearDuplicate:
    """Most words of the arguments are the same (numbers do not count) and so is the result. A blank
    result says little, so it weighs less."""

    name: ClassVar[str] = "near"
    extra: ClassVar[bool] = False

    def seen(self, mine: Conversation, outcome: Outcome) -> float:
        call = outcome.asked
        if outcome.withheld:
            return 0.0
        most = max(
            (
                calls_alike(o.asked.gist, call.gist)
                for o in mine.past
                if o.print == outcome.print and o.asked.tool == call.tool and not o.withheld
            ),
            default=0.0,
        )
        if most < LIKE:
            return 0.0
        if not outcome.print:
            return BLANK_RESULT
        return NUMBERS_ONLY if most == 1.0 else SAME_RESULT

    def asked(self, mine: Conversation, call: Asked) -> float:
        most, prints = 0.0, list[str]()
        for past in mine.past:
            if past.asked.tool == call.tool:
                alike = calls_alike(past.asked.gist, call.gist)
                most = max(most, alike)
                if alike >= LIKE:
                    prints.append(past.print)
        if most < LIKE:
            return 0.0
        if most == 1.0:
            return ASKED_NUMBERS
        often = prints[-1] and prints.count(prints[-1]) >= OFTEN
        return ASKED_OFTEN if often else ASKED
