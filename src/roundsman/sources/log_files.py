"""Log files of an incident folder, streamed: a file may be far larger than memory.

Large files in time order are entered by binary search over byte offsets. A question with a text or a
service searches every byte and parses the lines that may match. One without parses what the budget
allows, evenly along the file, and searches the rest for lines that look like errors. What was not
read is counted as unseen.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from roundsman.sources.extents import FAR, LATE
from roundsman.sources.log_lines import parse_line
from roundsman.sources.log_reading import LOOK_BACK, SLACK, Asked, Reading, Report, edge_time, whole
from roundsman.sources.log_scan import (
    CHUNK,
    UNREADABLE,
    Chunk,
    gzip_chunks,
    open_plain,
    plain_chunks,
)
from roundsman.sources.protocols import LogLine, Unseen, Window
from roundsman.sources.walking import why_not

#: bytes parsed for one question; some ten seconds
BYTE_BUDGET = 128 * 1024 * 1024
#: bytes searched for one question; some twenty seconds
SCAN_BUDGET = 8 * 1024**3
#: seconds one question may take; two of them fit into a round
SECONDS = 45.0
_SEARCH_FROM = 32 * 1024 * 1024


def log_service(path: Path) -> str:
    """The service a log file belongs to, by its name: `api.log.1.gz` -> `api`."""
    name = path.name
    for ending in (".gz", ".ndjson", ".jsonl", ".json", ".log", ".txt"):
        name = name.removesuffix(ending)
    name = name.rstrip("0123456789").rstrip(".-_") if ".log" in name else name
    return name.removesuffix(".log")


class LogFile:
    """One log file, plain or gzip, of any size.

    `budget` and `scan` are the bytes of it that one question may parse and search, `seconds` the time.
    """

    def __init__(
        self,
        path: Path,
        budget: int = BYTE_BUDGET,
        scan: int = SCAN_BUDGET,
        seconds: float = SECONDS,
    ) -> None:
        self.path = path
        self.service = log_service(path)
        self.packed = path.suffix == ".gz"
        self._budget = budget
        self._scan = scan
        self._seconds = seconds
        self._ordered: bool | None = None

    def lines(
        self, window: Window, text: str, report: Report, service: str = ""
    ) -> Iterator[LogLine]:
        """Lines of the window that hold `text` and belong to `service` (parts of it, any case).

        `report` hears what was not read.
        """
        asked = Asked(window, text, service)
        reading = Reading(self.path.name, self.service, asked, report, self._budget, self._seconds)
        try:
            if self.packed:
                yield from reading.of(self._unpacked(report))
                return
            with open_plain(self.path) as file:
                begin, end = self._range(file, window)
                stride = -(-(end - begin) // max(CHUNK, self._scan))
                if stride > 1:
                    why = f"over the search budget: one MB in {stride} was searched"
                    left = (end - begin) * (stride - 1) // stride
                    report(Unseen(self.path.name, why, left, "bytes not looked at"))
                yield from reading.of(plain_chunks(file, begin, end, max(1, stride)))
        except PermissionError as error:
            report(Unseen(whole(self.path.name), why_not(error)))
        except UNREADABLE as error:
            name = self.path.name if reading.dated else whole(self.path.name)
            report(Unseen(name, f"cannot be read to its end: {error}"[:200]))

    def extent(self, report: Report) -> tuple[float, float] | None:
        """Times of the first and the last line that have one; a gzip file is unpacked for it.

        A last line dated far after lines all along the file is left out, and `report` hears of it.
        """
        try:
            if self.packed:
                return self._unpacked_extent()
            with open_plain(self.path) as file:
                size = self.path.stat().st_size
                first = self._time_at(file, 0, _year())
                last = None
                for back in (4096, 65536, CHUNK):
                    file.seek(max(0, size - back))
                    last = edge_time(file.read(), _year(), last=True, most=CHUNK)
                    if last is not None:
                        break
                along = [self._time_at(file, size * part // 8, _year()) for part in range(8)]
                known = [at for at in along if at is not None]
                if last is not None and len(known) > 4 and last - max(known) > FAR:
                    last = self._last_before(file, size, max(known) + FAR) or max(known)
                    report(Unseen(self.path.name, f"its last line is {LATE}"))
        except OSError as error:
            report(Unseen(whole(self.path.name), why_not(error)))
            return None
        return None if first is None or last is None else (min(first, last), max(first, last))

    def _last_before(self, file: BinaryIO, size: int, limit: float) -> float | None:
        file.seek(max(0, size - 65536))
        for line in reversed(file.read().decode("utf-8", "replace").splitlines()):
            found = parse_line(line, "", _year())
            if found and found.at <= limit:
                return found.at
        return None

    def _unpacked_extent(self) -> tuple[float, float] | None:
        first = last = None
        try:
            for chunk, _ in gzip_chunks(self.path):
                first = edge_time(chunk, _year()) if first is None else first
                found = edge_time(chunk, _year(), last=True)
                last = last if found is None else found
        except UNREADABLE:
            pass  # the question that reads the lines says so
        return None if first is None or last is None else (min(first, last), max(first, last))

    def _unpacked(self, report: Report) -> Iterator[Chunk]:
        looked, size = 0, self.path.stat().st_size
        for chunk, progress in gzip_chunks(self.path):
            if looked > self._scan:
                why = "over the search budget"
                report(
                    Unseen(
                        self.path.name,
                        why,
                        int(size * (1 - progress)),
                        "packed bytes at its end not looked at",
                    )
                )
                return
            looked += len(chunk)
            yield chunk, progress

    def _range(self, file: BinaryIO, window: Window) -> tuple[int, int]:
        size = self.path.stat().st_size
        if size <= _SEARCH_FROM:
            return 0, size
        year = datetime.fromtimestamp(window.start, UTC).year
        if self._ordered is None:
            samples = [self._time_at(file, size * i // 16, year) for i in range(16)]
            known = [at for at in samples if at is not None]
            self._ordered = len(known) > 8 and all(a <= b + SLACK for a, b in pairwise(known))
        if not self._ordered:
            return 0, size
        begin = self._offset(file, size, window.start - SLACK, year)
        end = min(size, self._offset(file, size, window.end + SLACK, year) + 2 * CHUNK)
        return begin, end

    def _offset(self, file: BinaryIO, size: int, target: float, year: int) -> int:
        low, high = 0, size
        while high - low > CHUNK:
            middle = (low + high) // 2
            at = self._time_at(file, middle, year)
            if at is not None and at < target:
                low = middle
            else:
                high = middle
        return low

    def _time_at(self, file: BinaryIO, offset: int, year: int) -> float | None:
        file.seek(offset)
        if offset:
            file.readline(CHUNK)
        for _ in range(LOOK_BACK):
            line = file.readline(CHUNK)
            if not line:
                return None
            found = parse_line(line.decode("utf-8", "replace").strip(), "", year)
            if found:
                return found.at
        return None


def _year() -> int:
    return datetime.now(UTC).year
