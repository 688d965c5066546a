"""Walk an app and refuse what is known to go past the guard.

What a walk cannot see (objects made inside a body, toolsets' tools) is judged when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.adk.models.base_llm import BaseLlm

from roundsman.errors import RefusedToStart


def nodes(root: Any) -> Iterator[Any]:
    """Every agent and node below `root`: graph, sub-agents, agents as tools."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        todo += list(getattr(node, "sub_agents", None) or [])
        if hasattr(node, "_iter_static_children"):
            todo += list(node._iter_static_children())
        for tool in getattr(node, "tools", None) or []:
            todo.append(getattr(tool, "agent", None))
        todo.append(getattr(node, "roundsman_agent", None))


def models(root: Any) -> Iterator[BaseLlm]:
    """Every model object below `root`."""
    for node in nodes(root):
        model = getattr(node, "model", None)
        if isinstance(model, BaseLlm):
            yield model


def gaps(root: Any) -> list[tuple[str, str]]:
    """(path, why) of everything that would go past the guard."""
    found = []
    for node in nodes(root):
        name = getattr(node, "name", type(node).__name__)
        if getattr(node, "code_executor", None) is not None:
            found.append((name, "a code executor runs the model's code without any tool hook"))
        if getattr(node, "mode", None) == "task":
            found.append((name, "delegation by mode='task' goes past the tool allowlist"))
        for tool in getattr(node, "tools", None) or []:
            if getattr(tool, "include_plugins", True) is False:
                tool_name = getattr(tool, "name", "?")
                why = "an agent tool with include_plugins=False hides its own tools"
                found.append((f"{name}.{tool_name}", why))
    return found


def refuse_gaps(root: Any, excepted: frozenset[str]) -> None:
    """Raise for the gaps the policy does not name.

    Raises:
        RefusedToStart: naming each path and why.
    """
    left = [(p, w) for p, w in gaps(root) if p not in excepted]
    if left:
        text = "; ".join(f"{path}: {why}" for path, why in left)
        raise RefusedToStart(
            f"the guard cannot see: {text}. Change it, or name the path under exceptions: "
            "in the policy with the reason"
        )
