"""From a finding to its fix: propose, approve, apply, verify, and done or rolled back.

A person decides, the guard lets nothing run that was not approved as exactly that call, and the metric
that broke says whether it helped. Names are loaded on first use: importing this room loads no engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roundsman.remedy.base import NotApplied, Remedy
    from roundsman.remedy.finding import Finding

_HOME = {"Finding": "finding", "NotApplied": "base", "Remedy": "base"}

__all__ = ["Finding", "NotApplied", "Remedy"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"roundsman.remedy.{_HOME[name]}"), name)
    raise AttributeError(f"module 'roundsman.remedy' has no attribute {name!r}")
