"""The gateway: what customers talk to. It calls the checkout over TLS."""

from __future__ import annotations

import json
import os
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from prometheus_client import Counter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from roundsman.drill.shop import runtime

CONFIG = runtime.config()
LOG = runtime.set_up_logging()
UPSTREAM, UPSTREAM_NAME = os.environ["UPSTREAM"], os.environ["UPSTREAM_NAME"]

FAILED = Counter("upstream_failures", "Calls of another service that failed.", ["reason"])

# connections are not kept: each call meets the other side as it is now
CLIENT = httpx.AsyncClient(
    verify=ssl.create_default_context(cafile=os.environ["TLS_AUTHORITY"]),
    timeout=CONFIG["CHECKOUT_TIMEOUT_SECONDS"],
    limits=httpx.Limits(max_keepalive_connections=0),
    trust_env=False,
)
FLAGS = Path(os.environ["FLAGS"])
IN_FLIGHT = PASSED = 0


def flag(name: str) -> bool:
    """Whether a feature is switched on now."""
    return bool(json.loads(FLAGS.read_text()).get(name))


def refuse(reason: str, code: int, said: str) -> JSONResponse:
    """Log why a customer gets no order, and say so."""
    FAILED.labels(reason).inc()
    LOG.error(f"call of {UPSTREAM_NAME} failed: {said}", extra={"fields": {"code": code}})
    return JSONResponse({"error": reason, "help": CONFIG["HELP_TEXT"]}, status_code=code)


async def order(request: Request) -> JSONResponse:
    """Pass one customer's order on."""
    global IN_FLIGHT, PASSED
    if CONFIG["MAX_IN_FLIGHT"] <= IN_FLIGHT:
        return refuse("overload", 503, f"not tried, {IN_FLIGHT} calls are already under way")
    IN_FLIGHT += 1
    begun = time.perf_counter()
    try:
        answer = await CLIENT.get(f"{UPSTREAM}/checkout", params=dict(request.query_params))
    except httpx.TimeoutException:
        spent = time.perf_counter() - begun
        return refuse("timeout", 504, f"timed out after {spent:.1f} s")
    except httpx.HTTPError as error:
        return refuse("connection", 502, f"{type(error).__name__}: {error}")
    finally:
        IN_FLIGHT -= 1
    if answer.status_code >= 500:
        return refuse("status", 502, f"it answered {answer.status_code}")
    PASSED += 1
    if PASSED % CONFIG["LOG_EVERY"] == 0:
        taken = round((time.perf_counter() - begun) * 1000, 1)
        LOG.info("order passed on", extra={"fields": {"ms": taken}})
    hint = {"hint": CONFIG["HELP_TEXT"]} if flag("order_hint") else {}
    return JSONResponse(answer.json() | hint)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """The client lives as long as the service."""
    LOG.info("starting", extra={"fields": {"config": CONFIG}})
    yield
    LOG.info("stopping")
    await CLIENT.aclose()


app = Starlette(routes=[Route("/order", order)], lifespan=lifespan)

if __name__ == "__main__":
    runtime.run(runtime.counted(app))
