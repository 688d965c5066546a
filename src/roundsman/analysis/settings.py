"""What a changed setting can bring about: its subject from its words, its direction from its values."""

from __future__ import annotations

import re
from typing import Any

Found = tuple[str, tuple[str, ...]]

#: (kind of setting, words of it, what lowering it can produce, what raising it can)
_SUBJECTS: tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("tolerance", r"leeway|skew|tolerance|grace|slack|clock", ("rejected", "error"), ()),
    (
        "idle or check interval",
        r"idle|health_?check|keep_?alive|interval|period|poll|ttl|expir",
        ("traffic", "queries", "connection"),
        (),
    ),
    (
        "timeout",
        r"time_?out|deadline|budget|wait_?(for|time)|context\.with",
        ("timeout", "error", "connection"),
        ("latency", "pool", "queue"),
    ),
    (
        "pool",
        r"pool|max_?(idle_?)?conn|connections?\b|conns\b|slots",
        ("pool", "latency", "timeout", "queue"),
        ("pool", "connection", "memory"),
    ),
    (
        "memory limit or cache",
        r"memory|heap|xmx|cache|buffer",
        ("memory", "restart", "latency", "queries"),
        ("memory", "restart"),
    ),
    ("retries", r"retr(y|ies)|attempts", ("error",), ("traffic", "latency", "queue")),
    (
        "workers or replicas",
        r"replica|worker|thread|concurren|parallel|instances|in_?flight|processes|cpu",
        ("latency", "timeout", "queue", "cpu", "rejected"),
        ("memory", "pool", "cpu"),
    ),
    (
        "rate limit",
        r"rate|limit|quota|max_?req|burst|threshold|max_?(size|len|body|bytes)",
        ("rejected", "error", "latency"),
        ("latency", "queue", "memory"),
    ),
    (
        "amount of work",
        r"batch|lines|rows|page_?size|items|count|rounds|iterations|cost|depth|sample",
        (),
        ("latency", "cpu", "memory", "queries", "timeout"),
    ),
    ("delay", r"delay|sleep|seconds|millis|_ms\b|pause", (), ("latency", "timeout", "queue")),
)
_LEVELS = (
    "off", "none", "fatal", "critical", "error", "warning", "warn", "info", "debug", "trace", "all",
)  # fmt: skip
_ON = {"true", "on", "yes", "enabled", "1"}
_OFF = {"false", "off", "no", "disabled", "0"}
_ADDRESS = re.compile(r"url|host|port|addr|endpoint|dsn|broker|upstream", re.IGNORECASE)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def setting_effects(subject: str, before: Any, after: Any) -> list[Found]:
    """(what was done, kinds of trouble it can produce) for a setting; empty for prose and the like."""
    text = re.sub(r"([a-z])([A-Z])", r"\1_\2", subject).lower()
    low, high = _number(before), _number(after)
    if low is None or high is None:
        return _words(text, before, after)
    if low == high:
        return []
    if re.search(r"\blog|_log|log_", text) and "level" not in text:
        return [] if not _more_lines(text, low, high) else [("logs more", ("disk", "latency"))]
    for kind, pattern, lowered, raised in _SUBJECTS:
        if re.search(pattern, text):
            explains = lowered if high < low else raised
            way = "lowered" if high < low else "raised"
            return [(f"{kind} {way}", explains)] if explains else []
    return []


def _more_lines(text: str, low: float, high: float) -> bool:
    """One line in so many: fewer is more."""
    return high < low if "every" in text or "sampl" in text else high > low


def _words(text: str, before: Any, after: Any) -> list[Found]:
    old, new = str(before).strip().lower(), str(after).strip().lower()
    if old == new:
        return []
    if old in _LEVELS and new in _LEVELS and "lo" in text and not {old, new} <= _ON | _OFF:
        more = _LEVELS.index(new) > _LEVELS.index(old)
        return [("logs more", ("disk", "latency", "cpu"))] if more else []
    if {old, new} <= _ON | _OFF:
        switched = "switched on" if new in _ON else "switched off"
        return [(switched, ("error", "latency"))]
    if _ADDRESS.search(text):
        return [("another address", ("connection", "name", "timeout", "error"))]
    return []
