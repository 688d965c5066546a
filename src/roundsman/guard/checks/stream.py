"""A text that arrives in pieces: what may leave is held back until a check could have seen it whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from roundsman.guard.checks.base import Hit, without

LOOK_BACK = 256
"""Characters held back. A phrase or a secret up to this long never leaves in part; of a longer one
at most what came before its first recognisable characters."""
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
        self._unseen += len(piece)
        if self._unseen < _STRIDE or len(self._text) <= self._back:
            return ""
        self._unseen = 0
        return self._release(len(self._text) - self._back)

    def end(self) -> str:
        """The rest, the text being whole."""
        return self._release(len(self._text))

    def _release(self, upto: int) -> str:
        hits = [h for h in self._look(self._text) if h.start < upto]
        if upto < len(self._text):
            # what a hit covers leaves as one: not its first half now and the rest when it has grown
            upto = min([upto, *(h.start for h in hits if h.end > upto)])
        gone = [h for h in hits if h.end <= upto]
        out = without(self._text[:upto], gone)
        self._text = self._text[upto:]
        return out
