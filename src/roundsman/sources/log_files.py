"""Log files of an incident folder, streamed: a file may be far larger than memory.

Large files in time order are entered by binary search over byte offsets. When even the window holds
more than the budget, evenly spaced pieces of it are read and the rest is counted as unseen.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, cast

from roundsman.sources.log_lines import parse_line
from roundsman.sources.protocols import LogLine, Unseen, Window

#: bytes read of one file for one question; some ten seconds of parsing
BYTE_BUDGET = 128 * 1024 * 1024
#: a longer line is read in pieces, so that a file without line ends cannot fill memory
MAX_LINE = 1 << 20
_SEARCH_FROM = 32 * 1024 * 1024
_STEP = 1 << 20
_PIECES = 48
#: lines of one file may be this far out of order (several threads write)
_SLACK = 30.0

Report = Callable[[Unseen], None]


def log_service(path: Path) -> str:
    """The service a log file belongs to, by its name: `api.log.1.gz` -> `api`."""
    name = path.name
    for ending in (".gz", ".ndjson", ".jsonl", ".json", ".log", ".txt"):
        name = name.removesuffix(ending)
    name = name.rstrip("0123456789").rstrip(".-_") if ".log" in name else name
    return name.removesuffix(".log")


class LogFile:
    """One log file, plain or gzip, of any size."""

    def __init__(self, path: Path, budget: int = BYTE_BUDGET) -> None:
        self.path = path
        self.service = log_service(path)
        self._budget = budget
        self._ordered: bool | None = None

    def lines(self, window: Window, text: str, report: Report) -> Iterator[LogLine]:
        """Lines of the window holding `text` (any case); `report` hears what was not read."""
        try:
            if self.path.suffix == ".gz":
                yield from self._gzip(window, text, report)
            else:
                with self.path.open("rb") as file:
                    for begin, end in self._ranges(file, window, report):
                        file.seek(begin)
                        if begin:
                            file.readline(MAX_LINE)
                        yield from self._read(file, end, window, text, report)
        except (OSError, EOFError, zlib.error) as error:
            report(Unseen(self.path.name, f"cannot be read: {error}"[:200]))

    def extent(self) -> tuple[float, float] | None:
        """Times of the first and the last line that have one (a gzip file: None)."""
        if self.path.suffix == ".gz":
            return None
        try:
            with self.path.open("rb") as file:
                size = self.path.stat().st_size
                first = self._time_at(file, 0)
                last = None
                for back in (4096, 65536, _STEP):
                    file.seek(max(0, size - back))
                    for line in file.read().decode("utf-8", "replace").splitlines():
                        found = parse_line(line, "", _year())
                        last = found.at if found else last
                    if last is not None:
                        break
        except OSError:
            return None
        return None if first is None or last is None else (min(first, last), max(first, last))

    def _read(
        self, file: BinaryIO, end: int | None, window: Window, text: str, report: Report
    ) -> Iterator[LogLine]:
        year = datetime.fromtimestamp(window.start, UTC).year
        needle, previous, undated, position = text.lower(), None, 0, file.tell()
        while end is None or position < end:
            line = file.readline(MAX_LINE)
            if not line:
                break
            position += len(line)
            raw = line.decode("utf-8", "replace").rstrip("\r\n").replace("\x00", "")
            if not raw:
                continue
            found = parse_line(raw, self.service, year)
            if found is None:
                # a stack trace or a wrapped line belongs to the record above it
                undated += previous is None
                if previous is None:
                    continue
                found = LogLine(previous, self.service, "", raw.strip(), raw)
            previous = found.at
            if window.holds(found.at) and (not needle or needle in raw.lower()):
                yield found
        if undated:
            report(Unseen(self.path.name, "lines without a readable time", undated))

    def _gzip(self, window: Window, text: str, report: Report) -> Iterator[LogLine]:
        with gzip.open(self.path, "rb") as packed:
            stream = cast(BinaryIO, packed)
            yield from self._read(stream, self._budget, window, text, report)
            if stream.read(1):
                report(Unseen(self.path.name, f"gzip: only the first {self._budget} bytes read"))

    def _ranges(
        self, file: BinaryIO, window: Window, report: Report
    ) -> list[tuple[int, int | None]]:
        size = self.path.stat().st_size
        begin, end = 0, size
        if size > _SEARCH_FROM:
            if self._ordered is None:
                samples = [self._time_at(file, size * i // 16) for i in range(16)]
                known = [at for at in samples if at is not None]
                self._ordered = len(known) > 8 and all(a <= b + _SLACK for a, b in pairwise(known))
            if self._ordered:
                begin = self._offset(file, size, window.start - _SLACK)
                end = min(size, self._offset(file, size, window.end + _SLACK) + 2 * _STEP)
        if end - begin <= self._budget:
            return [(begin, end)]
        piece = self._budget // _PIECES
        stride = (end - begin) // _PIECES
        why = "over the byte budget: evenly spaced pieces were read; count is bytes not read"
        report(Unseen(self.path.name, why, end - begin - piece * _PIECES))
        return [(begin + i * stride, begin + i * stride + piece) for i in range(_PIECES)]

    def _offset(self, file: BinaryIO, size: int, target: float) -> int:
        low, high = 0, size
        while high - low > _STEP:
            middle = (low + high) // 2
            at = self._time_at(file, middle)
            if at is not None and at < target:
                low = middle
            else:
                high = middle
        return low

    def _time_at(self, file: BinaryIO, offset: int) -> float | None:
        file.seek(offset)
        if offset:
            file.readline(MAX_LINE)
        for _ in range(200):
            line = file.readline(MAX_LINE)
            if not line:
                return None
            found = parse_line(line.decode("utf-8", "replace").strip(), "", _year())
            if found:
                return found.at
        return None


def _year() -> int:
    return datetime.now(UTC).year
