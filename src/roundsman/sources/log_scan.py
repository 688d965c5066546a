"""Bytes of log files before they are parsed: chunks of whole lines, needles, and shared budgets.

Finding a text in bytes is some fifty times as fast as parsing lines, so a question with a text or a
service reads every byte and parses only the lines that may match.
"""

from __future__ import annotations

import gzip
import re
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

#: bytes looked at in one go; also the longest line: a longer one is read in pieces, so that a file
#: without line ends cannot fill memory
CHUNK = 1 << 20
#: words one of which stands in nearly every line of error level (lower case)
BAD_WORDS = (
    b"error", b"fatal", b"panic", b"crit", b"emerg", b"alert", b"severe",
    b'"err"', b"[err", b" err ", b'" 5',
)  # fmt: skip
#: what a damaged or truncated file raises while it is read
UNREADABLE = (OSError, EOFError, zlib.error)

Chunk = tuple[bytes, float]


class Quota:
    """Bytes that may be spent on one file, handed out along the way.

    `allow` never gives the end of a file less than its beginning: what may have been spent by a
    point is the share of the file up to it, unless all that is asked for fits anyway.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.offered = 0
        self.spent = 0

    def allow(self, size: int, progress: float, late: bool = False) -> int:
        """How many of `size` more bytes may be spent at `progress` (0 to 1) of the file; none when
        it is `late`."""
        self.offered += size
        if late:
            return 0
        fits = self.offered <= self.total * progress  # as dense to its end, it stays within
        if fits or self.spent + size <= self.total // 16:
            given = size
        else:
            given = max(0, min(size, int(self.total * progress) - self.spent))
        self.spent += given
        return given


class Pace:
    """Whether a reading keeps up with the time it has, evenly along the file.

    On a slow or busy machine a question must still end within its round: what lags is left out
    where it lags, so that the end of a file is not lost to its beginning.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._began = clock()

    def behind(self, progress: float, part: float = 1.0) -> bool:
        """Whether more than the time up to `progress` (0 to 1) is spent, of a `part` of the whole; a
        tenth of it may be spent at once."""
        return self._clock() - self._began > self.seconds * part * max(progress, 0.1)


def ascii_part(text: str) -> bytes:
    """The longest run of plain characters in a text, lower case: what bytes can be searched for."""
    return max(re.findall(r"[ -~]+", text), key=len, default="").lower().encode()


def plain_chunks(file: BinaryIO, begin: int, end: int, stride: int = 1) -> Iterator[Chunk]:
    """Chunks of whole lines between two offsets, with how far they reach (0 to 1).

    A line that begins before `begin` is left out. Of `stride` neighbouring chunks one is read.
    """
    position, reached, width = begin, -1, max(1, end - begin)
    while position < end:
        if position != reached:
            file.seek(max(0, position - 1))
            if position:
                file.readline(CHUNK)  # the rest of a line that belongs to the piece before
        data = file.read(max(0, min(position + CHUNK, end) - file.tell()))
        if data and not data.endswith(b"\n"):
            data += file.readline(CHUNK)
        reached = file.tell()
        if data:
            yield data, min(1.0, (reached - begin) / width)
        position = max(position + CHUNK * stride, reached if stride == 1 else 0)


def gzip_chunks(path: Path) -> Iterator[Chunk]:
    """Chunks of whole lines of a gzip file of any number of members, with how far they reach.

    What could be unpacked comes before the error of a damaged file (one of `UNREADABLE`).
    """
    size = max(1, path.stat().st_size)
    with path.open("rb") as packed, gzip.GzipFile(fileobj=packed, mode="rb") as unpacked:
        waiting: list[bytes] = []
        held = 0
        broken: Exception | None = None
        while broken is None:
            try:
                piece = unpacked.read1(CHUNK)
            except UNREADABLE as error:
                piece, broken = b"", error
            waiting.append(piece)
            held += len(piece)
            if piece and held < CHUNK:
                continue
            block = b"".join(waiting)
            cut = block.rfind(b"\n") + 1
            if not piece or (not cut and held >= CHUNK):
                cut = len(block)
            if cut:
                yield block[:cut], min(1.0, packed.tell() / size)
            waiting, held = [block[cut:]], len(block) - cut
            if not piece:
                break
        if broken is not None:
            raise broken


def bounds(data: bytes, needles: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Begin and end of each line of lower-case bytes that holds all the needles (at least one)."""
    first, others = needles[0], needles[1:]
    at = data.find(first)
    while at >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if all(data.find(other, begin, end) >= 0 for other in others):
            yield begin, end
        at = data.find(first, end)


def bad_bounds(data: bytes) -> list[tuple[int, int]]:
    """Begin and end of each line of lower-case bytes that holds one of `BAD_WORDS`, in order."""
    return sorted({one for word in BAD_WORDS for one in bounds(data, [word])})


def open_plain(path: Path) -> BinaryIO:
    """The file, unbuffered beyond a line: chunks are read in one go."""
    return cast(BinaryIO, path.open("rb"))
