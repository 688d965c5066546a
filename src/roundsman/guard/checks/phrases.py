"""Phrases and patterns somebody lists: topics, business rules, names of competitors, lines of a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from roundsman.guard.checks.base import Hit
from roundsman.guard.checks.text import Text, View
from roundsman.policy.patterns import compiled, escaped


@dataclass(frozen=True)
class Phrases:
    """Finds any of some phrases (whole words, as an eye reads them) and RE2 patterns.

    With `allowed` it is the other way round: a text that holds none of them is the hit.
    """

    name: str
    phrases: Sequence[str] = ()
    patterns: Sequence[str] = ()
    allowed: bool = False

    @property
    def needs_the_whole(self) -> bool:
        """A missing topic may still come."""
        return self.allowed

    def find(self, text: Text) -> Iterator[Hit]:
        """Where one of them stands."""
        views = list(text.views())
        hits = (hit for view in views for hit in self._in(view))
        if self.allowed:
            if next(hits, None) is None and text.raw.strip():
                yield Hit(0, len(text.raw), self.name)
            return
        yield from hits

    def _in(self, view: View) -> Iterator[Hit]:
        for pattern in _words(tuple(self.phrases)):
            for match in pattern.finditer(view.text):
                yield Hit(*view.place(*match.span(1)), self.name)
        for pattern in _compiled(tuple(self.patterns)):
            for match in pattern.finditer(view.text):
                yield Hit(*view.place(*match.span()), self.name)


@lru_cache(maxsize=256)
def _words(phrases: tuple[str, ...]) -> tuple[Any, ...]:
    """One pattern for all: any blanks between the words of a phrase."""
    if not phrases:
        return ()
    seen = (Text(phrase).seen.text.split() for phrase in phrases)
    joined = "|".join(r"[\s\pP]+".join(escaped(w) for w in words) for words in seen if words)
    return (compiled(rf"(?:^|[^\pL\pN])({joined})(?:$|[^\pL\pN])"),)


@lru_cache(maxsize=256)
def _compiled(patterns: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(compiled(pattern) for pattern in patterns)
