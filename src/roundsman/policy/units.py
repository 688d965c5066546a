"""Durations with units, and numbers that are not booleans."""

from __future__ import annotations

import math
import re
from typing import Any

DURATION_PATTERN = r"^(?=[0-9])([0-9]+h)?([0-9]+m)?([0-9]+(\.[0-9]+)?s)?([0-9]+ms)?$"
"""What a duration looks like in a file: hours, minutes, seconds, milliseconds, in that order."""

_DURATION = re.compile(
    r"(?=[0-9])(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,15}(?:\.[0-9]{1,9})?)s)?"
    r"(?:([0-9]{1,9})ms)?",
    re.ASCII,
)
_BARE = re.compile(r"[0-9]+(\.[0-9]+)?")

DURATION_HELP = "a duration above zero with units, such as '90s', '2m' or '1h30m'"


def parse_duration(text: str) -> float:
    """Seconds of a duration such as `2m`, `90s`, `1h30m`, `1.5s` or `50ms`.

    Raises ValueError with the way out: for a bare number the unit is missing.
    """
    text = text.strip()
    if _BARE.fullmatch(text):
        raise ValueError(f"has no unit; write '{text}s' for seconds or '{text}m' for minutes")
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"accepted: {DURATION_HELP}")
    hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
    total = hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    if total <= 0:
        raise ValueError(f"accepted: {DURATION_HELP}")
    return total


def format_duration(seconds: float) -> str:
    """The shortest text that `parse_duration` reads back to the same number of seconds."""
    whole, rest = divmod(seconds, 60)
    if rest != int(rest):
        exact = f"{seconds:.9f}".rstrip("0").rstrip(".")
        return f"{exact}s"
    hours, minutes = divmod(int(whole), 60)
    parts = ((hours, "h"), (minutes, "m"), (int(rest), "s"))
    return "".join(f"{n}{unit}" for n, unit in parts if n)


def check_number(value: Any) -> int | float:
    """A finite number, kept as int or float as it was written; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("accepted: a number")
    return value
