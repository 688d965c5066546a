"""Tool layer: two arguments that are the ends of one stretch of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from roundsman.guard.account import Account
from roundsman.guard.events import ActionBegins, Event
from roundsman.guard.moments import Moment, as_moment
from roundsman.guard.names import skeleton
from roundsman.guard.numbers import shown
from roundsman.guard.rules.arguments import ARGUMENTS
from roundsman.guard.verdicts import Kind, Verdict

DAY = 86_400.0
SLACK = 0.001
"""Seconds that computing with points in time may be off by."""
_HELP = "an ISO 8601 time, Unix seconds, or 'now-1h'"


@dataclass(frozen=True, slots=True)
class Span:
    """`start` and `end` are names, or paths to one place; `most` is in seconds. `on_excess` is `clamp`,
    `refuse`, or None for what suits the tool's effect."""

    start: str
    end: str
    most: float
    on_excess: str | None = None

    @property
    def above(self) -> str:
        """The path of what holds both; empty: they are named wherever they stand."""
        return self.start.rpartition(".")[0].replace("[]", "")

    @property
    def names(self) -> tuple[str, str]:
        """Names of both ends, without the path."""
        return self.start.rpartition(".")[2], self.end.rpartition(".")[2]


class _Problem(Exception):
    """Why a call may not run."""


@dataclass(frozen=True, slots=True)
class SpanLimit:
    """A stretch of time that is longer than allowed is shortened, or the call refused.

    A clamp only narrows: an end after now becomes now, then the start moves up to the end. An end
    that is not given counts as the tool's default; where that is not known it is filled in from the
    other end. What names no point in time, a start after its end, and ends that cannot be compared
    (one with a time zone, one without) are refused.
    """

    spans: Mapping[str, tuple[Span, ...]]
    name: ClassVar[str] = "clamp"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = frozenset({ActionBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, ActionBegins)
        spans = self.spans.get(event.tool, ())
        args, changes = dict(event.args), list[dict[str, Any]]()
        try:
            if spans and event.unknown:
                names = ", ".join(shown(n) for n in event.unknown)
                why = f"{event.tool}: takes no argument {names}"
                return Verdict(Kind.REFUSE, ARGUMENTS, self.layer, why)
            for span in spans:
                args = _Judge(event, span, changes).judged(args)
        except (_Problem, OverflowError) as problem:
            return Verdict(Kind.REFUSE, self.name, self.layer, f"{event.tool}: {problem}")
        if not changes:
            return None
        why = "; ".join(f"{c['arg']} {shown(c['from'])} -> {c['to']!r}" for c in changes)
        changed = replace(event, args=args)
        return Verdict(
            Kind.AMEND, self.name, self.layer, why, event=changed, changes=tuple(changes)
        )


@dataclass(frozen=True, slots=True)
class _Judge:
    """One span of one call."""

    event: ActionBegins
    span: Span
    changes: list[dict[str, Any]]
    met: list[str] = field(default_factory=list)

    def judged(self, args: dict[str, Any]) -> dict[str, Any]:
        """The arguments with every such stretch of time in bounds.

        Raises:
            _Problem: the call may not run.
        """
        walked: dict[str, Any] = _walk(self, args, "", "")
        if not self.met and "[]" not in self.span.start:
            raise _Problem(f"{self.span.start} and {self.span.end} are not given; give both")
        return walked

    def here(self, value: Mapping[str, Any], path: str) -> bool:
        """Whether both ends belong into this mapping."""
        if self.span.above:
            return path == self.span.above
        return _has(value, self.span.names) or not (path or _holds(value, self.span.names))

    def fitted(self, value: dict[str, Any], place: str) -> dict[str, Any]:
        """This mapping with its stretch of time in bounds."""
        self.met.append(place)
        first, last = self.span.names
        for key in value:
            for name in (first, last):
                if key != name and skeleton(str(key)) == skeleton(name):
                    raise _Problem(f"{shown(key)} is not spelled {name!r}; write it so")
        start, end = self._read(value, first, place), self._read(value, last, place)
        if start is None and end is None:
            raise _Problem(f"{place}{first} and {place}{last} are not given; give both")
        if start is None or end is None:
            return self._filled(value, start, end, place)
        if start.zoned != end.zoned:
            raise _Problem(
                f"of {place}{first} and {place}{last} one has a time zone and one has none"
            )
        until = end.at + (DAY if end.day else 0.0)
        if start.at > until:
            raise _Problem(f"{place}{first} is after {place}{last}")
        if until - start.at <= self.span.most + SLACK:
            return value
        self._refuse(f"{place}{first} to {place}{last}", until - start.at)
        if start.day or end.day:
            raise _Problem(
                f"{place}{first} to {place}{last} is more than {self.span.most:g} seconds in days; "
                "give times"
            )
        now = self.event.at
        if end.zoned and start.at < now < end.at:
            value = self._put(value, last, end.say(now, now, later=False), place)
            until = now
        if until - start.at > self.span.most + SLACK:
            moved = start.say(until - self.span.most, now, later=True)
            value = self._put(value, first, moved, place)
        return value

    def _filled(
        self, value: dict[str, Any], start: Moment | None, end: Moment | None, place: str
    ) -> dict[str, Any]:
        first, last = self.span.names
        known = start or end
        assert known is not None
        missing = first if start is None else last
        self._refuse(f"{place}{missing} is not given, so the time", None)
        if known.day:
            raise _Problem(f"{place}{missing} is not given; give it")
        most, now = self.span.most, self.event.at
        at = known.at - most if start is None else known.at + most
        if start is not None and known.zoned and known.at < now:
            at = min(at, now)
        filled = known.say(at, now, later=start is None)
        return self._put(value, missing, filled, place)

    def _read(self, value: Mapping[str, Any], name: str, place: str) -> Moment | None:
        given = value.get(name)
        if given is not None:
            moment = as_moment(given, self.event.at)
            if moment is None:
                raise _Problem(f"{place}{name} is {shown(given)}; accepted: {_HELP}")
            return moment
        path = f"{self.span.above}.{name}" if self.span.above else name
        default = self.event.declared.get(path, {}).get("default")
        return None if default is None else as_moment(default, self.event.at)

    def _refuse(self, what: str, seconds: float | None) -> None:
        usual = "clamp" if self.event.effect in ("read", "poll") else "refuse"
        if (self.span.on_excess or usual) == "refuse":
            long = "may be longer" if seconds is None else f"is {seconds:g} seconds"
            raise _Problem(f"{what} {long}; accepted: at most {self.span.most:g}")

    def _put(self, value: dict[str, Any], name: str, new: Any, place: str) -> dict[str, Any]:
        self.changes.append({"arg": f"{place}{name}", "from": value.get(name), "to": new})
        return {**value, name: new}


def _walk(judge: _Judge, value: Any, path: str, place: str) -> Any:
    """The arguments with every stretch of time in bounds. Paths leave list indexes out."""
    if isinstance(value, Mapping):
        walked = {k: _walk(judge, v, *_below(path, place, k)) for k, v in value.items()}
        if judge.here(walked, path):
            return judge.fitted(walked, f"{place}." if place else "")
        return walked
    if isinstance(value, list | tuple) and any(isinstance(v, Mapping | list) for v in value):
        return [_walk(judge, v, path, f"{place}[{n}]") for n, v in enumerate(value)]
    return value


def _has(value: Mapping[str, Any], names: tuple[str, str]) -> bool:
    return any(skeleton(str(key)) == skeleton(name) for key in value for name in names)


def _holds(value: Any, names: tuple[str, str]) -> bool:
    """Whether one of these names stands anywhere inside."""
    if isinstance(value, Mapping):
        return _has(value, names) or any(_holds(v, names) for v in value.values())
    return isinstance(value, list | tuple) and any(_holds(v, names) for v in value)


def _below(path: str, place: str, key: Any) -> Iterator[str]:
    yield f"{path}.{key}" if path else str(key)
    yield f"{place}.{key}" if place else str(key)
