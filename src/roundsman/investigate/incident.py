"""An incident: the question, the window and the telemetry it is asked of."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any

import yaml

from roundsman.analysis import LogSummary, summarise
from roundsman.errors import SourceError
from roundsman.investigate.alerts import Alert, folder_alert
from roundsman.investigate.request import Request
from roundsman.investigate.runbooks import Runbook, fitting
from roundsman.investigate.windows import (
    MINUTES,
    note_alert,
    note_earlier,
    note_elsewhere,
    note_services,
)
from roundsman.sources import IncidentFolder, LogLine, Source, Window
from roundsman.sources.log_lines import is_bad
from roundsman.sources.opening import open_sources
from roundsman.sources.spec import SourceSpec, read_sources
from roundsman.sources.times import iso, parse_time
from roundsman.sources.walking import regular, why_not

_BEFORE_ALERT, _AFTER_ALERT = 45 * 60.0, 15 * 60.0
_HOUR = MINUTES * 60.0
_LONGEST_FOUND = 6 * _HOUR
_EXCERPTS = 6
_DEFAULT = "What went wrong in this window, since when, and what caused it?"


@dataclass
class Incident:
    """One incident. `window` is what tools look back from; `path` names the folder, if there is one."""

    path: Path | None
    question: str
    window: Window
    services: list[str]
    alert: Alert | None
    source: Source
    runbook: Runbook | None = None
    _logs: dict[tuple[float, float, str, str], tuple[LogSummary, list[LogLine]]] = field(
        default_factory=dict, repr=False
    )
    _reading: Lock = field(default_factory=Lock, repr=False, compare=False)

    def logs(
        self, window: Window, service: str = "", text: str = ""
    ) -> tuple[LogSummary, list[LogLine]]:
        """Templates of the matching lines, and a few lines as written: the worst and the first.

        Kept for the next question about the same lines: a large file is read once, also when
        two tools ask at the same time.
        """
        with self._reading:
            return self._read(window, service, text)

    def _read(self, window: Window, service: str, text: str) -> tuple[LogSummary, list[LogLine]]:
        key = (window.start, window.end, service, text)
        if key not in self._logs:
            extent = self.source.extent() or window
            seen = Window(max(window.start, min(extent.start, window.end - 1)), window.end)
            bad: list[LogLine] = []
            plain: list[LogLine] = []

            def lines() -> Iterator[LogLine]:
                for line in self.source.lines(window, service, text):
                    keep = bad if is_bad(line.level) else plain
                    if len(keep) < _EXCERPTS:
                        keep.append(line)
                    yield line

            self._logs[key] = (summarise(lines(), seen), [*bad, *plain][:_EXCERPTS])
        return self._logs[key]

    @cached_property
    def extents(self) -> dict[str, Window]:
        """The time each kind of telemetry covers, as far as the sources can say."""
        return self.source.extents()

    @property
    def unseen(self) -> list[dict[str, Any]]:
        """What could not be read so far, in report form."""
        return [one.as_dict() for one in self.source.unseen]

    def describe(self) -> str:
        """The incident as a prompt states it: facts only."""
        lines = [self.question, f"Window: {iso(self.window.start)} to {iso(self.window.end)}."]
        if self.alert:
            when = f" at {iso(self.alert.at)}" if self.alert.at is not None else ""
            who = f" for {self.alert.service}" if self.alert.service else ""
            lines.append(f"Alert: {self.alert.name}{who}{when}. {self.alert.summary}".strip())
        if self.services:
            lines.append("Services: " + ", ".join(self.services[:40]) + ".")
        lines.append("Telemetry: " + ", ".join(self.source.kinds) + ".")
        if self.runbook:
            lines.append(self.runbook.as_prompt())
        return "\n".join(lines)


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_bytes().decode("utf-8", "replace"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise SourceError(f"{path}{line}: not YAML; see examples/incidents") from None
    except ValueError as error:  # a time that YAML reads as one, and no calendar has
        raise SourceError(f"{path}: {error}; times are as 2026-01-31T10:00:00Z") from None
    except OSError as error:  # it says what is asked, so nothing can be asked without it
        raise SourceError(f"{path}: {why_not(error)}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SourceError(f"{path.name}: expected question, window and services")
    return content


def _say(into: list[str], path: Path, why: str) -> None:
    into.append(f"{path.name}: {why}")


_KEYS = ("question", "window", "services", "sources")


def _refuse_slips(spec: dict[str, Any], name: str) -> None:
    """A key that is nearly one of ours is a slip; others are somebody's own notes."""
    for key in map(str, spec):
        near = get_close_matches(key.lower(), _KEYS, n=1, cutoff=0.75)
        if key not in _KEYS and near:
            raise SourceError(f"{name}: unknown key {key!r}; did you mean {near[0]!r}?")


def _as_written(value: Any, at: float | None) -> str:
    if at is not None:
        return iso(at)
    return "(missing)" if value is None else repr(str(value))


def _given_window(spec: Any, name: str) -> Window | None:
    if spec is None:
        return None
    if not isinstance(spec, dict):
        raise SourceError(f"{name}: window needs start and end, got {spec!r}")
    start, end = parse_time(spec.get("start")), parse_time(spec.get("end"))
    if start is None or end is None or start >= end:
        raise SourceError(
            f"{name}: window start {_as_written(spec.get('start'), start)} and end "
            f"{_as_written(spec.get('end'), end)} must be times, start before end, as "
            "2026-01-31T10:00:00Z"
        )
    return Window(start, end)


def _found_window(source: Source, alert: Alert | None) -> Window:
    extent = source.extent()
    if alert and alert.at is not None:
        end = alert.at + _AFTER_ALERT
        if extent and extent.start <= alert.at <= extent.end + _HOUR:
            end = min(end, max(extent.end, alert.at))
            start = max(end - _HOUR, min(extent.start, alert.at - 60))
            return Window(start, end)
        return Window(alert.at - _BEFORE_ALERT, end)
    if extent is None:
        unread = "; ".join(f"{one.what}: {one.why}" for one in source.unseen[:3])
        path = getattr(source, "path", None)
        way_out = "give a window in incident.yaml" if path else "give --window START/END"
        if unread:  # the cause first: what is mended needs no window
            way_out = f"mend that, or {way_out}"
        why = f"{unread}; so no time can be read in it" if unread else "no time can be read in it"
        raise SourceError(f"{path or 'sources'}: {why}; {way_out}")
    # a lone moment still needs a width
    return Window(max(extent.start, extent.end - _LONGEST_FOUND) - 1, extent.end + 1)


def load_incident(path: str | Path, question: str | None = None) -> Incident:
    """Open an incident folder.

    The question comes from the argument, incident.yaml, alert.json or a default, in this order; the
    window from incident.yaml, else around the alert, else the last six hours of telemetry. Raises
    SourceError with one line when there is nothing to investigate.
    """
    return open_incident(Request.of_folder(path, question))


def open_incident(request: Request) -> Incident:
    """Open all sources of a request. `incident.yaml` of its folder may name more of them.

    Without a window of its own, servers are asked about the time around the alert, else the last hour.
    Raises SourceError with one line when there is nothing to investigate.
    """
    root, sources = request.folder, request.sources
    spec: dict[str, Any] = {}
    name = "incident.yaml"
    if root is not None and root.is_dir():
        unread: list[str] = []
        names = (root / name, root / "incident.yml")
        file = next((p for p in names if regular(p, partial(_say, unread)) is not None), None)
        if unread and file is None:
            raise SourceError(unread[0])
        spec = _read_yaml(file) if file else {}
        name = str(file or root / name)
        _refuse_slips(spec, name)
        sources = sources.with_more(read_sources(spec.get("sources"), name, root))
    folder = _open_folder(root, bool(sources.beside)) if root is not None else None
    alert = request.alert or (folder_alert(folder) if folder else None)
    window = request.window or _given_window(spec.get("window"), name)
    source: Source
    if sources.beside:
        if window is None and folder is not None and folder.extent() is not None:
            window = _found_window(folder, alert)
        if window is None and (sources.live or not (folder or sources.logs)):
            window = _recent_window(alert, time.time())
        first = [(folder, str(root))] if folder is not None else []
        source = open_sources(sources, window, first)
    else:
        assert folder is not None
        source = folder
    if window is None:
        window = _found_window(source, alert)
        note_earlier(source, window)
    elif folder is not None and request.window is None and spec.get("window") is None:
        note_earlier(folder, window)
    elif folder is not None:
        note_elsewhere(folder, window)
    note_alert(source, alert.at if alert else None)
    services = spec.get("services")
    if services is not None and not isinstance(services, list):
        raise SourceError(f"{name}: services must be a list, got {services!r}")
    note_services(source, [str(one) for one in services or ()], window)
    return Incident(
        path=root if folder is not None else None,
        question=_question(request, spec, name, alert),
        window=window,
        services=[str(one) for one in services or request.services or source.services()],
        alert=alert,
        source=source,
        runbook=fitting(_runbook_folders(root, sources), alert, source.note),
    )


def _runbook_folders(root: Path | None, sources: SourceSpec) -> list[Path]:
    """Those named, which must be there, and those of the folder."""
    named = [Path(one) for one in sources.runbooks]
    for path in named:
        if not path.exists():
            raise SourceError(f"--runbooks {path}: no such file or folder")
    mine = [root / "runbooks", root / "context" / "runbooks"] if root is not None else []
    return [*named, *(path for path in mine if path.is_dir())]


def _open_folder(root: Path, others: bool) -> IncidentFolder | None:
    """The folder; one that holds only `incident.yaml` is none when that names other sources."""
    try:
        return IncidentFolder(root)
    except SourceError:
        if others and root.is_dir():
            return None
        raise


def _question(request: Request, spec: dict[str, Any], name: str, alert: Alert | None) -> str:
    given = spec.get("question")
    if given is not None and not isinstance(given, str):
        raise SourceError(f"{name}: question must be a text, got {repr(given)[:80]}")
    asked = request.question or given
    if not asked and alert:
        who = f" on {alert.service}" if alert.service else ""
        asked = f"What caused {alert.name}{who}?"
    return str(asked or _DEFAULT)


def _recent_window(alert: Alert | None, now: float) -> Window:
    """Around the alert, as far as that is past; else the last hour."""
    if alert and alert.at is not None and alert.at < now:
        return Window(alert.at - _BEFORE_ALERT, min(alert.at + _AFTER_ALERT, now))
    return Window(now - _HOUR, now)
