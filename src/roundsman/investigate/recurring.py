"""Kinds of log lines that one piece of a long window calls new and another piece shows before.

A piece knows only its own lines, so its "0 lines before" holds for the piece. Results therefore also list
error lines that are there and did not move, and what they show is held against the other pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from roundsman.analysis.templates import LogSummary, Shift
from roundsman.investigate.entries import Moved
from roundsman.sources.log_lines import is_bad
from roundsman.sources.times import iso, parse_time

#: rows of one result
_ROWS = 16
#: how many times as frequent as elsewhere, and by how many lines, a kind of line must be (as for a surge)
_TIMES, _LINES = 4.0, 10.0
#: lines this much before a moment are before it, in seconds (times are written in full seconds)
_BEFORE = 1.0

#: so many lines must have been due before a kind of line is new by more than chance (1 in 100)
_DUE = 4.6

Key = tuple[str, str]


@dataclass(frozen=True)
class Unmoved:
    """Lines of one kind in one piece: since when, and how many a second."""

    first: float
    rate: float


@dataclass(frozen=True)
class Recurring:
    """What all pieces show of kinds of lines (service, template): where they are without having moved, when
    each was last seen, and when the first line of all was."""

    unmoved: Mapping[Key, Sequence[Unmoved]]
    last: Mapping[Key, float]
    began: float | None

    def held_against(self, one: Moved, span: tuple[float, float] | None) -> Moved | None:
        """The movement of a piece as all pieces together show it: as it is, as lines that came back far
        more often (`returned`), or None where they are as frequent elsewhere."""
        if span is None or one.row.get("moved") not in ("appeared", "surged"):
            return one
        key = (one.service, one.name)
        known = self.unmoved.get(key, ())
        earlier = [other.rate for other in known if other.first < one.at - _BEFORE]
        after, left = one.level("after") or 0.0, max(span[1] - one.at, 1.0)
        row = dict(one.row)
        if (last := self.last.get(key)) and last > (parse_time(row.get("last")) or last):
            row["last"] = iso(last)
        if earlier:
            expected = max(earlier) * left
            if after < _TIMES * expected or after - expected < _LINES:
                return None
            if row["moved"] == "appeared":
                row["moved"] = "returned"
        elif known and self.began is not None and row["moved"] == "appeared":
            rate = max(after / left, *(other.rate for other in known))
            if rate * (one.at - self.began) < _DUE:
                return None  # rare all along: it may as well have been silent by chance
        return replace(one, row=row)


def unmoved_rows(summary: LogSummary, moved: Iterable[Shift]) -> list[dict[str, Any]]:
    """Kinds of error lines and warnings in a piece that are neither new nor more frequent, errors and
    the rarest first: what is rare is silent long enough to seem new in the next piece."""
    shifted = {id(one.template) for one in moved}
    rest = [
        one
        for one in summary.templates
        if id(one) not in shifted and (is_bad(one.level) or one.level.upper().startswith("WARN"))
    ]
    rest.sort(key=lambda one: (not is_bad(one.level), one.count, one.service, one.template))
    return [
        {
            "service": one.service,
            "template": one.template,
            "first": iso(one.first),
            "last": iso(one.last),
            "count": one.count,
        }
        for one in rest[:_ROWS]
    ]


def span_of(result: Mapping[str, Any]) -> tuple[float, float] | None:
    """The piece a result is about."""
    query = result.get("query")
    if not isinstance(query, Mapping):
        return None
    start, end = parse_time(query.get("from")), parse_time(query.get("to"))
    return (start, end) if start is not None and end is not None and start < end else None


def recurring(results: Iterable[Any]) -> Recurring:
    """What results show as there and unmoved, by service and kind of line."""
    unmoved: dict[Key, list[Unmoved]] = {}
    last: dict[Key, float] = {}
    began: list[float] = []
    for result in results:
        span = span_of(result) if isinstance(result, Mapping) else None
        if span is None:
            continue
        start, end = span
        begin = parse_time(result.get("first_line"))
        if begin is not None:
            began.append(begin)
        for row in [*_rows(result, "unmoved"), *_rows(result, "templates")]:
            key = (str(row.get("service") or ""), str(row.get("template") or ""))
            seen = parse_time(row.get("last"))
            if seen is not None and row.get("moved") != "vanished":
                last[key] = max(seen, last.get(key, seen))
            first, count = parse_time(row.get("first")), row.get("count")
            if first is not None and isinstance(count, int):
                # telemetry may begin inside the piece; a single late line is no high rate
                rate = count / max(end - first, (end - start) / 2)
                unmoved.setdefault(key, []).append(Unmoved(first, rate))
    return Recurring(unmoved, last, min(began, default=None))


def _rows(result: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = result.get(name)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
