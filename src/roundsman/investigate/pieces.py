"""The piece of an incident's window that one question is about, and what every result says of it."""

from __future__ import annotations

from typing import Any

from roundsman.investigate import paste
from roundsman.investigate.incident import Incident
from roundsman.investigate.windows import earlier_minutes
from roundsman.sources import Window
from roundsman.sources.times import iso


def window_of(incident: Incident, minutes: float, ago: float) -> Window:
    """The piece of the incident's window a question is about; ValueError names a bad number."""
    if not minutes > 0:
        raise ValueError(f"window_minutes must be a number above 0, got {minutes!r}")
    if not ago >= 0:
        raise ValueError(f"end_minutes_ago must be 0 or a number above, got {ago!r}")
    end = incident.window.end - float(ago) * 60
    return Window(end - float(minutes) * 60, end)


def asked(incident: Incident, tool: str, kind: str, window: Window, **named: str) -> dict[str, Any]:
    """What was asked, for a result: the arguments, the line a person pastes for the same, the window."""
    raw = paste.line(incident, kind, window, *named.values())
    times = {"from": iso(window.start), "to": iso(window.end)}
    return {"tool": tool, **named, "raw": raw, **times}


def earlier_of(incident: Incident, window: Window) -> dict[str, int]:
    """How much of the incident's window lies before a piece, for a result; nothing when none does."""
    minutes = earlier_minutes(incident.window, window)
    return {"earlier_minutes": minutes} if minutes else {}


def alert_of(incident: Incident) -> dict[str, Any]:
    """Whom the alert names and when it came, for a result; nothing without an alert."""
    alert = incident.alert
    if alert is None or not (alert.service or alert.at is not None):
        return {}
    when = {} if alert.at is None else {"at": iso(alert.at)}
    return {"alert": {"service": alert.service, **when}}
