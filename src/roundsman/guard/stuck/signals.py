"""What a signal is. Each one is a small class in a file of its own, without state."""

from __future__ import annotations

from typing import ClassVar, Protocol

from roundsman.guard.stuck.memory import Asked, Conversation, Outcome


class Signal(Protocol):
    """One kind of evidence that a run is stuck, in points.

    `seen`: points of an outcome, looked at beside what its conversation knew before it. `asked`: points
    of a call that is about to run. 0 is no evidence. The points of one call do not add up, the
    strongest signal counts; those of a signal that is `extra` are added to it.
    """

    name: ClassVar[str]
    extra: ClassVar[bool]

    def seen(self, mine: Conversation, outcome: Outcome) -> float: ...

    def asked(self, mine: Conversation, call: Asked) -> float: ...
