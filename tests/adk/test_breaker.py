"""What hangs is broken off at the end of the wall clock, in an app without rounds too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import AgentTool
from passing_time import LONG, PATIENCE, time_passes

from roundsman.adk import current_run, scheduler
from roundsman.adk.breaker import Breaker
from roundsman.guard import Placed
from roundsman.guard.rules.budgets import WallClock
from roundsman.ledger import LiveRun, Store
from roundsman.policy import Policy, load_policy
from roundsman.testing import FakeClock, ScriptedModel, call, run_guarded

CLOCK = FakeClock()
"""The clock of the runs that hang."""
INSIDE: list[None] = []


def hangs() -> None:
    """Something is inside of what never comes to its end, and the time is used."""
    INSIDE.append(None)
    CLOCK.advance(LONG)
    time_passes()


@pytest.fixture(autouse=True)
def _nobody_inside() -> None:
    INSIDE.clear()


def policy(seconds: float | None) -> Policy:
    base = load_policy("default")
    return base.model_copy(
        update={"run": base.run.model_copy(update={"wall_clock": seconds}), "exceptions": []}
    )


class Hanging(ScriptedModel):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.calls += 1
        hangs()
        await asyncio.Event().wait()
        yield LlmResponse()


async def wait() -> str:
    """Wait for what never comes."""
    hangs()
    await asyncio.Event().wait()
    return "never"


async def wait_both() -> str:
    """Wait for what never comes, with another in line."""
    run = current_run()
    assert run is not None
    while len(scheduler._line(run).turns.live) < 2:
        await asyncio.sleep(0)
    hangs()
    await asyncio.Event().wait()
    return "never"


def tool(name: str = "a", wait: Callable[[], Awaitable[str]] = wait) -> LlmAgent:
    model = ScriptedModel([call(wait.__name__)])
    return LlmAgent(name=name, description="d", model=model, tools=[wait])


def nested() -> LlmAgent:
    model = ScriptedModel([call("a", request="x")])
    return LlmAgent(name="outer", model=model, tools=[AgentTool(tool())])


APPS = {
    "a tool": tool,
    "a model": lambda: LlmAgent(name="a", model=Hanging(["x"])),
    "a tool of an agent used as a tool": nested,
    "two at once": lambda: ParallelAgent(
        name="p", sub_agents=[tool("a", wait_both), tool("b", wait_both)]
    ),
}


@pytest.mark.parametrize("what", APPS)
async def test_what_hangs_is_broken_off(what: str) -> None:
    run = run_guarded(APPS[what](), "go", policy(LONG), clock=CLOCK)
    result = await asyncio.wait_for(run, PATIENCE)
    assert (result.status, result.stop) == ("stopped", "wall_clock")
    assert result.events[-1].error_code == "ROUNDSMAN_STOP"
    begun = [r.body["id"] for r in result.records if r.kind in ("action_begins", "step_begins")]
    ended = [r.body["id"] for r in result.records if r.kind in ("action_ends", "step_ends")]
    assert sorted(begun) == sorted(ended)
    this = asyncio.current_task()
    assert this is not None
    assert this.cancelling() == 0


async def test_a_caller_who_cancels_is_not_taken_for_the_clock() -> None:
    running = asyncio.create_task(run_guarded(tool(), "go", policy(3600.0)))
    while not INSIDE:
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_caller_who_cancels_at_the_same_time_is_cancelled() -> None:
    task: list[asyncio.Task[Any]] = []

    async def late() -> str:
        """Is cancelled once more while it is broken off."""
        hangs()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            task[0].cancel()
            raise
        return "never"

    agent = LlmAgent(name="a", model=ScriptedModel([call("late")]), tools=[late])
    task.append(asyncio.create_task(run_guarded(agent, "go", policy(LONG), clock=CLOCK)))
    with pytest.raises(asyncio.CancelledError):
        await task[0]


async def test_a_run_within_its_time_is_left_alone() -> None:
    agent = LlmAgent(name="a", model=ScriptedModel(["done"]))
    result = await run_guarded(agent, "go", policy(3600.0))
    assert (result.text, result.stop) == ("done", "done")


async def test_it_is_the_clock_of_the_run_that_counts() -> None:
    async def nap() -> str:
        """Nap."""
        await asyncio.sleep(0.5)
        return "awake"

    agent = LlmAgent(name="a", model=ScriptedModel([call("nap"), "done"]), tools=[nap])
    result = await run_guarded(agent, "go", policy(0.2), clock=FakeClock())
    assert (result.text, result.stop) == ("done", "done")


def clocked(tmp_path: Path, seconds: float) -> tuple[Breaker, LiveRun]:
    """A breaker that watches a run of so many seconds; needs a running event loop."""
    rules = [Placed(WallClock(seconds))]
    run = LiveRun.start(Store(tmp_path / "runs.sqlite"), rules, policy="p", clock=CLOCK)
    breaker = Breaker()
    breaker.watch(run)
    return breaker, run


async def test_a_run_that_may_not_be_broken_off_any_more_is_not(tmp_path: Path) -> None:
    breaker, run = clocked(tmp_path, LONG)
    breaker.start()
    run.cannot_wait = True  # a live session of its own began inside
    hangs()
    for _ in range(5):
        await asyncio.sleep(0)
    assert (breaker.fired, run.account.stopped) == ("", None)
    breaker.close()


def test_a_run_that_is_driven_by_another_event_loop_is_broken_off(tmp_path: Path) -> None:
    made: list[tuple[Breaker, LiveRun]] = []

    async def begin() -> None:
        made.append(clocked(tmp_path, LONG))
        made[0][0].start()
        made[0][0].rest()

    async def hang() -> None:
        made[0][0].start()
        hangs()
        await asyncio.Event().wait()

    asyncio.run(begin())
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(asyncio.wait_for(hang(), PATIENCE))
    assert made[0][0].fired
    assert made[0][1].account.stopped is not None
