"""Does what a finding claims occur in the results it cites?

Numbers, times and names of the statement are looked for in the cited results. Wording is free; facts
are not. A claim that cites nothing is not grounded. Both the loop (is it progress?) and the verdict
(is it believed?) ask here.

* A number stands when a number of the results, rounded as a person rounds, is that number: 18 % for
  0.179, 5.3 s for 5310 ms, 1,024 for 1024. Another unit of another kind is another number.
* A time stands when a result has it: at the minute or second it is told, in UTC or in the zone it is
  written in; a clock time without a day may belong to any day.
* A name stands when it stands in a result as a whole: `node-1` is not in `node-12`, `cart-api` is in
  `cart-api-7d9f`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from roundsman.loop.facts import (
    Facts,
    Number,
    Time,
    facts_of,
    numbers_of,
    times_of,
    without_times,
)

#: how far a rounded number may be from the one it stands for, as a share of it
_ROUNDING, _ABOUT = 0.1, 0.1


@dataclass(frozen=True, slots=True)
class Grounding:
    """`ok`, and the facts of the statement that no cited result holds."""

    ok: bool
    missing: tuple[str, ...] = ()


def grounded(statement: str, results: Sequence[str]) -> Grounding:
    """Check a statement against the texts of the results it cites."""
    if not results:
        return Grounding(False, ("no result cited",))
    missing = ungrounded(statement, results)
    return Grounding(not missing, tuple(missing))


def ungrounded(statement: str, results: Sequence[str]) -> list[str]:
    """Times, names and numbers of a statement that none of the given result texts holds."""
    return _seen("\n".join(results)).missing(facts_of(statement))


class Seen:
    """The facts of a text, ready to be asked."""

    def __init__(self, text: str) -> None:
        self.text = re.sub(r"\s+", " ", text.casefold().replace('\\"', '"').replace("\\\\", "\\"))
        times, days = times_of(text)
        self.days = {*days, *(day for time in times if (day := time.utc()[0]))}
        self.utc = {told for time in times for told in _told(*time.utc(), time.exact)}
        self.local = {told for time in times for told in _told(time.day, time.clock, time.exact)}
        self._by: dict[str, list[float]] = {}
        for number in numbers_of(without_times(text)):
            self._add(number.kind, number.value * number.factor)
            self._add("raw", number.value)
            if not number.kind and number.step < 1:
                self._add("fraction", number.value)
        for values in self._by.values():
            values.sort()
        self.units = {word for word in ("ms", "milliseconds", "bytes") if _whole(word, self.text)}

    def _add(self, kind: str, value: float) -> None:
        self._by.setdefault(kind, []).append(value)

    def missing(self, claimed: Facts) -> list[str]:
        """The facts of a statement that this text does not have, each once."""
        missing = [time.text for time in claimed.times if not self.has_time(time)]
        missing += [day for day in claimed.days if day not in self.days]
        missing += [name for name in claimed.names if not self.has_name(name)]
        missing += [number.text for number in claimed.numbers if not self.has_number(number)]
        return list(dict.fromkeys(missing))

    def has_time(self, time: Time) -> bool:
        """Whether a result has this time, to the precision it is told in."""
        day, clock = time.utc()
        step = 1 if time.exact else 60
        wanted = (day, step, clock // step)
        return wanted in self.utc or (time.zone is None and wanted in self.local)

    def has_name(self, name: str) -> bool:
        """Whether a result has this name as a whole, in any case."""
        return _whole(re.sub(r"\s+", " ", name.casefold()).rstrip(".,;:"), self.text)

    def has_number(self, number: Number) -> bool:
        """Whether a number of the results is this one, rounded as a person rounds."""
        return any(self._near(number, kind, scale) for kind, scale in self._scales(number))

    def _scales(self, number: Number) -> list[tuple[str, float]]:
        """(kind of the number seen, what to multiply it with to get to the unit claimed)."""
        if not number.kind:  # 17 stands for 17 ms as well, 0.18 for 18 %, 1200 for 1.2k
            return [("raw", 1.0), ("share", 1.0), ("count", 1.0)]
        if number.kind == "share":
            return [("share", 100.0), ("", 1.0), ("fraction", 100.0)]
        scales = [(number.kind, 1.0 / number.factor), ("", 1.0)]
        if number.kind == "count":
            scales.append(("", 1.0 / number.factor))
        if number.kind == "time" and self.units & {"ms", "milliseconds"}:
            scales.append(("", 1e-3 / number.factor))
        if number.kind == "size":  # GB and GiB are told alike, and M for either
            power = round(log(number.factor, 1000))
            decimal, binary = 1000.0**power, 1024.0**power
            scales += [("size", 1.0 / binary), ("size", 1.0 / decimal), ("count", 1.0 / decimal)]
            if "bytes" in self.units:
                scales += [("", 1.0 / decimal), ("", 1.0 / binary)]
        return scales

    def _near(self, number: Number, kind: str, scale: float) -> bool:
        values = self._by.get(kind, [])
        half = 0.5 * number.step
        slack = max(half, abs(number.value) * _ABOUT) if number.about else half
        targets = [number.value] if number.signed else [number.value, -number.value]
        for target in targets:
            low, high = (target - slack) / scale, (target + slack) / scale
            edge = 1e-9 * max(abs(low), abs(high), 1e-12)
            for seen in values[bisect_left(values, low - edge) : bisect_right(values, high + edge)][
                :50
            ]:
                if _rounds_to(seen * scale, target, number, slack):
                    return True
        return False


def _rounds_to(seen: float, claimed: float, number: Number, slack: float) -> bool:
    """Whether a person rounds what was seen to what is claimed: half up, or half to even."""
    gap = abs(seen - claimed)
    if gap <= 1e-9 * max(1.0, abs(claimed)):
        return True
    if number.about:
        return gap <= slack
    if gap > _ROUNDING * abs(seen):
        return False
    half = 0.5 * number.step
    if abs(gap - half) > 1e-6 * half + 1e-15 * abs(claimed):
        return gap < half
    away = abs(claimed) > abs(seen)
    even = round(claimed / number.step) % 2 == 0
    return away or even


def _told(day: str | None, clock: int, exact: bool) -> set[tuple[str | None, int, int]]:
    """How a time may be told: with its day or without, to the second or the minute."""
    told = {(on, step, clock // step) for on in (day, None) for step in (1, 60)}
    if exact and clock % 60 >= 30:  # to the nearest minute
        told |= {(on, 60, clock // 60 + 1) for on in (day, None)}
    return told


def _whole(name: str, text: str) -> bool:
    """Whether a name stands in a text as a whole; a longer name of the same thing counts."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at] if at else "", text[at + len(name) : at + len(name) + 2]
        joined = before.isalnum() and name[:1].isalnum()
        more = after[:1].isalnum() and name[-1:].isalnum()
        version = name[-1:].isdigit() and after[:1] == "." and after[1:].isdigit()
        if not (joined or more or version):
            return True
        at = text.find(name, at + 1)
    return not name


@lru_cache(maxsize=32)
def _seen(text: str) -> Seen:
    return Seen(text)
