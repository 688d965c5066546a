"""How a run ended, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roundsman.report.text import as_dict, as_number, clean

_STOPS = {
    "done": "answered",
    "partial": "ended with a partial answer",
    "no_progress": "no new findings",
    "max_rounds": "most rounds reached",
    "tokens": "token budget reached",
    "usd": "money budget reached",
    "wall_clock": "time limit reached",
    "steps": "most model calls reached",
    "actions": "most tool calls reached",
    "repetition": "kept repeating itself",
    "asked": "waiting for a person",
    "aborted": "stopped from outside",
    "failed": "failed",
}

_BY_GUARD = frozenset(
    {"max_rounds", "tokens", "usd", "wall_clock", "steps", "actions", "repetition"}
)
_BY_ITSELF = frozenset({"done", "partial", "no_progress"})


def how_it_ended(report: Mapping[str, Any]) -> str:
    """The reason in plain words, what decided it, and the detail."""
    stop = as_dict(report.get("stop"))
    bare = report.get("stop")
    reason = clean(bare if isinstance(bare, str) else stop.get("reason"), 60)
    words = f"{_STOPS[reason]} ({reason})" if reason in _STOPS else reason or "unfinished"
    if reason == "usd" and not as_number(as_dict(report.get("usage")).get("usd")):
        words = f"the dollar limit let no call run ({reason})"  # nothing was spent of it
    keys = ("rule", "layer") if reason not in _BY_ITSELF else ()  # that is how a run should end
    where = ", ".join(f"{key} {clean(stop[key], 80)}" for key in keys if stop.get(key))
    detail = clean(stop.get("detail"))
    return words + (f", {where}" if where else "") + (f": {detail}" if detail else "")


def by_the_guard(report: Mapping[str, Any]) -> str:
    """Why the guard ended the run; empty when it did not."""
    stop = as_dict(report.get("stop"))
    reason = stop.get("reason")
    return clean(stop.get("detail")) or _STOPS[reason] if reason in _BY_GUARD else ""
