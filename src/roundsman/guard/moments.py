"""What point in time a model meant by a value, and how to say another one in the same way.

Read are ISO 8601 dates and times, Unix times (seconds, milliseconds, microseconds or nanoseconds by
their size, as numbers or text), and times from now (`now`, `now-1h`, `-1h`, `1h ago`). Nothing is
guessed: `yesterday`, `10:05` and small numbers are no points in time.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from roundsman.guard.numbers import as_number, as_seconds

_SCALES = ((1e11, 1), (1e14, 10**3), (1e17, 10**6), (1e20, 10**9))
"""Unix times below each of these count so many to the second."""
_EARLIEST = 1e8
"""March 1973: a smaller number is an offset, or a wish for everything."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RELATIVE = re.compile(r"(?P<now>now)?\s*(?:(?P<sign>[+-])\s*(?P<by>[^+-]+))?|(?P<ago>.+?)\s+ago")


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time: `at` in seconds since the epoch. `zoned` is False for a time of day without a
    zone: it can be compared with another such time only. `day` is a date without a time of day.
    `like` is the value it was read from, for `say`."""

    at: float
    like: Any
    zoned: bool = True
    day: bool = False

    def say(self, at: float, now: float, later: bool) -> Any:
        """Another point in time, written as this one was, on a whole second: that after `at` when
        `later`, else that before it.

        Raises:
            OverflowError: it has no date.
        """
        whole = math.ceil if later else math.floor
        number = as_number(self.like)
        if number is not None and number >= _EARLIEST:
            scaled = whole(at) * _scale(number)
            if isinstance(self.like, str):
                return str(scaled)
            return float(scaled) if isinstance(self.like, float) else scaled
        text = str(self.like).strip()
        if not text[:1].isdigit() or text.lower().endswith("ago"):
            return _from_now(at - now, text, later)
        moved = datetime.fromisoformat(text) + timedelta(seconds=whole(at) - self.at)
        written = moved.isoformat("T" if "T" in text.upper() else " ")
        return written.replace("+00:00", "Z") if text.upper().endswith("Z") else written


def as_moment(value: Any, now: float) -> Moment | None:
    """The point in time a value names, `now` being seconds since the epoch; None when it names none."""
    number = as_number(value)
    if number is not None and _EARLIEST <= number < _SCALES[-1][0]:
        return Moment(number / _scale(number), value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    offset = _offset(text.lower())
    if offset is not None:
        return Moment(now + offset, value)
    return _iso(text)


def _scale(number: float) -> int:
    return next((scale for below, scale in _SCALES if number < below), _SCALES[-1][1])


def _offset(text: str) -> float | None:
    """Seconds from now (below 0: before it) of a relative time."""
    match = _RELATIVE.fullmatch(text)
    if match is None or not text:
        return None
    if match["ago"]:
        ago = as_seconds(match["ago"])
        return None if ago is None else -ago
    if not match["by"]:
        return 0.0 if match["now"] else None
    if match["sign"] == "+" and not match["now"]:
        return None
    by = as_seconds(match["by"])
    return None if by is None else by if match["sign"] == "+" else -by


def _from_now(offset: float, like: str, later: bool) -> str:
    seconds = (math.ceil if later else math.floor)(offset)
    if like.lower().endswith("ago") and seconds <= 0:
        return f"{-seconds}s ago"
    if like.startswith("-") and seconds < 0:
        return f"{seconds}s"
    return "now" if seconds == 0 else f"now{seconds:+d}s"


def _iso(text: str) -> Moment | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    try:
        read = datetime.fromisoformat(text)
        zoned = read.tzinfo is not None
        at = (read if zoned else read.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        return None
    return Moment(at.total_seconds(), text, zoned, day is not None)
