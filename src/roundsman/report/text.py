"""Text that came out of telemetry or a model, made safe to show.

Log lines and model answers are not ours: they may carry terminal escapes, characters that turn
the reading direction, halves of surrogate pairs, or a hundred thousand characters.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

# Whole escape sequences go, or their tails ("[31m") would be left as litter: CSI, then strings
# (OSC, DCS, APC, PM, SOS) up to their end, then the short forms. A string without an end loses
# only its introducer, so a lone "ESC ]" cannot hide the rest of a log line.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{0,8}[0-~]?"
)
_NEWLINES = re.compile(r"\r\n?|[\u2028\u2029\x85\x0b\x0c]")
# What is left of C0 and C1, the marks that turn text around, tags, zero-width and the byte order
# mark: none has a glyph, all can make a line read as something it is not.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(value: object, limit: int = 600, *, lines: bool = False) -> str:
    """The value as harmless text of at most `limit` characters and a note of what was left off.

    None is "", anything that is not text is written as JSON. With `lines` line breaks and tabs
    stay; otherwise every run of white space becomes one blank.
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else compact(value)
    total = len(text)
    # Only a head is looked at: cleaning a megabyte to show a line would be work for nothing.
    head = text[: limit * 4 + 4096]
    head = _NEWLINES.sub("\n", _ESCAPES.sub("", head))
    head = _SURROGATES.sub("\ufffd", _UNSEEN.sub("", head))
    head = head.strip("\n").expandtabs(4) if lines else " ".join(head.split())
    if len(head) > limit:
        return f"{head[:limit].rstrip()}… ({total:,} characters in all)"
    if total > limit * 4 + 4096:
        return f"{head}… ({total:,} characters in all)"
    return head


def compact(value: object) -> str:
    """JSON on one line, or the value's own text where JSON cannot hold it."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def as_list(value: object) -> list[Any]:
    """The value as a list if it is a list or tuple, else []."""
    return list(value) if isinstance(value, (list, tuple)) else []


def as_dicts(value: object) -> list[Mapping[str, Any]]:
    """The mappings in a list; a bare text in it becomes {"statement": text}."""
    return [
        item if isinstance(item, Mapping) else {"statement": item}
        for item in as_list(value)
        if isinstance(item, Mapping) or (isinstance(item, str) and item.strip())
    ]


def as_dict(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_number(value: object) -> float | None:
    """A finite number (also one written as text), else None; true and false are no numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_time(value: object) -> datetime | None:
    """ISO-8601 text, seconds since 1970 or a datetime as UTC; no zone means UTC; else None."""
    try:
        if isinstance(value, datetime):
            moment = value
        elif isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        else:
            return None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def show_time(value: object) -> str:
    """`2026-01-31 10:07:30 UTC` (seconds only when there are any), or the cleaned text itself."""
    moment = as_time(value)
    if moment is None:
        return clean(value, 60)
    return moment.strftime("%Y-%m-%d %H:%M:%S" if moment.second else "%Y-%m-%d %H:%M") + " UTC"


_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d{1,9})?Z")


def short_times(text: str, day: str) -> str:
    """Instants in a sentence as people say them: the clock alone for those of `day`, to a second."""

    def shown(hit: re.Match[str]) -> str:
        return f"{hit[2]} UTC" if hit[1] == day else f"{hit[1]} {hit[2]} UTC"

    return _INSTANT.sub(shown, text)


def show_number(value: object) -> str:
    """A count with thousands separators, "?" when it is not a number."""
    number = as_number(value)
    if number is None:
        return "?"
    return f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"


def plural(count: object, word: str) -> str:
    """`1 round`, `3 rounds`, `? rounds`."""
    return f"{show_number(count)} {word if as_number(count) == 1 else word + 's'}"


def joined(what: str, why: str, count: object, unit: str = "") -> str:
    """What was not seen or not done, how often or how much of it, and why."""
    number = as_number(count)
    times = f" ({show_number(number)}×)" if number is not None and number != 1 else ""
    if number is not None and unit:
        times = f" ({show_number(number)} {unit})"
    return f"{what or 'unnamed'}{times}" + (f": {why}" if why else "")
