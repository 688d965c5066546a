"""A loopback proxy before a model's server: counts what really arrives there, keeps what was written,
and gives every request its seed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

LONGEST = 1800.0  # seconds of one reply


@dataclass(frozen=True, slots=True)
class Exchange:
    """One chat request as the server got it, and its reply; `status` 0: no reply came."""

    asked: dict[str, Any]
    status: int
    said: dict[str, Any]

    @property
    def choice(self) -> dict[str, Any]:
        """The first choice, empty when there is none."""
        rows = self.said.get("choices")
        first = rows[0] if isinstance(rows, list) and rows else {}
        return first if isinstance(first, dict) else {}

    @property
    def text(self) -> str:
        """What the model wrote."""
        content = (self.choice.get("message") or {}).get("content")
        return content if isinstance(content, str) else ""

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Its native tool calls."""
        return (self.choice.get("message") or {}).get("tool_calls") or []

    @property
    def cut(self) -> bool:
        """Whether the reply was ended by its length."""
        return self.choice.get("finish_reason") == "length"

    @property
    def constrained(self) -> bool:
        """Whether a schema was asked for."""
        return bool(self.asked.get("response_format"))


class Proxy:
    """`exchanges` holds every chat request. The n-th since `restart` gets seed + n: the same run twice
    asks the same, and no two requests of it share their luck."""

    def __init__(
        self, upstream: str, headers: Mapping[str, str], temperature: float, most: int
    ) -> None:
        self.upstream, self.temperature, self.most = upstream.rstrip("/"), temperature, most
        self.exchanges: list[Exchange] = []
        self.url = ""
        self.seed = 0
        self._lock = threading.Lock()
        self._client = httpx.Client(
            headers=dict(headers), timeout=httpx.Timeout(LONGEST, connect=5.0), trust_env=False
        )

    def restart(self, seed: int) -> None:
        """Forget what was, and begin with this seed."""
        with self._lock:
            self.seed, self.exchanges = seed, []

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def get(self, path: str) -> tuple[int, bytes]:
        """Passed on as it is."""
        answer = self._client.get(self.upstream.removesuffix("/v1") + path)
        return answer.status_code, answer.content

    def chat(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        """Passed on with seed, temperature and a bound on its length."""
        with self._lock:
            number = len(self.exchanges)
            self.exchanges.append(Exchange(body, 0, {}))
        body = {**body, "seed": self.seed * 1000 + number, "temperature": self.temperature}
        body["max_tokens"] = min(int(body.get("max_tokens") or self.most), self.most)
        try:
            answer = self._client.post(self.upstream.removesuffix("/v1") + path, json=body)
            status, data = answer.status_code, answer.content
        except httpx.HTTPError as error:
            status, data = 502, json.dumps({"error": {"message": str(error)}}).encode()
        with suppress(ValueError):
            said = json.loads(data)
            with self._lock:
                self.exchanges[number] = Exchange(
                    body, status, said if isinstance(said, dict) else {}
                )
        return status, data


@contextmanager
def counting(
    upstream: str,
    headers: Mapping[str, str] | None = None,
    temperature: float = 0.7,
    most: int = 256,
) -> Iterator[Proxy]:
    """A proxy that is gone with the block.

    Args:
        upstream: the server's address.
        headers: what that server needs; sent, kept nowhere.
        temperature: of every reply.
        most: tokens of one reply at most.
    """
    proxy = Proxy(upstream, headers or {}, temperature, most)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._reply(*proxy.get(self.path))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._reply(*proxy.chat(self.path, body))

        def _reply(self, status: int, data: bytes) -> None:
            with suppress(OSError):  # who asked may have left
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=lambda: server.serve_forever(0.05), daemon=True).start()
    proxy.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        proxy.close()
