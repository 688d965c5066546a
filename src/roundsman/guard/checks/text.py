"""A text as a check reads it: what an eye would see, what it hides, what it is an encoding of.

Attackers write forbidden words with look-alike letters, invisible characters or as base64. So checks
search several views of one text; each view knows which stretch of the original a place in it is.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from roundsman.guard.checks.encodings import encodings
from roundsman.guard.names import LOOK_ALIKES

_TAGS = range(0xE0000, 0xE0080)
"""Unicode's tag characters: invisible copies of ASCII."""
_SELECTORS = range(0xE0100, 0xE01F0)
"""Variation selectors: 240 invisible characters that can stand for bytes."""
_MOST_DECODED = 200
"""Encoded stretches of one text that are looked into."""
_READABLE, _LETTERS = 0.85, 0.6
_FEW = 15
_APART = re.compile(rf"(?<!\w)\w(?P<between>\W{{1,6}})(?:\w(?P=between)){{{_FEW},}}\w(?!\w)")
"""A word with the same between any two of its letters."""
_OF_LISTS = ("', '", '", "', "','", '","')
"""Marks between the strings of a list, where its words are longer than one letter."""


class _Plain(dict[int, str]):
    """Character -> what an eye takes it for, its case kept; filled as characters come up."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if code in _TAGS:
            seen = chr(code - 0xE0000) if code >= 0xE0020 else ""
        elif code in _SELECTORS:
            byte = chr(code - _SELECTORS.start + 16)
            seen = byte if byte.isascii() and byte.isprintable() else ""
        elif unicodedata.category(char) in ("Cf", "Mn", "Me"):
            seen = ""
        elif unicodedata.category(char) in ("Zs", "Zl", "Zp"):
            seen = "\n" if code in (0x2028, 0x2029) else " "
        else:
            seen = unicodedata.normalize("NFKC", char)
        self[code] = seen
        return seen


class _Seen(_Plain):
    """The same without case."""

    def __missing__(self, code: int) -> str:
        seen = self[code] = super().__missing__(code).casefold()
        return seen


class _Folded(_Seen):
    """The same, with look-alike letters of other alphabets as the Latin ones they look like."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", super().__missing__(code))
        bare = (c for c in parts if unicodedata.category(c) not in ("Mn", "Me"))
        seen = self[code] = "".join(LOOK_ALIKES.get(ord(c), c) for c in bare)
        return seen


_PLAIN, _SEEN, _FOLDED = _Plain(), _Seen(), _Folded()


@dataclass(frozen=True)
class View:
    """One reading of a text: `how` is empty for the text as an eye sees it."""

    text: str
    how: str = ""
    made_of: str | None = field(default=None, repr=False)
    whole: tuple[int, int] | None = None
    """The stretch of the original that holds it in another form; `made_of` is None then."""
    _table: dict[int, str] = field(default_factory=dict, repr=False, compare=False)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of the original that this stretch of the view was made from."""
        if self.whole is not None:
            return self.whole
        if self.made_of is None:
            return start, end
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, max(start, end - 1)) - 1
        return max(0, first), last + 1

    @cached_property
    def _starts(self) -> list[int]:
        # a character without a reading starts where the next does: the last of equals is the one seen
        sizes = (len(self._table[ord(c)]) for c in self.made_of or "")
        return list(accumulate(sizes, initial=0))[:-1]


@dataclass(frozen=True)
class Text:
    """A text and its views, made when a check first asks for them."""

    raw: str

    @cached_property
    def hidden(self) -> list[int]:
        """Places of invisible characters that belong in no ordinary text."""
        if self.raw.isascii():
            return []
        return [
            i
            for i, c in enumerate(self.raw)
            if ord(c) in _TAGS
            or ord(c) in _SELECTORS
            or (unicodedata.category(c) == "Cf" and c not in "\u00ad\ufeff")
        ]

    @cached_property
    def seen(self) -> View:
        """What an eye sees: invisible characters gone, one form of each letter, no case."""
        return _translated(self.raw, _SEEN, "")

    @cached_property
    def folded(self) -> View | None:
        """With look-alike letters as the Latin ones; None when that changes nothing."""
        if self.raw.isascii():
            return None
        view = _translated(self.raw, _FOLDED, "look-alike letters")
        return None if view.text == self.seen.text else view

    @cached_property
    def decoded(self) -> list[View]:
        """Readable texts that stretches of this one encode, two levels deep."""
        return [
            View(_translated(view.text, _FOLDED, view.how).text, view.how, whole=view.whole)
            for view in self._decoded
            if _readable(view.text)
        ]

    @cached_property
    def _decoded(self) -> list[View]:
        return list(_decoded(self.raw, 2))

    def forms(self) -> Iterator[View]:
        """The text letter by letter, for what has a shape: as it is, without what is invisible, written
        with something between its letters, decoded."""
        yield View(self.raw)
        if not self.raw.isascii():
            plain = View(self.raw.translate(_PLAIN), "plain", self.raw, None, _PLAIN)
            if plain.text != self.raw:
                yield plain
        sizes = list(map(len, self.raw.split()))
        few = sizes.count(1) <= _FEW and max(sizes, default=0) <= 2 * _FEW
        if not few or any(self.raw.count(mark) > _FEW for mark in _OF_LISTS):
            for match in _APART.finditer(self.raw):
                letters = "".join(match[0].split(match["between"]))
                yield View(letters, "apart", whole=match.span())
        yield from self._decoded

    def views(self) -> Iterator[View]:
        """All views, the plain one first."""
        yield self.seen
        if self.folded is not None:
            yield self.folded
        yield from self.decoded


def _translated(raw: str, table: dict[int, str], how: str) -> View:
    if raw.isascii():
        return View(raw.lower(), how)
    return View(raw.translate(table), how, raw, None, table)


def _decoded(raw: str, depth: int) -> Iterator[View]:
    budget = _MOST_DECODED
    for pattern, how, decode in encodings(raw):
        for match in pattern.finditer(raw):
            if (budget := budget - 1) < 0:
                return
            text = decode(match[match.lastindex or 0])
            if not text or text == match[0] or not _printable(text):
                continue
            yield View(text, how, whole=match.span())
            if depth > 1:
                for inner in _decoded(text, depth - 1):
                    yield View(inner.text, f"{how}, {inner.how}", whole=match.span())


def _printable(text: str) -> bool:
    return sum(c.isprintable() or c in "\n\t\r" for c in text) >= _READABLE * len(text)


def _readable(text: str) -> bool:
    return sum(c.isalpha() or c.isspace() for c in text) >= _LETTERS * len(text)
