"""A model call that failed for a moment is made again, and each attempt is a step of its own: judged,
reserved, on record and charged as any other. Nothing below the guard may ask again by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from roundsman.adk.current import GUARDS
from roundsman.guard.events import Ruled
from roundsman.ledger import LiveRun


async def attempts(
    once: Callable[[], AsyncGenerator[Any, None]], model: Any, run: LiveRun | None
) -> AsyncIterator[Any]:
    """The responses of `once()`, begun anew while the model has patience with its failures.

    A model says so by `wait_after(error, attempt)`: seconds until the next attempt, None when
    there is none. Without it, outside of runs, and once anything was said, an error is passed on.
    """
    patience = getattr(model, "wait_after", None) if run is not None else None
    number = 0
    while True:
        number, said = number + 1, False
        try:
            async with aclosing(once()) as responses:
                async for response in responses:
                    said = True
                    yield response
            return
        except Exception as error:
            wait = None if patience is None or said else patience(error, number)
            if wait is None or run is None or run.account.stopped is not None:
                raise
            guard, told = GUARDS.get(run), str(error)
            told = guard.screen.clean(told) if guard else told
        why = f"asked again in {wait:g} s: {told}"[:400]
        note = Ruled(verdict="amend", rule="attempts", layer="model", reason=why)
        run.write(note, durable=False)
        await asyncio.sleep(wait)
