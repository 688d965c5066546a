"""What the parts of a remedy's graph are called, in the journal and on the screen."""

from __future__ import annotations

NODES = ("propose", "after_apply", "after_verify", "after_undo", "done", "left", "rolled_back")
"""Nodes that only steer."""
VERIFY = "verify_by_metrics"


def apply_tool(remedy: str) -> str:
    """The tool whose call a person approves."""
    return f"apply_{remedy.replace('-', '_')}"


def undo_tool(remedy: str) -> str:
    """The tool that takes it back."""
    return f"undo_{remedy.replace('-', '_')}"


def look_tool(remedy: str) -> str:
    """The tool that looks at the world after that."""
    return f"look_after_{remedy.replace('-', '_')}"
