"""Roundsman: autonomous agent loops that always stop.

The public names are loaded on first use, so `import roundsman` costs next to nothing and loads
neither Google ADK nor pydantic.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing for it would cost more than the rest of this module
if TYPE_CHECKING:
    from roundsman.adk.app import guarded as guarded
    from roundsman.adk.loop_node import loop_until_done as loop_until_done
    from roundsman.policy import Policy as Policy
    from roundsman.policy import load_policy as load_policy

__version__ = "0.1.0"

_LAZY = {
    "guarded": "roundsman.adk",
    "loop_until_done": "roundsman.adk",
    "load_policy": "roundsman.policy",
    "Policy": "roundsman.policy",
}

__all__ = ["Policy", "__version__", "guarded", "load_policy", "loop_until_done"]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'roundsman' has no attribute {name!r}")
