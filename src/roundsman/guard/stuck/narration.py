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
_DOING = (
    r"(?:writing|creating|starting|beginning|proceeding|continuing|moving|preparing|generating|saving"
    r"|putting|getting|working|calling|running|checking|updating|building|making|adding|compiling"
    r"|drafting|finali[sz]ing|going to|about to)"
)
_SAYING = r"(?:note|say|add that|conclude|admit|mention|stress|warn|point out|point to)"
"""What is said by saying so: an answer, no announcement."""
_ANNOUNCES = re.compile(
    r"\b(?:(?:i|we)['’]ll|(?:i|we) (?:will|shall)|i['’]d like to|let me|let['’]s|let us|allow me to"
    rf"|(?:i (?:should|must|can)(?: now)?|i (?:need|plan|intend|want|have) to)(?! {_SAYING}\b)"
    r"|now i|next,? (?:i|we))\b"
    rf"|\b(?:i['’]m|i am|we['’]re|we are) (?:now |just )?{_DOING}\b"
    rf"|(?:^|[.!?]\s+|\bnow )(?:time to|{_DOING})\b",
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
