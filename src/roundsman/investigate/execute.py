"""Run a guarded app once and keep its account, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.genai import types

from roundsman.adk import plugin_of
from roundsman.adk.waiting import Paused
from roundsman.errors import RoundsmanError
from roundsman.guard import Kind, Verdict
from roundsman.guard.decide import ask_instead
from roundsman.guard.events import StepBegins
from roundsman.guard.rules.budgets import WallClock
from roundsman.investigate.interruption import INTERRUPTION
from roundsman.ledger import LiveRun
from roundsman.ledger.waits import KILL_SWITCH


async def execute(
    app: App,
    run: LiveRun,
    question: str,
    sessions: BaseSessionService | None = None,
    *,
    complete: Callable[[LiveRun], None] | None = None,
) -> dict[str, Any]:
    """The loop's output, or what was held when it broke off; the run is ended on every way out.

    `sessions` is the engine's own store (default: memory, since the journal is what counts).
    `complete` ends a run without a loop, whose engine came to its end by itself; what Ctrl-C breaks off
    is then not ended, but left to be taken up again.

    The engine's own call limit is off (the guarded model counts): it would raise before the model
    is reached and knows nothing of nested runs.
    """
    service = sessions or InMemorySessionService()
    runner = Runner(app=app, session_service=service)
    session = await service.create_session(app_name=app.name, user_id="oncall")
    plugin_of(app).expect(session.id, run)
    message = types.Content(role="user", parts=[types.Part(text=question)])
    output: dict[str, Any] = {}
    limit = _wall_clock(run)
    left = None if limit is None else max(0.0, limit - run.account.active)
    deadline = asyncio.timeout(left)
    switch = asyncio.create_task(_kill_switch(run, deadline))
    try:
        async with deadline:
            async for event in runner.run_async(
                user_id="oncall",
                session_id=session.id,
                new_message=message,
                run_config=RunConfig(max_llm_calls=0),
            ):
                if isinstance(event.output, dict) and "findings" in event.output:
                    output = event.output
    except TimeoutError as error:
        if deadline.expired():
            _out_of_time(run, f"{limit:g} s used; what was still running was broken off")
        else:
            _failed(run, error)
    except (KeyboardInterrupt, asyncio.CancelledError):
        if complete is None:
            run.end("aborted", detail=INTERRUPTION.said())
        raise
    except Paused:
        pass
    except Exception as error:
        _failed(run, error)
    finally:
        switch.cancel()
    if run.waits:
        run.pause()
        return output
    stopped = run.account.ending
    if stopped is None and complete is not None:
        complete(run)
    elif stopped is None:
        run.end("failed", detail="the engine ended the run without an answer")
    else:
        run.end(stopped.reason, stopped.rule, stopped.layer, stopped.detail)
    return output


LOOK_AGAIN_S, GRACE_S = 0.5, 5.0
"""How often a run looks whether it was asked to end while a call is in flight, and how long that
call has then to end by itself."""


async def _kill_switch(run: LiveRun, deadline: asyncio.Timeout) -> None:
    """Break off a call that hangs when the run was stopped from another process: the account looks
    before each call, and a hung one has no next."""
    with suppress(RoundsmanError):  # a journal that cannot be used is told at the next call
        while run.account.stopped is None:
            await asyncio.sleep(LOOK_AGAIN_S)
            run.heed()
        if run.account.stopped.rule == KILL_SWITCH:
            await asyncio.sleep(GRACE_S)
            deadline.reschedule(asyncio.get_running_loop().time())


def _failed(run: LiveRun, error: Exception) -> None:
    """End the run as failed, unless it was stopped already: then the error is what came of that."""
    if run.account.stopped is None:
        # our own errors say all there is to say; of another's, its name is half of it
        kind = "" if isinstance(error, RoundsmanError) else f"{type(error).__name__}: "
        run.end("failed", layer="", detail=f"{kind}{error}"[:500])


def _out_of_time(run: LiveRun, why: str) -> None:
    """The wall clock ended what was in flight: ask for more, or stop."""
    clock = next(p for p in run.rules if isinstance(p.rule, WallClock))
    over = Verdict(
        Kind.STOP, WallClock.name, WallClock.layer, why, "wall_clock", None, {"limit": 0}
    )
    verdict = ask_instead(run.account, over) if clock.asks else over
    if run.account.stopped is None and verdict.kind is Kind.ASK:
        run.ask(verdict, StepBegins())
    else:
        run.stop("wall_clock", why, WallClock.name, WallClock.layer)


def _wall_clock(run: LiveRun) -> float | None:
    """Seconds the policy gives the run. The rule looks before each call; a call that hangs ends by
    the clock itself."""
    limits = [
        placed.rule.most(run.account)
        for placed in run.rules
        if isinstance(placed.rule, WallClock) and placed.mode == "enforce"
    ]
    return min(limits, default=None)
