"""What all log servers have in common: a question is read evenly along its window, and bounded.

The window is cut into slices. Each gives its oldest lines up to its share; of what lies behind them the
lines that look like errors are asked for by themselves, and the rest is counted by the server.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from roundsman.sources.base import BaseSource
from roundsman.sources.fields import first_of
from roundsman.sources.headers import Header
from roundsman.sources.http import Http, HttpFailed
from roundsman.sources.log_lines import parse_line
from roundsman.sources.patience import checkpoint
from roundsman.sources.protocols import LogLine, Unseen, Window
from roundsman.sources.times import parse_time

#: lines one question reads, in how many slices of its window, and of each slice's errors beyond
MOST_LINES, SLICES, MOST_BAD = 48_000, 12, 1_000
#: lines of one page, and seconds of one question
PAGE, SECONDS = 1_000, 45.0
#: words of lines that look like errors
BAD = ("error", "fatal", "panic", "critical", "exception", "failed", "refused", "timeout")
SERVICE = (
    "service", "service_name", "service.name", "app", "app_kubernetes_io_name", "container",
    "container_name", "kubernetes.container.name", "kubernetes.container_name", "job", "component",
)  # fmt: skip
_TEXT = ("message", "_msg", "msg", "log", "body", "text", "event.original")
_LEVEL = ("level", "log.level", "severity", "severity_text", "detected_level", "lvl", "loglevel")
_TIME = ("@timestamp", "_time", "timestamp", "time", "ts")


class Asked(NamedTuple):
    """Lines that hold a text and belong to a service (parts of it, any case); `bad`: look like errors."""

    service: str = ""
    text: str = ""
    bad: bool = False


class LogServer(BaseSource):
    """Satisfies Source with the lines of one server; each kind says how a piece is read and counted."""

    def __init__(self, url: str, window: Window, headers: Iterable[Header], option: str) -> None:
        super().__init__(["logs"])
        self.http = Http(url, headers, option)
        self.url, self._window = self.http.url, window
        self._where = f"logs of {self.url}"

    def read(self, asked: Asked, window: Window, most: int) -> Iterator[LogLine]:
        """Up to so many lines of a piece of time, oldest first, page by page."""
        raise NotImplementedError

    def count(self, asked: Asked, window: Window) -> int | None:
        """How many there are, or None when the server does not say."""
        raise NotImplementedError

    def lines(self, window: Window, service: str = "", text: str = "") -> Iterator[LogLine]:
        """Lines of the window, slice by slice; what was left out is counted in `unseen`."""
        asked = Asked(service, text)
        end = time.monotonic() + SECONDS
        left_out, unknown, broken = 0, 0, ""
        pieces = list(_slices(window))
        for number, piece in enumerate(pieces):
            checkpoint()
            if time.monotonic() > end:
                why = f"parts of the window not read in {SECONDS:.0f} s, of {len(pieces)}"
                self.note(
                    Unseen(
                        self._where,
                        why,
                        len(pieces) - number,
                        "parts of the window not read to their end",
                    )
                )
                break
            try:
                left = yield from self._piece(asked, piece)
            except HttpFailed as error:
                if number == 0:
                    raise
                broken = str(error)
                why = f"broke off: {broken}"
                self.note(
                    Unseen(
                        self._where,
                        why,
                        len(pieces) - number,
                        "parts of the window not read to their end",
                    )
                )
                break
            unknown += left is None
            left_out += left or 0
        share = (
            f"over the {MOST_LINES:,} lines a question reads: the oldest of each of {SLICES} parts "
        )
        share += "of the window were read, and those of the rest that look like errors"
        if left_out:
            self.note(Unseen(self._where, share, left_out))
        if unknown:
            self.note(Unseen(self._where, share, unknown, "parts with more"))

    def _piece(self, asked: Asked, piece: Window) -> Generator[LogLine, None, int | None]:
        """Its lines; returns how many were left out, None when nobody knows."""
        share, read, last = MOST_LINES // SLICES, 0, piece.start
        for line in self.read(asked, piece, share):
            checkpoint()
            read, last = read + 1, line.at
            if _fits(line, asked, piece):
                yield line
        if read < share:
            return 0
        extra = 0
        if not asked.text:
            rest = Window(min(last, piece.end), piece.end)
            for line in self.read(asked._replace(bad=True), rest, MOST_BAD):
                if line.at > last and _fits(line, asked, piece):
                    extra += 1
                    yield line
        try:
            total = self.count(asked, piece)
        except HttpFailed:
            total = None
        return None if total is None else max(0, total - read - extra)


def _slices(window: Window) -> Iterator[Window]:
    width = (window.end - window.start) / SLICES
    for number in range(SLICES):
        start = window.start + number * width
        last = number == SLICES - 1
        # ends are included: the next slice begins right behind
        yield Window(start, window.end if last else start + width - 1e-6)


def _fits(line: LogLine, asked: Asked, window: Window) -> bool:
    return (
        window.holds(line.at)
        and asked.service.lower() in line.service.lower()
        and asked.text.lower() in line.raw.lower()
    )


def line_of(raw: str, at: float | None, fields: Mapping[str, Any]) -> LogLine | None:
    """A line a server holds, with what it knows of it besides; None without a time.

    What the server says of time, service and level goes before what the line says.
    """
    year = time.gmtime(at).tm_year if at is not None else 1970
    found = parse_line(raw, "", year)
    known = at if at is not None else parse_time(first_of(fields, _TIME))
    if known is None and found is None:
        return None
    service = str(first_of(fields, SERVICE) or (found.service if found else ""))
    level = str(first_of(fields, _LEVEL) or (found.level if found else "")).upper()[:16]
    level = "" if level == "UNKNOWN" else level
    if not level and (word := _LEVEL_WORD.search(raw[:120])):
        level = word[1].upper()
    text = found.text if found else raw
    return LogLine(known if known is not None else found.at, service, level, text, raw)  # type: ignore[union-attr]


_LEVEL_WORD = re.compile(r"\b(FATAL|PANIC|CRITICAL|ERROR|WARNING|WARN|INFO|DEBUG)\b", re.IGNORECASE)


def record_line(record: Mapping[str, Any], at: float | None = None) -> LogLine | None:
    """A document of fields as a line; nested objects are read by dotted names."""
    flat = dict(_flat(record))
    text = first_of(flat, _TEXT)
    return line_of(str(text) if text is not None else str(dict(record))[:2000], at, flat)


def _flat(record: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, Mapping) and depth < 4:
            yield from _flat(value, f"{prefix}{key}.", depth + 1)
        elif isinstance(value, str | int | float):
            yield f"{prefix}{key}", value
