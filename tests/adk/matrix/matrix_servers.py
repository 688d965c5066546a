"""Cases: tools and agents behind a server, each a real one on loopback or stdio."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import uvicorn
from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.tools import AgentTool
from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
from google.adk.tools.openapi_tool import OpenAPIToolset
from matrix_agents import BUDGET
from matrix_lab import BUSY, Case, Lab
from mcp import StdioServerParameters
from mcp.types import CreateMessageResult, TextContent

from roundsman.testing import ScriptedModel, call


def operation(name: str, arg: str, kind: str) -> dict[str, Any]:
    query = {"name": arg, "in": "query", "required": True, "schema": {"type": kind}}
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": {}}}}}
    body = {"operationId": name, "parameters": [query], "responses": answer, "summary": name}
    return {"post": body}


@asynccontextmanager
async def http_server(lab: Lab) -> AsyncIterator[str]:
    """Two operations over HTTP; yields the specification."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            url = urlsplit(self.path)
            given = {k: v[0] for k, v in parse_qs(url.query).items()}
            said = lab.dig(**given) if url.path == "/dig" else lab.restart_pod(**given)
            body = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    spec = {
        "openapi": "3.0.0",
        "info": {"title": "pods", "version": "1"},
        "servers": [{"url": f"http://127.0.0.1:{server.server_port}"}],
        "paths": {
            "/dig": operation("dig", "depth", "integer"),
            "/restart": operation("restart_pod", "pod", "string"),
        },
    }
    try:
        yield json.dumps(spec)
    finally:
        server.shutdown()
        server.server_close()


def openapi(lab: Lab, spec: str) -> Any:
    toolset = OpenAPIToolset(spec_str=spec, spec_str_type="json", allow_private_network_access=True)
    return lab.worker(tools=[toolset])


def mcp_server(mode: str) -> Callable[[Lab], AbstractAsyncContextManager[Any]]:
    """Parameters of a server of its own; what it noted is counted at the end."""

    @asynccontextmanager
    async def serve(lab: Lab) -> AsyncIterator[StdioConnectionParams]:
        with tempfile.TemporaryDirectory() as folder:
            notes = Path(folder) / "notes"
            notes.touch()
            script = str(Path(__file__).with_name("mcp_server.py"))
            command = StdioServerParameters(command=sys.executable, args=[script, str(notes), mode])
            yield StdioConnectionParams(server_params=command, timeout=300)
            for line in notes.read_text(encoding="utf-8").splitlines():
                tool, value = line.split(" ", 1)
                lab.log.append((tool, value))

    return serve


def mcp(lab: Lab, params: Any) -> Any:
    return lab.worker(tools=[McpToolset(connection_params=params)])


def mcp_changing(lab: Lab, params: Any) -> Any:
    """The worker is called twice; what the server offers has changed by the second time."""

    def script(request: Any, n: int) -> Any:
        if n == 1:
            return "done"
        if n == 2:
            return call("restart_pod", pod="b")
        return call("dig", depth=240) if n < BUSY else "done"

    tools = [McpToolset(connection_params=params)]
    inner = lab.worker(model=lab.model(script), tools=tools)
    outer = lab.model(lambda r, n: call("worker", request="dig") if n < 2 else "done")
    return LlmAgent(name="outer", model=outer, tools=[AgentTool(inner)])


def mcp_sampling(lab: Lab, params: Any) -> Any:
    async def answer(context: Any, asked: Any) -> CreateMessageResult:
        lab.log.append(("model", "sampled"))
        said = TextContent(type="text", text="a")
        return CreateMessageResult(role="assistant", content=said, model="m")

    tools = [McpToolset(connection_params=params, sampling_callback=answer)]
    return LlmAgent(name="worker", model=lab.model([call("consult"), "done"]), tools=tools)


@asynccontextmanager
async def a2a_server(lab: Lab) -> AsyncIterator[str]:
    """An agent that digs when it is asked; yields the address of its card."""

    def remote_dig() -> str:
        """Dig over there."""
        lab.log.append(("remote", 1))
        return "dug"

    model = ScriptedModel([call("remote_dig"), "dug over there"])
    far = LlmAgent(name="far", model=model, tools=[remote_dig], description="digs")
    config = uvicorn.Config(app="", host="127.0.0.1", port=0, log_level="error")
    socket = config.bind_socket()
    port = socket.getsockname()[1]
    config.app = to_a2a(far, host="127.0.0.1", port=port)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: server.run(sockets=[socket]), daemon=True)
    thread.start()
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}/.well-known/agent-card.json"
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join)


def remote(card: str) -> RemoteA2aAgent:
    return RemoteA2aAgent(name="remote", agent_card=card, description="digs")


def after_remote(lab: Lab, card: str) -> Any:
    return SequentialAgent(name="all", sub_agents=[remote(card), lab.worker()])


SERVERS = {
    "openapi_toolset": Case(openapi, serve=http_server),
    "mcp_toolset": Case(mcp, serve=mcp_server("plain")),
    "mcp_changing_tools": Case(mcp_changing, serve=mcp_server("late"), tools={"worker": {}}),
    "mcp_sampling": Case(
        mcp_sampling,
        serve=mcp_server("sampling"),
        tools={"consult": {}},
        checks=BUDGET,
        path=r"worker\.McpToolset: ",
    ),
    "remote_agent": Case(
        after_remote,
        serve=a2a_server,
        checks=frozenset({"budget", "allowlist", "clamp", "remote"}),
    ),
}
