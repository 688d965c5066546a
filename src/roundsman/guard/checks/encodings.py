"""Ways to write a text so that no eye reads it: which stretches may be one, and what they then say."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

_BASE64 = re.compile(r"(?<![\w+-])(?:[A-Za-z0-9+/_-]{4}){5,}[A-Za-z0-9+/_-]{0,3}={0,2}(?![\w+/])")
_HEX = re.compile(r"(?<!\w)(?:0x)?(?:[0-9a-fA-F]{2}[ :]?){16,}(?!\w)")
_PERCENT = re.compile(r"(?:[\w.~-]*%[0-9a-fA-F]{2}){4,}[\w.~%-]*")
_ESCAPED = re.compile(
    r"(?:\\{1,4}u[0-9a-fA-F]{4}|\\{1,4}x[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{2,6};){4,}"
)
_ONE_ESCAPE = re.compile(
    r"\\{1,4}u([0-9a-fA-F]{4})|\\{1,4}x([0-9a-fA-F]{2})|&#x([0-9a-fA-F]+);|&#(\d+);"
)
_BITS = re.compile(r"(?<!\w)[01]{8}(?: ?[01]{8}){7,}(?!\w)")
_BASE32 = re.compile(r"(?<!\w)(?:[A-Z2-7]{8}){3,}(?:[A-Z2-7]{2,7})?={0,6}(?!\w)")
_TURNED = re.compile("\u202e([^\u202c\n]{8,2000})\u202c?")
"""What an eye reads from right to left, after the mark that says so."""
_ORDERS = (
    "instructions",
    "ignore",
    "prompt",
    "forget",
    "disregard",
    "assistant",
    "password",
    "previous",
)
_BACKWARDS = tuple(word[::-1] for word in _ORDERS)
_ROT13 = tuple(codecs.encode(word, "rot13") for word in _ORDERS)
"""Words of an order, turned about: only such a text is read so."""
_LINE = re.compile(r"[^\n]{8,2000}")
_SHORTEST, _PAIRS = 20, 16
"""Characters of a word that may be base64 of something worth reading."""


def encodings(raw: str) -> Iterator[tuple[re.Pattern[str], str, Callable[[str], str]]]:
    """Those worth trying: most texts hold none of their marks."""
    sizes = list(map(len, raw.split()))
    long = max(sizes, default=0) >= _SHORTEST
    if long:
        yield _BASE64, "base64", _from_base64
        yield _BASE32, "base32", _from_base32
    if long or sizes.count(2) >= _PAIRS:
        yield _HEX, "hex", _from_hex
    if "%" in raw:
        yield _PERCENT, "url encoding", unquote
    if "\\" in raw or "&#" in raw:
        yield _ESCAPED, "escapes", _from_escapes
    if "00" in raw or "01" in raw:
        yield _BITS, "bits", _from_bits
    if "\u202e" in raw:
        yield _TURNED, "right to left", _backwards
    small = raw.lower()
    if any(word in small for word in _BACKWARDS):
        yield _LINE, "backwards", _backwards
    if any(word in small for word in _ROT13):
        yield _LINE, "rot13", _rot13


def _from_base64(text: str) -> str:
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4)).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def _from_hex(text: str) -> str:
    digits = re.sub(r"[^0-9a-fA-F]", "", text.removeprefix("0x"))
    try:
        return bytes.fromhex(digits).decode("utf-8")
    except ValueError:
        return ""


def _from_base32(text: str) -> str:
    plain = text.rstrip("=")
    try:
        return base64.b32decode(plain + "=" * (-len(plain) % 8)).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def _from_bits(text: str) -> str:
    digits = text.replace(" ", "")
    try:
        return bytes(int(digits[i : i + 8], 2) for i in range(0, len(digits), 8)).decode("utf-8")
    except ValueError:
        return ""


def _backwards(text: str) -> str:
    return text[::-1]


def _rot13(text: str) -> str:
    return codecs.encode(text, "rot13")


def _from_escapes(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = int(match[4]) if match[4] else int(match[1] or match[2] or match[3], 16)
        return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""

    return _ONE_ESCAPE.sub(one, text)
