"""What number or duration a model meant by a value, or none. Nothing is guessed."""

from __future__ import annotations

import math
import re
from typing import Any

_PIECE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_SECONDS = {
    "ms": 0.001, "millisecond": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60,
    "minute": 60, "h": 3600, "hr": 3600, "hour": 3600, "d": 86400, "day": 86400, "w": 604800,
    "week": 604800,
}  # fmt: skip


def as_number(value: Any) -> float | int | None:
    """The number a model meant, or None: text digits of any script count, `True` and units do not.

    An integral float is an integer (JSON Schema's rule). NaN and infinities are no numbers.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        text = value.strip()
        try:
            return int(text)
        except ValueError:
            try:
                value = float(text)
            except ValueError:
                return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else value
    return None


def as_seconds(value: Any) -> float | None:
    """Seconds of a duration with units such as `4h`, `90 min` or `1h30m`, or None.

    A bare number has no unit and is none; nor is one with a sign, a decimal comma or a unit
    that is not known. `m` is minutes.
    """
    if not isinstance(value, str):
        return None
    text = value.strip().lower()
    total, at = 0.0, 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            return None
        unit = piece[2] if piece[2] in _SECONDS else piece[2].removesuffix("s")
        if unit not in _SECONDS:
            return None
        total, at = total + float(piece[1]) * _SECONDS[unit], piece.end()
    return total if text and math.isfinite(total) else None


def shown(value: Any) -> str:
    """The value for a message: short, and never an error itself."""
    if isinstance(value, int) and value.bit_length() > 512:
        return f"a number of {value.bit_length():,} bits"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int inside that is too long to print
        return f"a {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:117]}..."
