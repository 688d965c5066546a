"""How alike two texts are, from sketches of constant size.

A sketch is one-permutation hashing (Li, Owen and Zhang, 2012): each word's hash falls into one of
32 bins, and each bin keeps the smallest. The share of equal bins estimates the words in common
(Jaccard similarity), which is exact while words do not share bins.
"""

from __future__ import annotations

import re
from zlib import crc32

from roundsman.guard.volatile import shape

BINS = 32
LARGEST = 20_000
"""Characters of a text that are looked at."""
_WORDS = re.compile(r"\w+|[^\w\s\u200b-\u200f\u2060\ufeff]")
_EMPTY = "00"


def gist(text: str) -> str:
    """The sketch of a text's words, numbers masked (64 hex digits); empty for a blank text."""
    if not text:
        return ""
    words = set(_WORDS.findall(shape(text[:LARGEST].lower())))
    if not words:
        return ""
    bins = [0x100] * BINS
    for word in words:
        value = crc32(word.encode("utf-8", "surrogatepass"))
        place = value % BINS
        bins[place] = min(bins[place], 1 + (value >> 8) % 255)
    return "".join(_EMPTY if b == 0x100 else f"{b:02x}" for b in bins)


FRAME = 8
"""Hexadecimal digits before the sketch of a call: what must be equal, see `prints.call_gist`."""


def calls_alike(one: str, other: str) -> float:
    """How alike two calls are, 0 to 1: 0 when they name different things."""
    if not one or one[:FRAME] != other[:FRAME]:
        return 0.0
    return 1.0 if one == other else likeness(one[FRAME:], other[FRAME:])


def likeness(one: str, other: str) -> float:
    """Estimated share of words two sketches have in common, 0 to 1."""
    if not one or not other:
        return 0.0
    if one == other:
        return 1.0
    equal = both = 0
    for i in range(0, 2 * BINS, 2):
        a, b = one[i : i + 2], other[i : i + 2]
        if a == b:
            if a != _EMPTY:
                equal += 1
                both += 1
        else:
            both += 1
    return equal / both if both else 0.0
