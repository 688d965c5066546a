"""A real HTTP server on loopback that answers what a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest


@dataclass(frozen=True)
class Asked:
    """One request as the server saw it; `fields` of the address and of a form together."""

    method: str
    path: str
    fields: dict[str, str]
    body: bytes
    headers: dict[str, str]


#: what a test answers: JSON, or (status, bytes), or (status, bytes, headers)
Answer = Any


@dataclass
class Stub:
    """The running server and what it was asked."""

    url: str
    asked: list[Asked] = field(default_factory=list)

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")


Serve = Callable[[Callable[[Asked], Answer]], Stub]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[ThreadingHTTPServer] = []

    def start(answer: Callable[[Asked], Answer]) -> Stub:
        stub = Stub("")

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                pass

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = urlsplit(self.path)
                text = parts.query
                if "form" in (self.headers.get("Content-Type") or ""):
                    text += "&" + body.decode()
                fields = {key: values[-1] for key, values in parse_qs(text).items()}
                asked = Asked(self.command, parts.path, fields, body, dict(self.headers))
                stub.asked.append(asked)
                given = answer(asked)
                if not isinstance(given, tuple):
                    given = (200, json.dumps(given).encode())
                status, data, *more = given
                headers = {"Content-Length": str(len(data)), **(more[0] if more else {})}
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
                self.close_connection = True

            do_GET = do_POST = _answer

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        stub.url = f"http://127.0.0.1:{server.server_address[1]}"
        return stub

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
