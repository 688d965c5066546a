"""Values that differ from call to call and mean nothing: clocks, request ids, durations.

They hide sameness in arguments and in results, so they are masked before two texts are compared.
"""

from __future__ import annotations

import re

_DIGITS = re.compile(r"\d+")
_VOLATILE = re.compile(
    r"""
      (?P<uuid>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)
    | (?P<stamp>\b\d{4}[-/]\d\d[-/]\d\d(?:[t ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?)?)
    | (?P<time>\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b)
    | (?P<epoch>\b1[0-9]{9}(?:\.\d+|\d{3}|\d{6}|\d{9})?\b)
    | (?P<lasted>\b\d+(?:\.\d+)?\s?(?:ns|us|µs|ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b)
    | (?P<address>\b0x[0-9a-f]{6,16}\b)
    | (?P<id>\b(?:request|trace|span|session|correlation|process|thread|job|task|run|row)?[_\- ]?
        (?:id|pid)["']?\s*[:=]\s*["']?[\w\-]*\d[\w\-]*)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _placeholder(match: re.Match[str]) -> str:
    return f"<{match.lastgroup}>"


def mask(text: str) -> str:
    """`text` with times, durations, UUIDs, addresses and `id=...` values masked.

    Other numbers stay: a count, an offset or a checksum that differs is a difference.
    """
    return _VOLATILE.sub(_placeholder, text)


def shape(text: str) -> str:
    """`text` with every run of digits masked: what is left when only numbers differ."""
    return shape_of_masked(mask(text))


def shape_of_masked(masked: str) -> str:
    """The same of a text whose volatile values are masked already."""
    return _DIGITS.sub("#", masked)
