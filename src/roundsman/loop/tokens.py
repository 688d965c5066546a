"""Strings, words and numbers of JSON as models write it: one token at a place, or nothing.

Every reader here looks at a bounded piece of text past the token it reads, so a text is read in time
linear in its length. What has two readings has none: it is reported as unreadable.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

_BLANK = re.compile(
    r"(?:[\s\x00-\x1f\x7f\u200b-\u200f\u2060\ufeff]++|//[^\n]*+|\#[^\n]*+|/\*[^*]{0,500}\*/)*+"
)
DOUBLE, SINGLE = '"', "'"
_CLOSERS = {
    **dict.fromkeys(DOUBLE, DOUBLE),
    **dict.fromkeys(SINGLE, SINGLE),
    **dict.fromkeys("“”„‟", '“”„‟"'),
    **dict.fromkeys("‘’‚‛", "‘’‚‛'"),
}
QUOTES = "".join(_CLOSERS)
_STRING = {
    closers: re.compile(rf"[^\\{closers}]*+(?:\\.[^\\{closers}]*+)*+[{closers}]", re.DOTALL)
    for closers in set(_CLOSERS.values())
}
#: the next member's name, whole or cut by the end of the text
_KEY_AHEAD = re.compile(
    "|".join(
        rf"[{opener}](?:[^\\\n{closers}]|\\.){{0,200}}+(?:[{closers}]\s{{0,40}}(?::|\Z)|\Z)"
        for opener, closers in _CLOSERS.items()
    )
    + r"|[^\W\d]\w{0,80}\s{0,40}(?::|\Z)"
)
_IDENTIFIER = re.compile(r"[^\W\d][\w$.-]*+|\d{1,18}(?![\w.])")
_WORD = re.compile(rf"[^,\n\[\](){{}}{QUOTES}]{{1,120}}")
_NUMBER = re.compile(r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d{1,9})?")
_STRICT = re.compile(r"-?(?:0|[1-9]\d*+)(\.\d++)?([eE][-+]?\d++)?")
_GROUPS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?![\d,])")
_ESCAPE = re.compile(
    r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|.)", re.DOTALL
)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
_PLAIN = set("\\/\"'“”„‟‘’‚‛`")
_LITERALS: Final[dict[str, Any]] = {
    "true": True, "false": False, "null": None, "none": None, "undefined": None,
    "nan": None, "infinity": None, "-infinity": None, "+infinity": None, "inf": None, "-inf": None,
}  # fmt: skip
#: words a value can start with, for what may follow a comma
_VALUE_AHEAD = re.compile(
    rf"[{QUOTES}{{\[(\]]|[-+.]?\d|(?:true|false|null|none|nan)\b|\.\.\.", re.IGNORECASE
)
#: what ends an answer in the middle of an object: a fence, a control token, a closing tag
END_MARK = re.compile(r"```|<\|?/?\w|</|\[/")
#: digits of a number that is still a number; Python's own text limit is 4,300
LONGEST_NUMBER = 4000


class Missing:
    """A value that stands in the text and cannot be read (`bool`, `...`)."""


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Token:
    """A value and the place after it; `slip` names what was forgiven, empty when nothing was."""

    value: Any
    end: int
    slip: str = ""


def skip(text: str, at: int) -> int:
    """The place of the next token: blanks, control characters, comments are passed over."""
    match = _BLANK.match(text, at)
    return match.end() if match else at


def read_key(text: str, at: int) -> Token | None:
    """A member's name, and the place after its colon."""
    slip = ""
    if text[at] in QUOTES:
        token = read_string(text, at, "key")
        if token is None:
            return None
        name, end, slip = token.value, token.end, token.slip
    else:
        match = _IDENTIFIER.match(text, at)
        if match is None:
            return None
        name, end, slip = match[0], match.end(), "unquoted key"
    end = skip(text, end)
    if end < len(text) and text[end] == ":":
        return Token(name, end + 1, slip)
    return None


def read_string(text: str, at: int, place: str) -> Token | None:
    """A quoted string that starts at `at`; `place` is key, member or item.

    A quote ends the string when what follows it can follow there. Others are taken for quotes inside
    the string only in pairs, on one line; anything else has two readings and is None.
    """
    mark = text[at]
    pattern = _STRING[_CLOSERS[mark]]
    slip = "" if mark == DOUBLE else ("single quotes" if mark == SINGLE else "smart quotes")
    end, inner = at + 1, 0
    while (match := pattern.match(text, end)) is not None:
        end = match.end()
        follows = _can_end(text, end, place)
        if follows:
            if inner % 2:
                return None
            body = text[at + 1 : end - 1]
            if inner and "\n" in body:
                return None
            if "\\" in body:
                body = unescape(body)
            return Token(body, end, "inner quotes" if inner else slip)
        before, after = text[end - 2], text[end : end + 1]
        if mark not in '"“”„‟' and before.isalnum() and after.isalnum():
            continue  # an apostrophe
        inner += 1
        if place == "key" or follows is None or inner > 200:
            return None
        opens = not after.isspace() and (end - 2 == at or before in " \t([{=:,/-" or before == mark)
        closes = not before.isspace()
        if not (opens if inner % 2 else closes):
            return None
    return None


def _can_end(text: str, end: int, place: str) -> bool | None:
    """Whether a string may end here; None: neither an end nor a quote inside it."""
    at = skip(text, end)
    if at >= len(text):
        return place != "key"
    mark = text[at]
    if place == "key":
        return mark == ":"
    if mark == ":":
        return None
    if mark in "}])":
        return True
    if mark == ",":
        after = skip(text, at + 1)
        if after >= len(text) or text[after] == ",":
            return True
        if text[after] in "}])":
            return True
        if place == "member":
            return _KEY_AHEAD.match(text, after) is not None
        return _VALUE_AHEAD.match(text, after) is not None
    if mark in QUOTES and at > end:
        return place == "item" or _KEY_AHEAD.match(text, at) is not None
    if place == "item" and mark == "{" and "\n" in text[end:at]:
        return True
    return END_MARK.match(text, at) is not None and "\n" in text[end:at]


def unescape(body: str) -> str:
    """Escapes of JSON and Python; what is no escape stays as it is written (`C:\\data`)."""
    return _ESCAPE.sub(_escaped, body)


def _escaped(match: re.Match[str]) -> str:
    body = match[1]
    if len(body) > 1:
        return chr(int(body[1:], 16))
    if body in _SIMPLE:
        return _SIMPLE[body]
    if body in "“”„‟":
        return '"'  # the typesetter changed an escaped quote
    return body if body in _PLAIN else match[0]


def read_word(text: str, at: int) -> Token | None:
    """A number, a literal, or a value without quotes.

    A number with a unit (`8G`, `96%`, `1,024`, `10:07`) is kept as it is written, as a string. Other
    words give MISSING. A number that the text ends in may be cut and is MISSING, too.
    """
    grouped = _GROUPS.match(text, at)
    if grouped and grouped[0].split(",")[1].startswith("0"):
        return Token(grouped[0], grouped.end(), "number as text")
    match = _WORD.match(text, at)
    if match is None:
        return None
    word = re.split(r"\s(?://|#)|/\*", match[0], maxsplit=1)[0].rstrip()
    end = at + len(word)
    if not word or word.startswith(("//", "#")):
        return None
    if word.casefold() in _LITERALS:
        literal = word.casefold()
        slip = "" if word in ("true", "false", "null") else "literal"
        return Token(_LITERALS[literal], end, slip)
    if match.end() >= len(text):
        return Token(MISSING, len(text), "cut value")
    if _STRICT.fullmatch(word):
        return Token(_number(word), end)
    if _NUMBER.fullmatch(word):
        # 007 and 1. are numbers to a person, but not one number to all readers
        plain = word.lstrip("+")
        loose = re.fullmatch(r"-?0\d.*", plain) is None
        return Token(_number(plain) if loose else word, end, "number")
    if re.match(r"[-+]?\d", word):
        return Token(word, end, "number as text")
    if re.fullmatch(r"[\w .$%/|<>*-]*|…", word):
        return Token(MISSING, end, "unreadable value")
    return None


def _number(word: str) -> Any:
    """The number written; text when it has more digits than a number can hold."""
    if len(word) > LONGEST_NUMBER:
        return word
    if re.fullmatch(r"-?\d+", word):
        return int(word)
    value = float(word)
    return value if abs(value) != float("inf") else None
