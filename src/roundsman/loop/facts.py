"""The facts of a text: times, names and numbers, in the forms people and machines write them.

A time is kept with what is known of it: day, clock, zone. A number is kept with its written decimals and
its unit, so that it can be compared as a person would read it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_ZONES = r"Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b"
_TIME = re.compile(
    rf"(?<![\w:.])(?:(?P<day>\d{{4}}-\d\d-\d\d)(?:[T ]|,? at ))?"
    rf"(?P<h>[01]?\d|2[0-3]):(?P<m>[0-5]\d)(?::(?P<s>[0-5]\d)(?:[.,]\d{{1,9}})?)?(?!:?\d)"
    rf"(?:\s?(?P<half>[aApP])\.?[mM]\b\.?)?(?:\s?(?P<zone>{_ZONES}))?(?!\w)"
)
_DAY = re.compile(r"(?<![\d-])\d{4}-\d\d-\d\d(?![\d-])")
_EPOCH = re.compile(r"(?<![\w.])1[0-9]\d{8}(?:\.\d+|\d{3})?(?![\w])")
_QUOTED = re.compile(r"`([^`\n]{1,200})`|\"([^\"\n]{2,300})\"|“([^”\n]{2,300})”")
_NAME = re.compile(
    r"(?<![\w./-])/?(?:[A-Za-z_]\w*(?:[-_./:]+\w+)+|[A-Za-z]+\d\w*|\dxx|[A-Z][A-Z0-9_]{3,}"
    r"|[A-Z]\w*(?:Error|Exception|Killed|BackOff|Failure|Failed|Timeout|Exceeded|Refused|Evicted))(?!\w)"
)
_PARTS = re.compile(r"[-./:_]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: words a hyphen joins in plain English; what they make names nothing
_PREFIXES = _words(
    "anti co ever half mid mis multi near non over post pre re self semi so sub un under well"
)
_SUFFIXES = _words(
    "back based bound by called caused down driven end ended ever fast free full heavy high "
    "in induced level like likely limit limited long low made off on only out over party per "
    "range related running short side sized specific step term through time to up wide yet"
)
_PLAIN = _words(
    "and/or either/or e.g i.e n/a yes/no true/false http https json utc gmt null none true "
    "false post todo time note"
)
_UNITS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("ns", "nanoseconds"), ("time", 1e-9)),
    **dict.fromkeys(("us", "µs", "microseconds"), ("time", 1e-6)),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), ("time", 1e-3)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("time", 1.0)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), ("time", 60.0)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("time", 3600.0)),
    **dict.fromkeys(("d", "day", "days"), ("time", 86400.0)),
    **dict.fromkeys(("B", "byte", "bytes"), ("size", 1.0)),
    **{f"{p}B": ("size", 1000.0**n) for n, p in enumerate("kMGTP", 1)},
    "KB": ("size", 1000.0),
    **{f"{p}iB": ("size", 1024.0**n) for n, p in enumerate("KMGTP", 1)},
    **{f"{p}i": ("size", 1024.0**n) for n, p in enumerate("KMGTP", 1)},
    **dict.fromkeys(("%", "percent", "pct"), ("share", 0.01)),
    **dict.fromkeys(("k", "K", "thousand"), ("count", 1e3)),
    **dict.fromkeys(("M", "million"), ("count", 1e6)),
    **dict.fromkeys(("G", "T"), ("size", 0.0)),
}
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_NUMBER = re.compile(
    r"(?P<sign>(?:(?<=[\s(\[=:,])|^)[-−])?(?<![\w.])"
    r"(?P<body>\d{1,3}(?:[,_\u00a0\u202f\u2009]\d{3})+(?![\d])|\d+)(?P<rest>\.\d+)?(?P<power>[eE][-+]?\d{1,3})?"
    rf"(?:[ \u00a0\u202f]?(?P<unit>{_UNIT})(?![\w%])|x\b)?(?![\w])(?!\.\d)"
)
_ABOUT = re.compile(r"(?:about|around|roughly|approx\w*\.?|nearly|almost|some|~|≈|ca\.?)\s*$", re.I)


@dataclass(frozen=True, slots=True)
class Time:
    """A time as written. `clock` is seconds of the day; `exact`: whether seconds were written."""

    text: str
    day: str | None
    clock: int
    exact: bool
    zone: int | None

    def utc(self) -> tuple[str | None, int]:
        """(day, seconds of the day) in UTC; as written when the zone is not known."""
        if not self.zone:
            return self.day, self.clock
        seconds = self.clock - self.zone
        if self.day is None:
            return None, seconds % 86400
        moment = datetime.fromisoformat(self.day) + timedelta(seconds=seconds)
        return moment.strftime("%Y-%m-%d"), seconds % 86400


@dataclass(frozen=True, slots=True)
class Number:
    """A number as written, without its unit and with it; its value in that unit, the size of its last
    written digit, the unit, what it measures and the factor to that."""

    text: str
    whole: str
    value: float
    step: float
    unit: str
    kind: str
    factor: float
    about: bool
    signed: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What a text states, each in order of appearance."""

    times: tuple[Time, ...]
    days: tuple[str, ...]
    names: tuple[str, ...]
    numbers: tuple[Number, ...]


def facts_of(text: str) -> Facts:
    """Times, days, names and numbers of a statement."""
    times, rest = _take_times(text)
    days = tuple(_DAY.findall(rest))
    rest = _DAY.sub(" ; ", rest)
    names: list[str] = []
    for match in _QUOTED.finditer(rest):
        names.append(next(group for group in match.groups() if group is not None))
    rest = _QUOTED.sub(" ; ", rest)
    for match in _NAME.finditer(rest):
        if _is_name(match[0]):
            names.append(match[0])
    rest = _NAME.sub(lambda m: " ; " if _is_name(m[0]) else m[0], rest)
    unique = tuple(dict.fromkeys(names))
    return Facts(times, days, unique, numbers_of(rest))


def times_of(text: str) -> tuple[tuple[Time, ...], tuple[str, ...]]:
    """(times, days) of a result, epoch numbers among them."""
    times, rest = _take_times(text)
    days = [*_DAY.findall(rest), *(time.day for time in times if time.day)]
    epochs = []
    for match in _EPOCH.finditer(text):
        seconds = float(match[0]) / (1000 if len(match[0].split(".")[0]) == 13 else 1)
        moment = datetime.fromtimestamp(seconds, UTC)
        clock = moment.hour * 3600 + moment.minute * 60 + moment.second
        epochs.append(Time(match[0], moment.strftime("%Y-%m-%d"), clock, True, 0))
        days.append(epochs[-1].day or "")
    return (*times, *epochs), tuple(days)


def without_times(text: str) -> str:
    """The text with its times and days taken out, so that their digits are no numbers."""
    return _DAY.sub(" ; ", _take_times(text)[1])


def _take_times(text: str) -> tuple[tuple[Time, ...], str]:
    times: list[Time] = []

    def take(match: re.Match[str]) -> str:
        hour = int(match["h"])
        if match["half"]:
            if not 1 <= hour <= 12:
                return match[0]
            hour = hour % 12 + (12 if match["half"] in "pP" else 0)
        if match["day"] and not _is_day(match["day"]):
            return match[0]
        clock = hour * 3600 + int(match["m"]) * 60 + int(match["s"] or 0)
        zone = match["zone"]
        offset = None if zone is None else _offset(zone)
        times.append(Time(match[0].strip(), match["day"], clock, match["s"] is not None, offset))
        return " ; "

    rest = _TIME.sub(take, text)
    return tuple(times), rest


def _offset(zone: str) -> int:
    if zone[0] not in "+-":
        return 0
    seconds = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return -seconds if zone[0] == "-" else seconds


def _is_day(text: str) -> bool:
    try:
        return bool(datetime.fromisoformat(text).replace(tzinfo=UTC))
    except ValueError:
        return False


def _is_name(word: str) -> bool:
    """Whether a joined or marked word names something, and is not two words of plain English."""
    lower = word.casefold().rstrip(".")
    if lower in _PLAIN:
        return False
    parts = [part for part in _PARTS.split(lower) if part]
    if (
        "-" not in word
        or any(mark in word for mark in "_./:")
        or not lower.replace("-", "").isalpha()
    ):
        return True
    return not (parts[0] in _PREFIXES or parts[-1] in _SUFFIXES)


def numbers_of(text: str) -> tuple[Number, ...]:
    """Numbers of a text with their units; digits inside words are none."""
    found = []
    for match in _NUMBER.finditer(text):
        digits = re.sub(r"[^\d]", "", match["body"]) + (match["rest"] or "")
        power = match["power"] or ""
        if len(digits) > 300 or abs(int(power[1:] or 0)) > 300:
            continue
        value = float(digits + power)
        if value == float("inf"):
            continue
        decimals = len(match["rest"] or ".") - 1
        step = 10.0 ** (int(power[1:] or 0) - decimals if power else -decimals)
        unit = match["unit"] or ""
        kind, factor = _UNITS.get(unit, ("", 1.0))
        if unit in ("G", "T"):  # 8G is bytes of one kind or the other
            kind, factor = "size", 1000.0 ** ("kMGT".index(unit) + 1)
        signed = bool(match["sign"])
        about = _ABOUT.search(text[max(0, match.start() - 20) : match.start()]) is not None
        value = -value if signed else value
        text = (match["sign"] or "") + match["body"] + (match["rest"] or "") + power
        found.append(Number(text, match[0].strip(), value, step, unit, kind, factor, about, signed))
    return tuple(found)
