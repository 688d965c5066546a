"""The checkout: reads a customer's lines, reserves the basket, writes the order and its receipt."""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from prometheus_client import Counter, Gauge, Histogram
from psycopg import AsyncConnection, Error
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from roundsman.drill.shop import runtime

CONFIG = runtime.config()
LOG = runtime.set_up_logging()
LOG_DIR = Path(os.environ["LOG_DIR"])

QUERIES = Counter("db_queries", "Statements sent to the database.")
QUERY_SECONDS = Histogram(
    "db_query_duration_seconds",
    "Time of one read of a basket.",
    buckets=(
        0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075,
        0.1, 0.15, 0.25, 0.5, 1.0, 2.5,
    ),
)  # fmt: skip
FAILED = Counter("checkout_failures", "Checkouts that failed.", ["reason"])
POOL_SIZE = Gauge("db_pool_size", "Connections the pool holds.")
POOL_FREE = Gauge("db_pool_available", "Connections nobody uses.")
POOL_WAITING = Gauge("db_pool_requests_waiting", "Requests that wait for a connection.")
POOL_MAX = Gauge("db_pool_max", "Connections the pool may hold.")

POOL: AsyncConnectionPool[Any] = AsyncConnectionPool(
    os.environ["DSN"],
    min_size=CONFIG["POOL_SIZE"],
    max_size=CONFIG["POOL_SIZE"],
    timeout=CONFIG["POOL_TIMEOUT_SECONDS"],
    open=False,
)
POOL_MAX.set(CONFIG["POOL_SIZE"])
POOL_SIZE.set_function(lambda: POOL.get_stats().get("pool_size", 0))
POOL_FREE.set_function(lambda: POOL.get_stats().get("pool_available", 0))
POOL_WAITING.set_function(lambda: POOL.get_stats().get("requests_waiting", 0))


async def ask(connection: AsyncConnection[Any], sql: str, *values: object) -> list[Any]:
    """One statement and its rows."""
    QUERIES.inc()
    cursor = await connection.execute(sql.encode(), values)
    return await cursor.fetchall() if cursor.description else []


async def read_basket(connection: AsyncConnection[Any], customer: int) -> list[Any]:
    """What the customer ordered before, with today's prices."""
    return await ask(
        connection,
        "SELECT l.product_id, count(*), sum(l.quantity * p.price) FROM order_lines l "
        "JOIN products p ON p.id = l.product_id WHERE l.customer_id = %s GROUP BY l.product_id",
        customer,
    )


async def within_quota(connection: AsyncConnection[Any], customer: int) -> bool:
    """Whether the customer has not bought in bulk too often."""
    found = await ask(
        connection,
        "SELECT count(*) FROM order_lines WHERE customer_id = %s AND quantity > 99",
        customer,
    )
    return bool(found[0][0] < 10)


async def write_order(connection: AsyncConnection[Any], customer: int) -> int:
    """Reserve the basket and write it down; the order's number."""
    await ask(connection, "SELECT pg_sleep(%s)", CONFIG["RESERVE_SECONDS"])
    await ask(
        connection,
        "INSERT INTO order_lines (customer_id, product_id, quantity) "
        "SELECT %s, n, 1 FROM generate_series(1, %s) AS n",
        customer,
        CONFIG["BASKET_LINES"],
    )
    found = await ask(
        connection, "INSERT INTO orders (customer_id) VALUES (%s) RETURNING id", customer
    )
    return int(found[0][0])


async def audit(order: int) -> None:
    """Auditors want a connection that nobody else uses: one is made for each entry."""
    async with await AsyncConnection.connect(os.environ["DSN"]) as connection:
        await ask(connection, "INSERT INTO audit (order_id) VALUES (%s)", order)


def write_receipt(order: int, customer: int, lines: list[Any]) -> None:
    """A receipt must be on disk before the customer is answered."""
    if CONFIG["LOG_LEVEL"] == "debug":
        with (LOG_DIR / "trace.log").open("a") as out:
            out.write(json.dumps({"order": order, "lines": [str(line) for line in lines]}) + "\n")
    with (LOG_DIR / "receipts.log").open("a") as out:
        out.write(json.dumps({"order": order, "customer": customer, "at": time.time()}) + "\n")


async def place_order(customer: int) -> int:
    """One checkout, in one transaction."""
    connection = await POOL.getconn()
    try:
        begun = time.perf_counter()
        lines = await read_basket(connection, customer)
        await within_quota(connection, customer)
        QUERY_SECONDS.observe(time.perf_counter() - begun)
        order = await write_order(connection, customer)
        await connection.commit()
    finally:
        await POOL.putconn(connection)
    if order % CONFIG["AUDIT_EVERY"] == 0:
        await audit(order)
    write_receipt(order, customer, lines)
    return order


async def checkout(request: Request) -> JSONResponse:
    """Answer one customer; what went wrong is logged and answered with 503 or 500."""
    customer = int(request.query_params["customer"])
    begun = time.perf_counter()
    try:
        order = await place_order(customer)
    except (PoolTimeout, Error, OSError) as error:
        kind = type(error).__name__
        FAILED.labels(kind).inc()
        LOG.error(f"checkout failed: {kind}: {error}", extra={"fields": {"customer_id": customer}})
        code = 503 if isinstance(error, PoolTimeout) else 500
        return JSONResponse({"error": kind}, status_code=code)
    if order % CONFIG["LOG_EVERY"] == 0:
        taken = round((time.perf_counter() - begun) * 1000, 1)
        LOG.info("order placed", extra={"fields": {"order": order, "ms": taken}})
    return JSONResponse({"order": order})


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """The pool lives as long as the service."""
    LOG.info("starting", extra={"fields": {"config": CONFIG}})
    await POOL.open()
    yield
    LOG.info("stopping")
    await POOL.close(timeout=2.0)


app = Starlette(routes=[Route("/checkout", checkout)], lifespan=lifespan)

if __name__ == "__main__":
    runtime.run(runtime.counted(app), os.environ["TLS_CERTIFICATE"], os.environ["TLS_KEY"])
