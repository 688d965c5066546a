"""Who vouches for the text in an account: what the user said, and whose results came in."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from roundsman.guard.checks.text import Text
from roundsman.guard.evolve import evolve
from roundsman.guard.prints import digest

BETWEEN = "\x1e"
"""Between two messages in one text (the record separator of ASCII)."""
INPUT = "(input)"
"""Whose text a node's input is when the user did not say it."""
MEMORY = "(memory)"
"""Whose text earlier conversations are, where the engine adds them to a prompt."""
FILES = "(files)"
"""Whose text a file in a person's message is: not the person's."""
_MOST_WORDS = 100_000
"""Characters of a user's words that are kept: what comes later is not vouched for."""


@dataclass(frozen=True)
class Trust:
    """`words`: what the user said, as an eye reads it, a line for each message; `held_back`: prints of
    what the journal does not keep of it (`said_print`). `sources`: tools (and agents used as tools)
    whose results are in the context, in the order they came."""

    words: str = ""
    sources: tuple[str, ...] = ()
    held_back: frozenset[str] = frozenset()

    def heard(self, text: str, held_back: Collection[str] = ()) -> Trust:
        """After the user said this."""
        said = _as_words(text)
        held = self.held_back.union(held_back)
        if not said and held == self.held_back:
            return self
        words = f"{self.words}\n{said}"[:_MOST_WORDS]
        return evolve(self, words=words, held_back=held)

    def has_heard(self, text: str) -> bool:
        """Whether all of this text is the user's."""
        return _as_words(text) in self.words

    def got(self, source: str) -> Trust:
        """After a result of this tool came in."""
        if source in self.sources:
            return self
        return evolve(self, sources=(*self.sources, source))


def _as_words(text: str) -> str:
    """A text as an eye reads it, a line for each message."""
    plain = unicodedata.normalize("NFC", text[:_MOST_WORDS])
    messages = (" ".join(m.split()) for m in Text(plain).seen.text.split(BETWEEN))
    return "\n".join(m for m in messages if m)


def said_print(run_id: str, value: str) -> str:
    """What the journal keeps of a mail address or a secret the user said: a later call with the same
    value is known by it. It belongs to one run; who has the run's id and guesses the value can tell."""
    return digest(f"{run_id}\x00{' '.join(Text(value).seen.text.split())}")
