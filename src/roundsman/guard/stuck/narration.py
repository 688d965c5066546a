"""Replies that call no tool: announcing the same thing again, and saying nothing at all."""

from __future__ import annotations

from roundsman.guard.evolve import evolve
from roundsman.guard.gist import likeness
from roundsman.guard.stuck.memory import SAID, Memory

LIKE = 0.5
MOST_TALK = 3
"""Replies without a call and without new words after which an agent only talks."""
MOST_BLANKS = 3
"""Empty replies in a row after which nobody is there."""


def replied(memory: Memory, calls: int, said: str) -> Memory:
    """The memory after a reply with so many tool calls; `said` is the sketch of its text."""
    if calls:
        return evolve(memory, said=(), talk=0, blanks=0)
    if not said:
        return evolve(memory, blanks=memory.blanks + 1)
    known = any(likeness(one, said) >= LIKE for one in memory.said)
    return evolve(
        memory,
        said=(*memory.said, said)[-SAID:],
        talk=memory.talk + 1 if known else 0,
        blanks=0,
    )
