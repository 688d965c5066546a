"""One question to one log file: which lines of its chunks are parsed, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from roundsman.sources.log_lines import parse_line
from roundsman.sources.log_scan import Chunk, Pace, Quota, ascii_part, bad_bounds, bounds
from roundsman.sources.patience import checkpoint
from roundsman.sources.protocols import LogLine, Unseen, Window

#: lines of one file may be this far out of order (several threads write), in seconds
SLACK = 30.0
#: how many lines are looked at for one with a time
LOOK_BACK = 200

#: part of a question's time that may go into parsing what nothing was searched for in
_PARSING = 0.5

Report = Callable[[Unseen], None]


class Asked(NamedTuple):
    """Lines of a window whose text and service hold the given parts (any case)."""

    window: Window
    text: str = ""
    service: str = ""


class Reading:
    """Lines out of the chunks of one file; `owner` is its service, `budget` the bytes parsed of it."""

    def __init__(
        self,
        name: str,
        owner: str,
        asked: Asked,
        report: Report,
        budget: int,
        seconds: float,
    ) -> None:
        self._name, self._file_owner = name, owner
        self._window = asked.window
        self._text, self._owner = asked.text.lower(), asked.service.lower()
        self._all_mine = self._owner in owner.lower()
        wanted = [asked.text] if self._all_mine else [asked.text, asked.service]
        self._needles = [part for part in map(ascii_part, wanted) if part]
        self._report = report
        self._year = datetime.fromtimestamp(asked.window.start, UTC).year
        self._previous: float | None = None
        self._above: float | None = None  # the last time of the chunk before
        self._undated = self._unparsed = self._late = self._missed = self._skipped = 0
        self._pace = Pace(seconds)
        self._parse, self._hits = Quota(budget), Quota(budget // 2)
        #: whether a time was found anywhere; without one no line can be used
        self.dated = False
        self._to_its_end = False

    def of(self, chunks: Iterator[Chunk]) -> Iterator[LogLine]:
        """The lines asked for; the counts of what was not read are reported at the end."""
        try:
            for chunk, progress in chunks:
                checkpoint()
                if self._pace.behind(progress):
                    self._skipped += len(chunk)
                    self._previous = self._above = None
                    continue
                data = chunk.replace(b"\x00", b"") if b"\x00" in chunk else chunk
                first, last = edge_time(data, self._year), edge_time(data, self._year, last=True)
                self.dated = self.dated or first is not None or last is not None
                if not self._outside(first, last):
                    if self._needles:
                        yield from self._matching(data, progress)
                    else:
                        yield from self._everything(data, progress)
                self._above = self._above if last is None else last
            self._to_its_end = True
        finally:
            self._say()

    def _outside(self, first: float | None, last: float | None) -> bool:
        if first is None or last is None:
            return False
        early, late = self._window.start - SLACK, self._window.end + SLACK
        return max(first, last) < early or min(first, last) > late

    def _everything(self, data: bytes, progress: float) -> Iterator[LogLine]:
        # searching is worth more than parsing when there is no time for both
        late = self._pace.behind(progress, _PARSING)
        given = self._parse.allow(len(data), progress, late)
        cut = len(data)
        if given < cut:
            cut = data.rfind(b"\n", 0, given) + 1
        for raw in data[:cut].split(b"\n"):
            found = self._line(raw)
            if found:
                yield found
        if cut < len(data):
            rest = data[cut:]
            if late:
                self._late += len(rest)
            else:
                self._unparsed += len(rest)
            yield from self._parsed(rest, bad_bounds(rest.lower()), self._hits, progress)
            self._previous = None

    def _matching(self, data: bytes, progress: float) -> Iterator[LogLine]:
        found = list(bounds(data.lower(), self._needles))
        yield from self._parsed(data, found, self._parse, progress)

    def _parsed(
        self, data: bytes, found: Sequence[tuple[int, int]], quota: Quota, progress: float
    ) -> Iterator[LogLine]:
        left = quota.allow(sum(end - begin for begin, end in found), progress)
        for number, (begin, end) in enumerate(found):
            left -= end - begin
            if left < 0:
                self._missed += len(found) - number
                return
            line = self._line(data[begin:end], partial(_before, data, begin, self._year))
            if line:
                yield line

    def _line(
        self, line: bytes, look_back: Callable[[], float | None] | None = None
    ) -> LogLine | None:
        raw = line.decode("utf-8", "replace").rstrip("\r")
        if not raw:
            return None
        found = parse_line(raw, self._file_owner, self._year)
        if found is None:
            # a stack trace or a wrapped line belongs to the record above it
            at = look_back() if look_back else self._previous
            at = self._above if at is None else at
            if at is None:
                self._undated += 1
                return None
            found = LogLine(at, self._file_owner, "", raw.strip(), raw)
        self.dated = True
        self._previous = found.at
        mine = self._all_mine or self._owner in found.service.lower()
        if mine and self._window.holds(found.at) and (not self._text or self._text in raw.lower()):
            return found
        return None

    def _say(self) -> None:
        name, say = self._name, self._report
        if self._undated and self._to_its_end and not self.dated and not self._needles:
            say(Unseen(whole(name), "no line with a readable time"))
        elif self._undated:
            say(Unseen(name, "lines without a readable time", self._undated))
        if self._skipped:
            why = f"over the {self._pace.seconds:.0f} s a question has: left out evenly"
            say(Unseen(name, why, self._skipped, "bytes not looked at"))
        for over, count in (
            (f"the {self._pace.seconds * _PARSING:g} s a question may parse for", self._late),
            ("the parse budget", self._unparsed),
        ):
            if count:
                why = (
                    f"over {over}: evenly spaced pieces were parsed, the rest only searched "
                    "for lines that look like errors"
                )
                say(Unseen(name, why, count, "bytes only searched"))
        if self._missed:
            what = f"that hold {self._text!r}" if self._text else "that look like errors"
            say(Unseen(name, f"over the parse budget: lines {what}, not parsed", self._missed))


def whole(name: str) -> str:
    """What a log file is called in a note when nothing of it could be used: the verdict says so, too."""
    return f"log file {name}"


def _before(data: bytes, at: int, year: int) -> float | None:
    """The time of the nearest dated line above an offset."""
    for _ in range(LOOK_BACK):
        if at <= 0:
            return None
        begin = data.rfind(b"\n", 0, at - 1) + 1
        found = parse_line(data[begin : at - 1].decode("utf-8", "replace"), "", year)
        if found:
            return found.at
        at = begin
    return None


def edge_time(data: bytes, year: int, last: bool = False, most: int = 1 << 16) -> float | None:
    """The time of the first (or last) dated line among the outer `most` bytes."""
    part = data[-most:] if last else data[:most]
    lines = part.split(b"\n")
    for raw in reversed(lines) if last else lines:
        found = parse_line(raw.decode("utf-8", "replace").strip(), "", year) if raw else None
        if found:
            return found.at
    return None
