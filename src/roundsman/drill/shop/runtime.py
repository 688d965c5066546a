"""What every service of the shop shares: its settings, JSON log lines, metrics and the two servers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn
from cryptography.x509 import load_pem_x509_certificate
from prometheus_client import Counter, Gauge, Histogram, make_asgi_app

SERVICE = os.environ.get("SERVICE", "service")
VERSION = os.environ.get("VERSION", "v0")

_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
_REQUESTS = Counter("http_requests", "Requests answered.", ["route", "code"])
_SECONDS = Histogram("http_request_duration_seconds", "Latency.", ["route"], buckets=_BUCKETS)
_IN_FLIGHT = Gauge("http_requests_in_flight", "Requests being answered.")
_ENDS = Gauge(
    "tls_certificate_not_after_seconds", "When the certificate ends, epoch seconds.", ["name"]
)
_BUILD = Gauge("app_build_info", "The running version.", ["version"])

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[Any, Any, Any], Awaitable[None]]


def config() -> dict[str, Any]:
    """The deployed settings."""
    found: dict[str, Any] = json.loads(Path(os.environ["CONFIG"]).read_text())
    return found


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        row = {
            "ts": at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z",
            "level": record.levelname,
            "service": SERVICE,
            "version": VERSION,
            "logger": record.name,
            "msg": " ".join(record.getMessage().split())[:400],
        }
        return json.dumps(row | getattr(record, "fields", {}))


def set_up_logging() -> logging.Logger:
    """JSON lines on standard output, the libraries' own warnings among them."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_Json())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    log = logging.getLogger("app")
    log.setLevel(logging.INFO)
    return log


def counted(app: App) -> App:
    """An ASGI application whose requests are counted and timed."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        begun, code = time.perf_counter(), 500

        async def note(message: dict[str, Any]) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
            await send(message)

        try:
            with _IN_FLIGHT.track_inprogress():
                await app(scope, receive, note)
        finally:
            _REQUESTS.labels(scope["path"], str(code)).inc()
            _SECONDS.labels(scope["path"]).observe(time.perf_counter() - begun)

    return wrapped


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        # two servers share the loop: `run` hands both the signal
        yield


async def _serve(app: App, certificate: str | None, key: str | None) -> None:
    quiet: dict[str, Any] = {"log_config": None, "access_log": False, "lifespan": "on"}
    front = uvicorn.Config(
        app, ssl_certfile=certificate, ssl_keyfile=key, timeout_graceful_shutdown=3, **quiet
    )
    back = uvicorn.Config(make_asgi_app(), **{**quiet, "lifespan": "off"})
    servers = [_Server(front), _Server(back)]

    def leave() -> None:
        for server in servers:
            server.should_exit = True

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, leave)
    loop.add_signal_handler(signal.SIGINT, leave)
    sockets = [socket.socket(fileno=int(os.environ[name])) for name in ("APP_FD", "METRICS_FD")]
    running = [
        asyncio.create_task(server.serve(sockets=[one]))
        for server, one in zip(servers, sockets, strict=True)
    ]
    while not all(server.started for server in servers):
        if any(task.done() for task in running):
            sys.exit(3)
        await asyncio.sleep(0.02)
    Path(os.environ["READY_FILE"]).touch()
    await asyncio.gather(*running)


def run(app: App, certificate: str | None = None, key: str | None = None) -> None:
    """Serve an application, and its metrics on a port of their own, until told to end."""
    _BUILD.labels(VERSION).set(1)
    if certificate is not None:
        found = load_pem_x509_certificate(Path(certificate).read_bytes())
        _ENDS.labels(SERVICE).set(found.not_valid_after_utc.timestamp())
    asyncio.run(_serve(app, certificate, key))
