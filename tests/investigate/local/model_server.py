"""An OpenAI-compatible server on loopback that says what a test tells it to, right or wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


class Raw:
    """A reply as it goes over the wire: pieces after a head, which says a length when there is one."""

    def __init__(
        self,
        pieces: Callable[[], Iterator[bytes]] | bytes,
        status: int = 200,
        kind: str = "application/json",
        length: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.headers = headers or {}
        self.pieces = pieces if callable(pieces) else lambda: iter([pieces])
        self.status, self.kind = status, kind
        self.length = len(pieces) if isinstance(pieces, bytes) and length is None else length


class Server:
    """`asked` holds every chat request, `say(n, body)` gives the reply to the n-th (from 1)."""

    def __init__(self, say: Callable[[int, Body], Body | Raw], models: Any, secret: str) -> None:
        self.asked: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.say, self.models, self.secret = say, models, secret
        self.url = ""
        self.over = threading.Event()


def reply(
    content: Any = None, calls: list[tuple[str, Any]] | None = None, usage: Any = None, **more: Any
) -> Body:
    """A chat completion."""
    message: Body = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call-{n}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(args)},
            }
            for n, (name, args) in enumerate(calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    used = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return {**body, "usage": used if usage is None else usage, **more}


def step(tool: str, **args: Any) -> Body:
    """A constrained reply that calls a tool."""
    return reply(json.dumps({"step": {"tool": tool, "args": args}}))


def answer(*statements: str, evidence: str = "a1", done: bool = False) -> Body:
    """A constrained reply that ends the round."""
    findings = [{"statement": one, "evidence": [evidence]} for one in statements]
    return reply(json.dumps({"step": {"findings": findings, "done": done}}))


@contextmanager
def model_server(
    say: Callable[[int, Body], Body | Raw],
    models: Any = ("m",),
    secret: str = "",
    props: Body | None = None,
) -> Iterator[Server]:
    """A server that is gone with the block. `secret`: what the header X-Proxy must hold."""
    state = Server(say, models, secret)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self._let_in():
                return
            if self.path == "/props" and props:
                self._send(Raw(json.dumps(props).encode()))
            elif self.path != "/v1/models" or state.models is None:
                self._send(Raw(b"{}", 404))
            elif isinstance(state.models, Raw):
                self._send(state.models)
            else:
                rows = [m if isinstance(m, dict) else {"id": m} for m in state.models]
                self._send(Raw(json.dumps({"data": rows}).encode()))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self._let_in():
                return
            state.asked.append(body)
            state.headers.append({k.lower(): v for k, v in self.headers.items()})
            said = state.say(len(state.asked), body)
            self._send(said if isinstance(said, Raw) else Raw(json.dumps(said).encode()))

        def _let_in(self) -> bool:
            if not state.secret or self.headers.get("X-Proxy") == state.secret:
                return True
            self._send(Raw(b'{"error": {"message": "who are you?"}}', 401))
            return False

        def _send(self, raw: Raw) -> None:
            with suppress(OSError):
                self.send_response(raw.status)
                self.send_header("Content-Type", raw.kind)
                if raw.length is not None:
                    self.send_header("Content-Length", str(raw.length))
                for name, value in raw.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for piece in raw.pieces():
                    if state.over.is_set():
                        break
                    self.wfile.write(piece)
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=lambda: server.serve_forever(0.05), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        state.over.set()
        server.shutdown()
        server.server_close()
