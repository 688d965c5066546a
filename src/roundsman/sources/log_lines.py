"""One line of a log file -> LogLine: JSON or plain text of the usual kinds."""

from __future__ import annotations

import json
import re

from roundsman.sources.fields import first_of
from roundsman.sources.protocols import LogLine
from roundsman.sources.times import find_time, parse_time

_TIME = ("ts", "timestamp", "time", "@timestamp", "datetime", "date", "t", "_time")
_TEXT = ("msg", "message", "log", "body", "text", "event", "MESSAGE")
_LEVEL = ("level", "severity", "lvl", "levelname", "log_level", "loglevel", "severity_text")
_SERVICE = ("service", "service_name", "app", "component", "container", "source", "cmdb_id", "pod")
_LEVEL_WORD = re.compile(
    r"\b(PANIC|FATAL|CRITICAL|CRIT|EMERG|ALERT|SEVERE|ERROR|ERR|WARNING|WARN|NOTICE|INFO|LOG|"
    r"DEBUG|TRACE)\b",
    re.IGNORECASE,
)
_STATUS = re.compile(r'"\s+(\d{3})\s')
_LEAD = re.compile(r"^[\s\])>|:-]*(?:\[\d+(?:-\d+)?\]|\d+#\d+:)?[\s:|-]*")
_BAD = frozenset({"PANIC", "FATAL", "CRITICAL", "CRIT", "EMERG", "ALERT", "SEVERE", "ERROR", "ERR"})


def is_bad(level: str) -> bool:
    """Whether a level says that something failed (error and above)."""
    return level.upper() in _BAD


def _json_line(raw: str, service: str) -> LogLine | None:
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    at = parse_time(first_of(record, _TIME))
    if at is None:
        return None
    text, owner = first_of(record, _TEXT), first_of(record, _SERVICE)
    if isinstance(owner, dict):
        owner = owner.get("name")
    return LogLine(
        at=at,
        service=owner if isinstance(owner, str) else service,
        level=str(first_of(record, _LEVEL) or "").upper()[:16],
        text=text if isinstance(text, str) else raw,
        raw=raw,
    )


def parse_line(raw: str, service: str, year: int) -> LogLine | None:
    """The record a line holds, or None when no time can be found in it.

    `service` is used when the line names none; `year` for formats that leave it out.
    """
    if raw.startswith("{"):
        record = _json_line(raw, service)
        if record is not None:
            return record
    found = find_time(raw, year)
    if found is None:
        return None
    at, end = found
    text = _LEAD.sub("", raw[end:], count=1)
    word = _LEVEL_WORD.search(text, 0, 120) or _LEVEL_WORD.search(raw, 0, 80)
    level = word[1].upper() if word else ""
    status = _STATUS.search(text, 0, 2000)
    if status and not word:
        level = "ERROR" if status[1].startswith("5") else "INFO"
    return LogLine(at, service, level, text, raw)
