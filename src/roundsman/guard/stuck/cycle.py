"""Two to four calls that take turns."""

from __future__ import annotations

from typing import ClassVar

from roundsman.guard.stuck.memory import Asked, Conversation, Outcome

LONGEST = 4
POINTS = 1.0


class Cycle:
    """The last calls and results are the ones before them once more, in order. Going back and forth
    between two pages is a cycle; going through them is not."""

    name: ClassVar[str] = "cycle"
    extra: ClassVar[bool] = True

    def seen(self, mine: Conversation, outcome: Outcome) -> float:
        if outcome.withheld:
            return 0.0
        trail = [(o.asked.call, o.print) for o in mine.past if not o.withheld]
        trail.append((outcome.asked.call, outcome.print))
        for period in range(2, LONGEST + 1):
            last = trail[-period:]
            if len(trail) >= 2 * period and last == trail[-2 * period : -period]:
                return POINTS if len(set(last)) > 1 else 0.0
        return 0.0

    def asked(self, mine: Conversation, call: Asked) -> float:
        turning = any(name == self.name for o in mine.past for name, _ in o.points)
        return 1.0 if turning and any(o.asked.call == call.call for o in mine.past) else 0.0
