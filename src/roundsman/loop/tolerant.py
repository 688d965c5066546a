"""One JSON value at a place in a text, as models write it.

Reads what has one reading: trailing, doubled and missing commas, single and typographic quotes,
Python's literals and tuples, names without quotes, comments, control characters, raw line breaks,
numbers with units, brackets closed in the wrong order or not at all. Where the text stops or stops
making sense, what was complete until there is kept and the place is told; nothing is made up.

No recursion, so depth costs no stack; no place is read twice but for a bounded look ahead.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from roundsman.loop.tokens import (
    END_MARK,
    QUOTES,
    Missing,
    Token,
    read_key,
    read_string,
    read_word,
    skip,
)

#: levels of nesting that are read
DEEPEST = 500
#: characters that may be left of a text that was cut inside a string
_NEAR_END = 4000
_CLOSES = {"}": "{", "]": "[", ")": "("}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What stood at a place.

    Attributes:
        value: a mapping or a list.
        end: the place after it.
        slips: kinds of slips that were forgiven.
        lost: what could not be read, empty when nothing was: `truncated` (the text ended),
            `broken` (it stopped making sense), `values` (single values were left out).
        open_at: names of the members that were open where it was cut.
        start: the place it starts at.
    """

    value: Any
    end: int
    slips: frozenset[str] = frozenset()
    lost: str = ""
    open_at: tuple[str, ...] = ()
    start: int = 0


@dataclass(slots=True)
class _Frame:
    kind: str
    value: Any
    key: str | None = None


@dataclass(slots=True)
class _Reader:
    text: str
    at: int
    stack: list[_Frame] = field(default_factory=list)
    slips: set[str] = field(default_factory=set)
    dropped: bool = False
    expect: str = "value"

    def run(self) -> Parsed | None:
        self._open()
        while self.stack:
            self.at = skip(self.text, self.at)
            if self.at >= len(self.text):
                return self._cut("truncated")
            mark = self.text[self.at]
            if mark in "}])":
                done = self._close(mark)
                if done is not None:
                    return done
            elif not self._step(mark):
                return self._cut("truncated" if self._ends() else "broken")
        return None

    def _open(self) -> None:
        mark = self.text[self.at]
        self.stack.append(_Frame(mark, {} if mark == "{" else []))
        self.at += 1
        self.expect = "key" if mark == "{" else "value"

    def _step(self, mark: str) -> bool:
        """Read one token that closes nothing; False when none fits."""
        if mark in "`<" and END_MARK.match(self.text, self.at):
            return False
        if mark == ",":
            if self.expect != "comma":
                self.slips.add("commas")
            self.stack[-1].key = None
            self.expect = "key" if self.stack[-1].kind == "{" else "value"
            self.at += 1
            return True
        if self.expect == "comma":
            return self._without_comma(mark)
        if self.expect == "key":
            token = read_key(self.text, self.at)
            if token is None:
                return False
            self._note(token)
            self.stack[-1].key, self.at, self.expect = token.value, token.end, "value"
            return True
        return self._value(mark)

    def _value(self, mark: str) -> bool:
        if mark in "{[(":
            if len(self.stack) >= DEEPEST:
                return False
            if mark == "(":
                self.slips.add("literal")
            self._open()
            return True
        if mark in QUOTES:
            place = "member" if self.stack[-1].kind == "{" else "item"
            token = read_string(self.text, self.at, place)
        else:
            token = read_word(self.text, self.at)
        if token is None:
            return False
        self._note(token)
        self._put(token.value)
        self.at = token.end
        return True

    def _without_comma(self, mark: str) -> bool:
        """A comma is missing where only the next member or item can stand."""
        if self.stack[-1].kind == "{":
            if mark not in QUOTES or read_key(self.text, self.at) is None:
                return False
            self.expect = "key"
        else:
            if mark not in "{[" and mark not in QUOTES:
                return False
            self.expect = "value"
        self.slips.add("commas")
        return True

    def _note(self, token: Token) -> None:
        if token.slip:
            self.slips.add(token.slip)

    def _put(self, value: Any) -> None:
        frame = self.stack[-1]
        if isinstance(value, Missing):
            self.dropped = True
            self.expect = "comma"
            return
        if frame.kind == "{":
            if frame.key in frame.value:
                self.slips.add("duplicate keys")
            frame.value[frame.key] = value
        else:
            frame.value.append(value)
        frame.key, self.expect = None, "comma"

    def _close(self, mark: str) -> Parsed | None:
        """Close up to the bracket that `mark` belongs to; one that belongs to none is passed over."""
        kind = _CLOSES[mark]
        if self.stack[-1].kind != kind:
            self.slips.add("brackets")
            stray = kind not in (frame.kind for frame in self.stack)
            if stray or (mark == "}" and self._goes_on()):
                self.at += 1
                return None
        elif self.expect != "comma" and self.stack[-1].value:
            self.slips.add("commas")
        self.at += 1
        while True:
            frame = self.stack.pop()
            if frame.kind == "{" and frame.key is not None:
                self.dropped = True  # a name without a value
            if not self.stack:
                lost = "values" if self.dropped else ""
                return Parsed(frame.value, self.at, frozenset(self.slips), lost)
            self._put(frame.value)
            if frame.kind == kind:
                return None

    def _ends(self) -> bool:
        """Whether the text stops here, rather than makes no sense."""
        if END_MARK.match(self.text, self.at):
            return True
        far = self.at + _NEAR_END
        closed = any(self.text.find(mark, self.at, far) >= 0 for mark in "}]")
        return far >= len(self.text) and not closed

    def _goes_on(self) -> bool:
        """Whether a list goes on after a brace that closes nothing in it."""
        after = skip(self.text, self.at + 1)
        return self.text[after : after + 1] in (",", "]")

    def _cut(self, lost: str) -> Parsed | None:
        """Keep what was complete; an item of a list that was not is left out."""
        path: list[str] = []
        for frame, child in zip(self.stack, self.stack[1:], strict=False):
            if frame.kind != "{" or frame.key is None:
                break
            frame.value[frame.key] = child.value
            path.append(frame.key)
        else:
            if self.stack[-1].kind == "{" and self.stack[-1].key is not None:
                path.append(self.stack[-1].key)
        value = self.stack[0].value
        return Parsed(value, self.at, frozenset(self.slips), lost, tuple(path))


def parse_at(text: str, at: int) -> Parsed | None:
    """The object or list that starts at `at`, which must be `{` or `[`; None when there is none."""
    if text[at : at + 1] not in ("{", "["):
        return None
    parsed = _Reader(text, at).run()
    return None if parsed is None else replace(parsed, start=at)
