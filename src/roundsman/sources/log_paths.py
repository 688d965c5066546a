"""Log files anywhere: one file, or all log files under a folder."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from roundsman.errors import SourceError
from roundsman.sources.base import BaseSource
from roundsman.sources.log_files import BYTE_BUDGET, SCAN_BUDGET, SECONDS, LogFile
from roundsman.sources.protocols import Command, LogLine, Unseen, Window
from roundsman.sources.walking import below, regular

LOG_ENDINGS = (".ndjson", ".jsonl", ".json", ".log", ".txt")
#: how much larger a packed log is taken to be, unpacked
_PACKED = 10
#: no file's share of a question is less than this (bytes)
_LEAST = 4 * 1024 * 1024
#: files of one folder
_MOST_FILES = 2_000


def is_log(path: Path) -> bool:
    """Whether a name is that of a log: a known ending, packed or rotated (`api.log.1.gz`)."""
    name = path.name.removesuffix(".gz")
    stem, dot, number = name.rpartition(".")
    return name.endswith(LOG_ENDINGS) or (bool(dot) and number.isdigit() and ".log" in stem)


def open_logs(paths: list[Path], budget: int = BYTE_BUDGET) -> list[LogFile]:
    """The files with their shares of what one question may parse and search, by size."""
    sizes = [p.stat().st_size * (_PACKED if p.suffix == ".gz" else 1) for p in paths]
    everything = max(1, sum(sizes))

    def share(total: int, size: int) -> int:
        return total if everything <= total else max(_LEAST, total * size // everything)

    return [
        LogFile(
            path,
            share(budget, size),
            share(SCAN_BUDGET, size),
            max(1.0, SECONDS * size / everything),
        )
        for path, size in zip(paths, sizes, strict=True)
    ]


class LogPath(BaseSource):
    """Satisfies Source with the lines of one log file, or of all under a folder.

    What has the name of a log and cannot be read is noted. Raises SourceError when there is no other.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(["logs"])
        self.path = path
        try:
            files = below(path, self._told, is_log) if stat.S_ISDIR(path.stat().st_mode) else [path]
        except OSError as error:
            raise SourceError(f"--logs {path}: {error.strerror or error}") from None
        logs = ((p, regular(p, self._told)) for p in files if is_log(p) or p == path)
        known = [p for p, found in logs if found is not None and found.st_size]
        if not known and self.unseen:
            one = self.unseen[0]
            where = "" if one.what == "." else f"{one.what}: "
            raise SourceError(f"--logs {path}: {where}{one.why}")
        if not known:
            ending = ", ".join(LOG_ENDINGS)
            raise SourceError(
                f"--logs {path}: no log in it that is not empty; expected {ending}[.gz]"
            )
        if len(known) > _MOST_FILES:
            over = len(known) - _MOST_FILES
            self.note(Unseen(str(path), f"log files over the first {_MOST_FILES:,}", over))
        self._files = open_logs(known[:_MOST_FILES])

    def _told(self, path: Path, why: str) -> None:
        self.note(Unseen(str(path.relative_to(self.path)), why))

    def lines(self, window: Window, service: str = "", text: str = "") -> Iterator[LogLine]:
        """Lines of the window, file by file."""
        for file in self._files:
            yield from file.lines(window, text, self.note, service)

    def services(self) -> list[str]:
        """The names of the files."""
        return sorted({file.service for file in self._files})

    def extent(self) -> Window | None:
        """From the first line to the last; packed files count when there are no others."""
        plain = [file for file in self._files if not file.packed]
        edges = [edge for file in plain or self._files if (edge := file.extent(self.note))]
        return Window(min(a for a, _ in edges), max(b for _, b in edges)) if edges else None

    def extents(self) -> dict[str, Window]:
        """That of the lines."""
        whole = self.extent()
        return {"logs": whole} if whole else {}

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """A search of the files."""
        words, where = ("--", text or service), str(self.path)
        if not any(file.packed for file in self._files):
            return Command(("grep", "-rhiF", *words, where))
        return Command(("find", where, "-type", "f", "-exec", "zgrep", "-hiF", *words, "{}", "+"))
