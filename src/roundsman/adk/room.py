"""Waiting for room in a budget: a call that fits once others are settled is not cut for them."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from roundsman.guard.events import Event, RunEnds, StepEnds
from roundsman.ledger import LiveRun

LONGEST = 600.0
"""Seconds a call waits for one in flight before it is judged by what is there. A call in flight
ends by its own time-outs; this is for one whose reader has gone to sleep."""


class _Waiters:
    """The calls that wait on one run."""

    def __init__(self) -> None:
        self.open: set[asyncio.Future[None]] = set()

    def __call__(self, event: Event) -> None:
        if not self.open or not isinstance(event, StepEnds | RunEnds):
            return
        for waiter in self.open:
            waiter.get_loop().call_soon_threadsafe(_wake, waiter)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


_WAITERS: WeakKeyDictionary[LiveRun, _Waiters] = WeakKeyDictionary()


async def settled(run: LiveRun) -> bool:
    """Return when a call of the run was settled; False when none was for too long."""
    waiters = _WAITERS.get(run)
    if waiters is None:
        waiters = _WAITERS[run] = _Waiters()
        run.listeners.append(waiters)
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiters.open.add(waiter)
    try:
        await asyncio.wait_for(waiter, LONGEST)
    except TimeoutError:
        return False
    finally:
        waiters.open.discard(waiter)
    return True
