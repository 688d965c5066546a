"""A run that waits for a person: what is under way comes to its end, then the engine is left.

Nothing may go on after a step that waits, neither the next node of a graph with no output nor an
agent with an error for an answer. So the engine is left by an exception no handler of it or of an
app's catches (`except Exception`). The run is taken up again by replaying its journal.
"""

from __future__ import annotations

import asyncio
from typing import NoReturn

from google.adk.events.event import Event as EngineEvent

from roundsman.adk.current import current_actions
from roundsman.guard.events import ActionEnds, Event, RunEnds, StepEnds
from roundsman.ledger import LiveRun

WAIT_CODE = "ROUNDSMAN_WAITS"
"""Error code of the last event of a run that waits for a person."""
LONGEST = 600.0
"""Seconds for which what is under way beside a question may go on before it is broken off."""


class Paused(BaseException):
    """The run waits for a person; no answer of the engine's would be true."""


async def pause(run: LiveRun) -> NoReturn:
    """Let what is under way beside it end, then leave the engine.

    Raises:
        Paused: always.
    """
    run.held.update(current_actions())  # their results would be of work that was not done
    await _others_are_done(run)
    raise Paused(str(run.account.asks.blocking))


def busy(run: LiveRun) -> bool:
    """Whether a step is in flight, or an action inside of which nothing waits."""
    account = run.account
    return bool(account.reserved) or any(
        a not in run.held and a not in account.calling for a in account.open_actions
    )


async def _others_are_done(run: LiveRun) -> None:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def look(event: Event) -> None:
        if isinstance(event, StepEnds | ActionEnds | RunEnds):
            loop.call_soon_threadsafe(_wake, future)

    run.listeners.append(look)
    try:
        async with asyncio.timeout(LONGEST):
            while busy(run) and not run.account.ended:
                await future
                future = loop.create_future()  # before the next look, or an end could be missed
    except TimeoutError:
        pass
    finally:
        run.listeners.remove(look)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def farewell(run: LiveRun, author: str = "roundsman") -> EngineEvent:
    """The last event of a run that waits: what is asked, and how to answer."""
    return EngineEvent(author=author, error_code=WAIT_CODE, error_message=run.broken)
