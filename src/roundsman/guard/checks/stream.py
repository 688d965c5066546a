"""A text that arrives in pieces: what may leave is held back until a check could have seen it whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from roundsman.guard.checks.base import Hit, without

LOOK_BACK = 256
"""Characters held back. A phrase or a secret up to this long never leaves in part; of a longer one
at most what came before its first recognisable characters."""
_LONGEST_WORD = 1_024
_WORD = re.compile(r"[A-Za-z0-9+/=_.%~-]+$")
"""What may be a token or an encoded text: cut in two, it is neither."""
_UNSEEN = re.compile(
    r"[\u00ad\u0300-\u036f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]"
)
_MOST_UNSEEN = 16
_TOO_MANY_UNSEEN = re.compile(rf"({_UNSEEN.pattern}{{{_MOST_UNSEEN}}}){_UNSEEN.pattern}+")
"""Invisible characters between two others: more only push what is held back over the edge."""
_STRIDE = 32
"""New characters that are worth looking at: a stream may come one character at a time."""


class Held:
    """Takes the pieces of one text and gives back what may leave of it.

    Args:
        look: what there is against a text; the hits are removed before it leaves. May raise to stop.
        look_back: characters held back.
    """

    def __init__(self, look: Callable[[str], Iterable[Hit]], look_back: int = LOOK_BACK) -> None:
        self._look, self._back = look, look_back
        self._text = ""
        self._unseen = 0

    def add(self, piece: str) -> str:
        """What may leave now that `piece` has come."""
        self._text += piece
        if not piece.isascii():
            self._text = _TOO_MANY_UNSEEN.sub(r"\1", self._text)
        self._unseen += len(piece)
        if self._unseen < _STRIDE or len(self._text) <= self._back:
            return ""
        self._unseen = 0
        return self._release(self._edge())

    def end(self) -> str:
        """The rest, the text being whole."""
        return self._release(len(self._text))

    def _edge(self) -> int:
        """How far it may leave: `look_back` visible characters stay, and no word is cut in two."""
        edge = len(self._text) - self._back
        while edge > 0 and (unseen := len(_UNSEEN.findall(self._text, edge))):
            stay = len(self._text) - edge - unseen
            if stay >= self._back:
                break
            edge = max(0, edge - (self._back - stay))
        word = _WORD.search(self._text, max(0, edge - _LONGEST_WORD), edge)
        return word.start() if word is not None and word.start() > edge - _LONGEST_WORD else edge

    def _release(self, upto: int) -> str:
        hits = [h for h in self._look(self._text) if h.start < upto]
        if upto < len(self._text):
            # what a hit covers leaves as one: not its first half now and the rest when it has grown
            upto = min([upto, *(h.start for h in hits if h.end > upto)])
        gone = [h for h in hits if h.end <= upto]
        out = without(self._text[:upto], gone)
        self._text = self._text[upto:]
        return out
