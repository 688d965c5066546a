"""Points in time as telemetry writes them, turned into seconds since 1970 UTC.

Every time inside the sources is a float of epoch seconds; `iso` is the one way back to text.
A time without a zone is taken as UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T _](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?"
    r"\s?(Z|UTC|GMT|[+-]\d\d:?\d\d|[+-]\d\d(?![\d:]))?"
)
_APACHE = re.compile(r"\[(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d)(?:\s([+-]\d{4}))?\]")
_NGINX = re.compile(r"(\d{4})/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_SYSLOG = re.compile(r"([A-Z][a-z]{2})\s+(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
# These stand at the very head of a line; further in, such a date is a part of the message.
_FRONT = r"\W{0,3}(?:\d+:[A-Z] |[A-Z][a-z]{2,8},? +)?"
_NAMED_MONTH = re.compile(
    _FRONT + r"(\d{1,2})[ -]([A-Z][a-z]{2})[ -](\d{4}) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"(?: (Z|UTC|GMT|[+-]\d{4}))?"
)
_YEAR_LAST = re.compile(
    _FRONT + r"([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (?:(UTC|GMT) )?(\d{4})"
    r"(?: ([+-]\d{4}))?(?!\d)"
)
_COMPACT = re.compile(
    r"\W{0,3}(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?!\w)"
)
_EPOCH = re.compile(r"(?<![\w.])(\d{10}(?:\d{3}|\d{6}|\d{9})?(?:\.\d{1,9})?)(?![\w])")
_MONTHS = {
    name: number
    for number, name in enumerate(
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(),  # noqa: SIM905
        start=1,
    )
}
#: 2200-01-01: what is later is no time of an incident
LATEST = 7_258_118_400.0
#: how much of a line is searched for its time; further in, numbers belong to the message
_HEAD = 160


def _seconds(
    date: tuple[int, int, int], clock: tuple[int, int, int], fraction: str | None, zone: str | None
) -> float | None:
    whole = _whole_seconds(date, clock, zone)
    return whole + float(f"0.{fraction}") if whole is not None and fraction else whole


@lru_cache(maxsize=4096)  # neighbouring lines share their second
def _whole_seconds(
    date: tuple[int, int, int], clock: tuple[int, int, int], zone: str | None
) -> float | None:
    if not 1971 <= date[0] < 2200:
        return None  # 0001-01-01, 1970-01-01 and 9999-12-31 are written for "no time" and "never"
    offset = timedelta()
    if zone and zone not in ("Z", "UTC", "GMT"):
        digits = zone[1:].replace(":", "")
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
        if zone[0] == "-":
            offset = -offset
    try:
        # a leap second is written :60; the second after is the closest there is
        moment = datetime(*date, clock[0], clock[1], min(clock[2], 59), tzinfo=timezone(offset))
    except ValueError:
        return None
    return moment.timestamp()


def from_number(value: float) -> float | None:
    """Epoch seconds, milli-, micro- or nanoseconds (told apart by size) as seconds."""
    if not 0 < value < 1e20:
        return None
    for scale, limit in ((1.0, 1e11), (1e3, 1e14), (1e6, 1e17), (1e9, 1e20)):
        if value < limit:
            return value / scale if 1e8 < value / scale < LATEST else None
    return None


def find_time(line: str, year: int | None = None) -> tuple[float, int] | None:
    """The time at the head of a log line and where its text ends, or None.

    Known: ISO 8601 (also with a blank, comma fractions and a zone name, and without separators),
    Apache, nginx, a day with the month's name (mail, HTTP, Tomcat, Redis), `date` and `git log`,
    syslog (no year: `year`, else this is not a time) and epoch seconds to nanoseconds.
    """
    head = line[:_HEAD]
    if match := _ISO.search(head):
        y, mo, d, h, mi = (int(part) for part in match.groups()[:5])
        at = _seconds((y, mo, d), (h, mi, int(match[6] or 0)), match[7], match[8])
        return None if at is None else (at, match.end())
    if match := _APACHE.search(head):
        clock = (int(match[4]), int(match[5]), int(match[6]))
        date = (int(match[3]), _MONTHS.get(match[2], 0), int(match[1]))
        at = _seconds(date, clock, None, match[7])
        return None if at is None else (at, match.end())
    if match := _NGINX.search(head):
        y, mo, d, h, mi, s = (int(part) for part in match.groups()[:6])
        at = _seconds((y, mo, d), (h, mi, s), match[7], None)
        return None if at is None else (at, match.end())
    if match := _NAMED_MONTH.match(head):
        date = (int(match[3]), _MONTHS.get(match[2], 0), int(match[1]))
        clock = (int(match[4]), int(match[5]), int(match[6]))
        at = _seconds(date, clock, match[7], match[8])
        return None if at is None else (at, match.end())
    if match := _YEAR_LAST.match(head):
        date = (int(match[7]), _MONTHS.get(match[1], 0), int(match[2]))
        clock = (int(match[3]), int(match[4]), int(match[5]))
        at = _seconds(date, clock, None, match[8] or match[6])
        return None if at is None else (at, match.end())
    if match := _COMPACT.match(head):
        y, mo, d, h, mi, s = (int(part) for part in match.groups()[:6])
        at = _seconds((y, mo, d), (h, mi, s), match[7], match[8])
        return None if at is None else (at, match.end())
    if year is not None and (match := _SYSLOG.search(head)):
        date = (year, _MONTHS.get(match[1], 0), int(match[2]))
        clock = (int(match[3]), int(match[4]), int(match[5]))
        at = _seconds(date, clock, match[6], None)
        return None if at is None else (at, match.end())
    if match := _EPOCH.search(head[:48]):
        at = from_number(float(match[1]))
        return None if at is None else (at, match.end())
    return None


def parse_time(value: object, year: int | None = None) -> float | None:
    """A time in a field of its own (number, text, datetime) as epoch seconds, or None."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return from_number(float(value))
    if isinstance(value, datetime):
        at = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        return at if 1e8 < at < LATEST else None
    text = str(value).strip()
    try:
        return from_number(float(text))
    except ValueError:
        pass
    found = find_time(text, year)
    if found:
        return found[0]
    day = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", text)
    return _seconds((int(day[1]), int(day[2]), int(day[3])), (0, 0, 0), None, None) if day else None


def iso(at: float) -> str:
    """Epoch seconds as ISO 8601 in UTC; milliseconds only where there are some."""
    moment = datetime.fromtimestamp(round(at, 3), UTC)
    if moment.microsecond:
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
