"""The binding to Google ADK. Everything here is loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_LAZY = {
    "guarded": "roundsman.adk.app",
    "plugin_of": "roundsman.adk.app",
    "CallChain": "roundsman.adk.chain",
    "draw": "roundsman.adk.chance",
    "now": "roundsman.adk.chance",
    "FinishLine": "roundsman.adk.finish",
    "PlanBook": "roundsman.adk.plan",
    "resume": "roundsman.adk.app",
    "verified_by": "roundsman.adk.effects_once",
    "GuardPlugin": "roundsman.adk.plugin",
    "loop_until_done": "roundsman.adk.loop_node",
    "ScriptedModel": "roundsman.adk.scripted",
    "call": "roundsman.adk.scripted",
    "current_action_id": "roundsman.adk.current",
    "current_loop": "roundsman.adk.current",
    "current_run": "roundsman.adk.current",
}

__all__ = [
    "CallChain",
    "FinishLine",
    "GuardPlugin",
    "PlanBook",
    "ScriptedModel",
    "call",
    "current_action_id",
    "current_loop",
    "current_run",
    "draw",
    "guarded",
    "loop_until_done",
    "now",
    "plugin_of",
    "resume",
    "verified_by",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'roundsman.adk' has no attribute {name!r}")
