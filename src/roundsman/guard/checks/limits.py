"""How long a text may be, and in which alphabets."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from roundsman.guard.checks.base import Hit
from roundsman.guard.checks.text import Text

_SHARE = 0.1
"""Letters of other alphabets that a quotation or a name may bring."""


@dataclass(frozen=True)
class Length:
    """A text of more than `most` characters."""

    most: int
    needs_the_whole: ClassVar[bool] = True

    def find(self, text: Text) -> Iterator[Hit]:
        """What is too much."""
        if len(text.raw) > self.most:
            yield Hit(self.most, len(text.raw), "too long")


@dataclass(frozen=True)
class Alphabets:
    """A text of which more than a tenth of the letters are of no listed alphabet (Unicode's names of
    scripts: latin, cyrillic, greek, arabic, han ...). It tells alphabets apart, not languages."""

    allowed: Collection[str]
    needs_the_whole: ClassVar[bool] = True

    def find(self, text: Text) -> Iterator[Hit]:
        """The whole text, when too much of it is written otherwise."""
        letters = [c for c in text.raw if c.isalpha()]
        foreign = sum(alphabet(c) not in self.allowed for c in letters)
        if foreign > _SHARE * len(letters):
            yield Hit(0, len(text.raw), "other alphabet")


@lru_cache(maxsize=8192)
def alphabet(char: str) -> str:
    """The alphabet of a letter, in lower case: the first word of its Unicode name."""
    word = unicodedata.name(char, "unknown").split()[0].lower()
    return "han" if word in ("cjk", "ideographic") else word
