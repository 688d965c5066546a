"""Who vouches for the text in an account: what the user said, and whose results came in."""

from __future__ import annotations

from dataclasses import dataclass

from roundsman.guard.checks.text import Text
from roundsman.guard.evolve import evolve

_MOST_WORDS = 100_000
"""Characters of a user's words that are kept: what comes later is not vouched for."""


@dataclass(frozen=True)
class Trust:
    """`words`: what the user said, as an eye reads it, blanks joined. `sources`: tools (and agents
    used as tools) whose results are in the context, in the order they came."""

    words: str = ""
    sources: tuple[str, ...] = ()

    def heard(self, text: str) -> Trust:
        """After the user said this."""
        said = " ".join(Text(text[:_MOST_WORDS]).seen.text.split())
        return evolve(self, words=f"{self.words}\n{said}"[:_MOST_WORDS]) if said else self

    def got(self, source: str) -> Trust:
        """After a result of this tool came in."""
        if source in self.sources:
            return self
        return evolve(self, sources=(*self.sources, source))
