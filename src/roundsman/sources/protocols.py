"""What the investigator needs to know about a system, whoever stores it.

Four small protocols, and `Source`, which is all of them: an incident folder, a metric store or a test
double satisfy it. Times are epoch seconds (UTC) everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Window:
    """A stretch of time, both ends included, in epoch seconds."""

    start: float
    end: float

    def holds(self, at: float) -> bool:
        """Whether a moment lies inside."""
        return self.start <= at <= self.end


@dataclass(frozen=True)
class Series:
    """One metric of one service, ordered by time, without gaps filled in."""

    service: str
    metric: str
    times: Floats
    values: Floats


class LogLine(NamedTuple):
    """One log record; `raw` is what was written, `text` the message without time and fields.

    A tuple, because there are millions of them.
    """

    at: float
    service: str
    level: str
    text: str
    raw: str


@dataclass(frozen=True)
class Change:
    """Something people changed: a deploy, a commit, a feature flag.

    `diff` maps a configuration key to its value before (None: absent or unknown) and after. `commit`
    is the commit a deploy ships (or a commit's own id), `patch` the lines it changes as a unified diff,
    `first` says that nothing of this service was there before it.
    """

    at: float
    kind: str
    service: str
    name: str
    diff: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    text: str = ""
    commit: str = ""
    patch: str = ""
    first: bool = False


class Span(NamedTuple):
    """One piece of work of one service within a request.

    `duration` is in seconds, None when it was not written. `parent` is empty at the root; `peer` names
    what a client span calls when that has no span of its own.
    """

    at: float
    duration: float | None
    service: str
    name: str
    trace: str
    id: str
    parent: str
    error: bool
    message: str = ""
    peer: str = ""


@dataclass(frozen=True)
class Unseen:
    """Telemetry that exists but was not looked at, and why; `unit` says of what there are `count`."""

    what: str
    why: str
    count: int = 1
    unit: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The form a report carries."""
        unit = {"unit": self.unit} if self.unit else {}
        return {"what": self.what, "why": self.why, "count": self.count, **unit}


class MetricSource(Protocol):
    """Numbers over time."""

    def series(self, window: Window, service: str = "", metric: str = "") -> list[Series]:
        """Series with samples in the window whose names contain the given texts (any case)."""
        ...


class LogSource(Protocol):
    """Lines over time."""

    def lines(self, window: Window, service: str = "", text: str = "") -> Iterator[LogLine]:
        """Lines in the window, file by file; what was not read is added to `unseen` afterwards."""
        ...


class TraceSource(Protocol):
    """Requests on their way through services."""

    def spans(self, window: Window) -> list[Span]:
        """Spans that begin in the window, oldest first."""
        ...

    def calls(self) -> set[tuple[str, str]]:
        """Who calls whom: (caller, callee), as far as it is written down apart from spans."""
        ...


class ChangeSource(Protocol):
    """What people did."""

    def changes(self, window: Window) -> list[Change]:
        """Changes in the window, oldest first."""
        ...


class Command(NamedTuple):
    """What a person types to ask the same of the same place: the words of one command, unquoted.

    `headers` are header lines in which `${NAME}` stands for a variable of the person's shell.
    """

    words: tuple[str, ...]
    headers: tuple[str, ...] = ()


class Source(MetricSource, LogSource, TraceSource, ChangeSource, Protocol):
    """One place that holds telemetry of some of the four kinds, and nothing of the others.

    `kinds` names those it holds. Every method may raise SourceError, one line.
    """

    kinds: list[str]

    @property
    def unseen(self) -> list[Unseen]:
        """What exists and was not looked at so far."""
        ...

    def services(self) -> list[str]:
        """Names of services seen in it, sorted."""
        ...

    def extent(self) -> Window | None:
        """The time it covers, or None when it cannot say."""
        ...

    def extents(self) -> dict[str, Window]:
        """The time each kind of telemetry covers, as far as it can say without asking a server."""
        ...

    def note(self, unseen: Unseen) -> None:
        """Remember that something was not looked at (once)."""
        ...

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """How a person asks the same; None when there is no such command."""
        ...
