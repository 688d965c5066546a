"""What called somebody, from the forms alerts come in."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundsman.errors import SourceError
from roundsman.sources import IncidentFolder, Unseen
from roundsman.sources.fields import first_of
from roundsman.sources.times import parse_time
from roundsman.sources.walking import why_not

_LARGEST = 16 * 1024 * 1024
_JSON_NAMES: dict[type, str] = {
    type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a text",
    list: "a list",
}  # fmt: skip


@dataclass(frozen=True)
class Alert:
    """What called somebody: when (epoch seconds), which service, which words."""

    at: float | None
    service: str
    name: str
    summary: str


def read_alert(path: Path) -> Alert:
    """An alert file. SourceError names the file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path.name}: not a JSON alert: {error}") from None
    return parse_alert(data, path.name)


def folder_alert(folder: IncidentFolder) -> Alert | None:
    """The alert of an incident folder, and a note on the folder when it says less than an alert should,
    or cannot be read. SourceError names a file that holds something else."""
    path = next(iter(folder.named("alert.json")), None)
    if path is None:
        return None
    name = str(path.relative_to(folder.path))
    try:
        size = path.stat().st_size
        with path.open("rb"):
            pass
    except OSError as error:
        folder.note(Unseen(name, why_not(error)))
        return None
    if size > _LARGEST:
        why = f"not read: {size >> 20} MB, an alert has at most {_LARGEST >> 20}"
        folder.note(Unseen(name, why))
        return None
    alert = read_alert(path)
    if is_blank(alert):
        folder.note(Unseen(name, "JSON, but no time, service, name or summary of an alert in it"))
        return None
    if alert.at is None:
        folder.note(Unseen(name, "an alert without a readable time (startsAt, timestamp)"))
    return alert


def alert_from(where: str) -> Alert:
    """The alert in a file, or on standard input for `-`. Raises SourceError when there is none."""
    name = "standard input" if where == "-" else where
    try:
        with sys.stdin.buffer if where == "-" else Path(where).open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise SourceError(f"--alert {where}: {error.strerror or error}") from None
    if len(data) > _LARGEST:
        raise SourceError(f"--alert: {name} has over {_LARGEST >> 20} MB, an alert is small")
    alert = parse_alert(data, f"--alert {name}")
    if is_blank(alert):
        raise SourceError(
            f"--alert: {name} is JSON, but holds no time, service or name of an alert"
        )
    return alert


def parse_alert(data: bytes, name: str) -> Alert:
    """An alert from Alertmanager's webhook, a flat JSON object or a list whose first entry is one.

    SourceError begins with `name`.
    """
    try:
        record = json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{name}: not a JSON alert: {error}") from None
    if isinstance(record, list):
        if not record:
            raise SourceError(f"{name}: an empty list; expected an alert, or remove the file")
        if not isinstance(record[0], dict):
            what = _JSON_NAMES.get(type(record[0]), "a list")
            raise SourceError(f"{name}: expected a list of alerts, its first entry is {what}")
        record = record[0]
    if not isinstance(record, dict):
        what = _JSON_NAMES.get(type(record), "something else")
        raise SourceError(f"{name}: expected a JSON object or a list of them, got {what}")
    inner = record.get("alerts")
    several = [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []
    if several:
        record = {**record, **_first_firing(several)}
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


def _first_firing(alerts: list[dict[str, Any]]) -> dict[str, Any]:
    """The one that began first of those that have not ended: what came after it may be its effect."""
    firing = [one for one in alerts if one.get("status") != "resolved"] or alerts
    return min(firing, key=lambda one: parse_time(one.get("startsAt")) or float("inf"))


def is_blank(alert: Alert) -> bool:
    """Whether nothing of an alert was in what was read."""
    return (alert.at, alert.service, alert.name, alert.summary) == (None, "", "alert", "")
