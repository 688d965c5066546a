"""The flagship: a bounded investigator of outages. Loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_LAZY = {
    "investigate": "roundsman.investigate.run",
    "load_incident": "roundsman.investigate.incident",
    "build_app": "roundsman.investigate.agent",
}

__all__ = ["build_app", "investigate", "load_incident"]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'roundsman.investigate' has no attribute {name!r}")
