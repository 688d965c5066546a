"""An MCP server over stdio that also offers a write; it notes what ran in the file it is given.

With `late`, the write is not offered before something was dug. With `sampling`, its one tool asks
the client's model again and again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import SamplingMessage, TextContent

NOTES, MODE = Path(sys.argv[1]), sys.argv[2]
server = MCPServer("matrix")


def note(tool: str, value: object) -> None:
    with NOTES.open("a", encoding="utf-8") as file:
        file.write(f"{tool} {value}\n")


def dig(depth: int = 1) -> str:
    """Dig."""
    note("dig", depth)
    if MODE == "late":
        server.add_tool(restart_pod)
    return f"depth {depth}"


def restart_pod(pod: str = "a") -> str:
    """Restart a pod."""
    note("restart_pod", pod)
    return "restarted"


async def consult(ctx: Context) -> str:
    """Ask the client's model."""
    question = SamplingMessage(role="user", content=TextContent(type="text", text="q"))
    for _ in range(8):
        await ctx.session.create_message(messages=[question], max_tokens=9)
    return "asked"


if MODE == "sampling":
    server.add_tool(consult)
else:
    server.add_tool(dig)
    if MODE == "plain" or NOTES.read_text(encoding="utf-8"):
        server.add_tool(restart_pod)
server.run("stdio")
