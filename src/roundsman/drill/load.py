"""Customers: a steady number of orders a second, from a process of their own.

Open loop: an order is sent when it is due, whether the ones before were answered or not, as customers
do. At most `_MOST` wait at a time; what would be more is not sent.
"""

from __future__ import annotations

import asyncio
import random
import sys

import httpx

_MOST = 200
_CUSTOMERS = 100


async def send(url: str, rate: float) -> None:
    """Send `rate` orders a second for ever."""
    waiting: set[asyncio.Task[None]] = set()
    loop = asyncio.get_running_loop()
    async with httpx.AsyncClient(timeout=5.0, trust_env=False) as client:

        async def one() -> None:
            try:
                customer = random.randint(1, _CUSTOMERS)
                await client.get(url, params={"customer": customer})
            except httpx.HTTPError:
                pass  # a customer who got no answer; the gateway counts it

        due = loop.time()
        while True:
            due += random.uniform(0.7, 1.3) / rate
            await asyncio.sleep(max(0.0, due - loop.time()))
            if len(waiting) < _MOST:
                task = asyncio.create_task(one())
                waiting.add(task)
                task.add_done_callback(waiting.discard)


if __name__ == "__main__":
    asyncio.run(send(sys.argv[1], float(sys.argv[2])))
