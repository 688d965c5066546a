"""What an investigation is asked: which telemetry, which window, which question. It can be stored."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from roundsman.errors import UsageError
from roundsman.investigate.alerts import Alert
from roundsman.sources import Window
from roundsman.sources.spec import SourceSpec
from roundsman.sources.times import parse_time

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_LONGEST = 7 * 86_400.0


@dataclass(frozen=True)
class Request:
    """One question to some sources.

    `window`: absolute, or None when it is to be found; `alert`: one that came beside the sources;
    `services`: recorded when the run began, so that a resumed one is told the same.
    """

    sources: SourceSpec
    question: str | None = None
    window: Window | None = None
    alert: Alert | None = None
    services: tuple[str, ...] = ()

    @classmethod
    def of_folder(cls, path: Path | str, question: str | None = None) -> Request:
        """The question about an incident folder."""
        return cls(SourceSpec(folder=str(path)), question)

    @property
    def folder(self) -> Path | None:
        """The incident folder, if there is one."""
        return Path(self.sources.folder) if self.sources.folder else None

    def to_setup(self) -> dict[str, Any]:
        """For the journal: paths are absolute, headers hold names of variables."""
        absolute = self.sources.absolute()
        window = [self.window.start, self.window.end] if self.window else None
        return {
            "path": absolute.folder,
            "question": self.question,
            "sources": replace(absolute, folder="").to_json(),
            "window": window,
            "alert": asdict(self.alert) if self.alert else None,
            "services": list(self.services),
        }

    @classmethod
    def from_setup(cls, setup: Mapping[str, Any]) -> Request:
        """The reverse of `to_setup`; also reads what older journals hold."""
        sources = SourceSpec.from_json(setup.get("sources") or {})
        window, alert = setup.get("window"), setup.get("alert")
        return cls(
            replace(sources, folder=str(setup.get("path") or "")),
            setup.get("question"),
            Window(*window) if window else None,
            Alert(**alert) if alert else None,
            tuple(setup.get("services") or ()),
        )


def seconds_of(text: str, option: str) -> float:
    """A duration such as 90m. Raises UsageError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 10.0 <= seconds <= _LONGEST:
        raise UsageError(f"{option} {text!r}: expected a time from 10s to 7d, as in 30m, 1h or 2d")
    return seconds


def window_between(text: str, option: str) -> Window:
    """START/END, both times. Raises UsageError."""
    first, mark, second = text.partition("/")
    start, end = parse_time(first), parse_time(second)
    if not mark or start is None or end is None:
        raise UsageError(
            f"{option} {text!r}: expected START/END, as in 2026-01-31T10:00:00Z/2026-01-31T11:00:00Z"
        )
    if not 1 <= end - start <= _LONGEST:
        raise UsageError(f"{option} {text!r}: must begin before it ends, and last at most 7 days")
    return Window(start, end)


def read_window(since: str | None, between: str | None, now: float) -> Window | None:
    """The window of `--since` or `--window`, None for neither. Raises UsageError."""
    if since and between:
        raise UsageError("--since and --window are two ways to say it: give one of them")
    if since:
        return Window(now - seconds_of(since, "--since"), now)
    return window_between(between, "--window") if between else None
