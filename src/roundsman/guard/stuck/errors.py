"""The same error again, and attempts that keep failing."""

from __future__ import annotations

from typing import ClassVar

from roundsman.guard.gist import calls_alike
from roundsman.guard.stuck.memory import Asked, Conversation, Outcome
from roundsman.guard.stuck.near import ASKED, LIKE

SAME_WORDS, SAME_KIND = 1.0, 0.2
VARIED, ANOTHER = 0.6, 0.3
"""Points of a new failure: of a variation of a call that failed, of any other call."""


class SameError:
    """The same kind of failure (names and numbers masked), whatever the arguments; less when its
    words differ."""

    name: ClassVar[str] = "error"
    extra: ClassVar[bool] = False

    def seen(self, mine: Conversation, outcome: Outcome) -> float:
        if not outcome.fault or outcome.withheld:
            return 0.0
        alike = [o for o in mine.past if o.fault == outcome.fault]
        if any(o.print == outcome.print for o in alike):
            return SAME_WORDS
        return SAME_KIND if alike else 0.0

    def asked(self, mine: Conversation, call: Asked) -> float:
        return _tried(mine, call)


class Failing:
    """A failure nobody has seen yet is news, if little: more of it when the call is a variation of
    one that failed."""

    name: ClassVar[str] = "failing"
    extra: ClassVar[bool] = False

    def seen(self, mine: Conversation, outcome: Outcome) -> float:
        if not outcome.fault or outcome.withheld:
            return 0.0
        gist = outcome.asked.gist
        varied = any(o.fault and calls_alike(o.asked.gist, gist) >= LIKE for o in mine.past)
        return VARIED if varied else ANOTHER

    def asked(self, mine: Conversation, call: Asked) -> float:
        return _tried(mine, call)


def _tried(mine: Conversation, call: Asked) -> float:
    """Points of asking for what failed: the very call, or a variation of it."""
    failed = [o.asked for o in mine.past if o.fault and not o.withheld]
    if any(a.call == call.call for a in failed):
        return 1.0
    near = any(a.tool == call.tool and calls_alike(a.gist, call.gist) >= LIKE for a in failed)
    return ASKED if near else 0.0
