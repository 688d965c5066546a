"""Which server a tool comes from: two servers with one tool name are two tools."""

from __future__ import annotations

from typing import Any

from roundsman.adk.outcomes import refuse_on_record
from roundsman.ledger import LiveRun

RULE = "allowlist"


def origin_of(tool: Any) -> str:
    """The server a tool is asked of, empty for one of this program."""
    manager = getattr(tool, "_mcp_session_manager", None)
    if manager is not None:
        return repr(getattr(manager, "_connection_params", None) or id(manager))
    endpoint = getattr(tool, "endpoint", None)
    return str(getattr(endpoint, "base_url", "") or "")


class Origins:
    """Remembers for each tool name the server it was first asked of.

    The policy names tools, not servers. A second tool of the same name is not the one it speaks of,
    and has no other name to be spoken of by: it is refused. The first to be asked keeps the name,
    so an app gives each toolset a `tool_name_prefix`.
    """

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def refusal(self, run: LiveRun, tool: Any) -> dict[str, Any] | None:
        """What the model is told of a tool that shares its name with another server's; on record.
        None for any other tool."""
        origin = origin_of(tool)
        if self._first.setdefault(tool.name, origin) == origin:
            return None
        why = (
            f"tool {tool.name!r} is offered by two servers and the policy cannot tell which is "
            "meant; give each toolset a tool_name_prefix"
        )
        return refuse_on_record(run, tool.name, RULE, why)
