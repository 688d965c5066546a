"""Replies that call no tool: announcing the same thing again, and saying nothing at all."""

from __future__ import annotations

import re

from roundsman.guard.evolve import evolve
from roundsman.guard.gist import likeness
from roundsman.guard.stuck.memory import SAID, Talk

LIKE = 0.4
MOST_TALK = 3
"""Announcements of the same thing in a row, none of them acted upon, after which it is only talk."""
MOST_BLANKS = 3
"""Empty replies in a row after which nobody is there."""
_ANNOUNCES = re.compile(
    r"\b(?:i['’]ll|i will|i shall|i['’]m (?:now )?(?:going to|about to)|i am (?:now )?(?:going to|about to)"
    r"|let me|let['’]s|now i|next i)\b",
    re.IGNORECASE,
)


def announces(text: str) -> bool:
    """Whether a text says what its speaker is about to do. Knows English only: an agent that
    answers the same label for the same kind of item must never be taken for one that talks."""
    if not text:
        return False
    return _ANNOUNCES.search(text[:300]) is not None or _ANNOUNCES.search(text[-300:]) is not None


def replied(talk: Talk, calls: int, said: str, announced: bool) -> Talk:
    """What an agent's talk is after a reply with so many tool calls; `said` is the sketch of its text."""
    if calls:
        return Talk()
    if not said:
        return evolve(talk, blanks=talk.blanks + 1)
    if not announced:
        return Talk()
    known = any(likeness(one, said) >= LIKE for one in talk.said)
    said_now = (*talk.said, said)[-SAID:]
    return evolve(talk, said=said_now, again=talk.again + 1 if known else 1, blanks=0)
