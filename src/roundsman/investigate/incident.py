"""An incident: the question, the window and the telemetry it is asked of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import yaml

from roundsman.analysis import LogSummary, summarise
from roundsman.errors import SourceError
from roundsman.investigate.windows import MINUTES
from roundsman.sources import IncidentFolder, LogLine, Unseen, Window
from roundsman.sources.fields import first_of
from roundsman.sources.log_lines import is_bad
from roundsman.sources.times import iso, parse_time

_BEFORE_ALERT, _AFTER_ALERT = 45 * 60.0, 15 * 60.0
_HOUR = MINUTES * 60.0
_LONGEST_FOUND = 6 * _HOUR
_EXCERPTS = 6
_LARGEST_ALERT = 16 * 1024 * 1024
_JSON_NAMES: dict[type, str] = {
    type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a text",
    list: "a list",
}  # fmt: skip
_DEFAULT = "What went wrong in this window, since when, and what caused it?"


@dataclass(frozen=True)
class Alert:
    """What called somebody: when (epoch seconds), which service, which words."""

    at: float | None
    service: str
    name: str
    summary: str


@dataclass
class Incident:
    """One incident. `window` is what tools look back from; `path` names the folder."""

    path: Path
    question: str
    window: Window
    services: list[str]
    alert: Alert | None
    source: IncidentFolder
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
        return "\n".join(lines)


def read_alert(path: Path) -> Alert:
    """An alert from Alertmanager's webhook, a flat JSON object or a list whose first entry is one.

    SourceError names the file.
    """
    try:
        record = json.loads(path.read_bytes().decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError) as error:
        raise SourceError(f"{path.name}: not a JSON alert: {error}") from None
    if isinstance(record, list):
        if not record:
            raise SourceError(f"{path.name}: an empty list; expected an alert, or remove the file")
        if not isinstance(record[0], dict):
            what = _JSON_NAMES.get(type(record[0]), "a list")
            raise SourceError(f"{path.name}: expected a list of alerts, its first entry is {what}")
        record = record[0]
    if not isinstance(record, dict):
        what = _JSON_NAMES.get(type(record), "something else")
        raise SourceError(f"{path.name}: expected a JSON object or a list of them, got {what}")
    inner = record.get("alerts")
    if isinstance(inner, list) and inner and isinstance(inner[0], dict):
        record = {**record, **inner[0]}
    labels = record.get("labels") if isinstance(record.get("labels"), dict) else {}
    notes = record.get("annotations") if isinstance(record.get("annotations"), dict) else {}
    flat = {**record, **(labels or {}), **(notes or {})}
    return Alert(
        at=parse_time(
            first_of(flat, ("startsAt", "fired_at", "started_at", "timestamp", "ts", "time", "at"))
        ),
        service=str(first_of(flat, ("service", "service_name", "app", "job", "component")) or ""),
        name=str(
            first_of(flat, ("alertname", "monitor", "alert_name", "title", "name")) or "alert"
        ),
        summary=str(first_of(flat, ("summary", "description", "message")) or "")[:400],
    )


def _alert_of(path: Path, folder: IncidentFolder) -> Alert | None:
    """The alert, and a note on the folder when it says less than an alert should."""
    name = str(path.relative_to(folder.path))
    size = path.stat().st_size
    if size > _LARGEST_ALERT:
        why = f"not read: {size >> 20} MB, an alert has at most {_LARGEST_ALERT >> 20}"
        folder.note(Unseen(name, why))
        return None
    alert = read_alert(path)
    if (alert.at, alert.service, alert.name, alert.summary) == (None, "", "alert", ""):
        folder.note(Unseen(name, "JSON, but no time, service, name or summary of an alert in it"))
        return None
    if alert.at is None:
        folder.note(Unseen(name, "an alert without a readable time (startsAt, timestamp)"))
    return alert


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_bytes().decode("utf-8", "replace"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise SourceError(f"{path.name}{line}: not YAML; see examples/incidents") from None
    except ValueError as error:  # a time that YAML reads as one, and no calendar has
        raise SourceError(f"{path.name}: {error}; times are as 2026-01-31T10:00:00Z") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise SourceError(f"{path.name}: expected question, window and services")
    return content


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


def _found_window(folder: IncidentFolder, alert: Alert | None) -> Window:
    extent = folder.extent()
    if alert and alert.at is not None:
        end = alert.at + _AFTER_ALERT
        if extent and extent.start <= alert.at <= extent.end + _HOUR:
            end = min(end, max(extent.end, alert.at))
            start = max(end - _HOUR, min(extent.start, alert.at - 60))
            return Window(start, end)
        return Window(alert.at - _BEFORE_ALERT, end)
    if extent is None:
        unread = "".join(f"; {one.what}: {one.why}" for one in folder.unseen[:3])
        raise SourceError(
            f"{folder.path}: no time can be read in it; give a window in incident.yaml{unread}"
        )
    # a lone moment still needs a width
    return Window(max(extent.start, extent.end - _LONGEST_FOUND) - 1, extent.end + 1)


def _note_earlier(folder: IncidentFolder, window: Window) -> None:
    """A window nobody gave is a guess; what it leaves out is said."""
    extent = folder.extent()
    if extent and window.start - extent.start > 90:
        what = f"telemetry from {iso(extent.start)} to {iso(window.start)}"
        why = "before the window looked at; a longer one can be given in incident.yaml"
        folder.note(Unseen(what, why))


def load_incident(path: str | Path, question: str | None = None) -> Incident:
    """Open an incident folder.

    The question comes from the argument, incident.yaml, alert.json or a default, in this order; the
    window from incident.yaml, else around the alert, else the last six hours of telemetry. Raises
    SourceError with one line when there is nothing to investigate.
    """
    root = Path(path)
    folder = IncidentFolder(root)
    spec_file = next(
        (p for n in ("incident.yaml", "incident.yml") if (p := root / n).is_file()), None
    )
    spec = _read_yaml(spec_file) if spec_file else {}
    alert_file = next(
        (p for d in (root, root / "context") if (p := d / "alert.json").is_file()), None
    )
    alert = _alert_of(alert_file, folder) if alert_file else None
    asked = question or spec.get("question")
    if not asked and alert:
        who = f" on {alert.service}" if alert.service else ""
        asked = f"What caused {alert.name}{who}?"
    window = _given_window(spec.get("window"), spec_file.name if spec_file else "")
    if window is None:
        window = _found_window(folder, alert)
        _note_earlier(folder, window)
    services = spec.get("services")
    if services is not None and not isinstance(services, list):
        raise SourceError(f"incident.yaml: services must be a list, got {services!r}")
    return Incident(
        path=root,
        question=str(asked or _DEFAULT),
        window=window,
        services=[str(name) for name in services] if services else folder.services(),
        alert=alert,
        source=folder,
    )
