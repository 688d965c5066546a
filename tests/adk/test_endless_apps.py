"""An app that would go on for ever comes to its end with its run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.workflow import START, Workflow
from passing_time import PATIENCE

from roundsman.adk.breaker import MOST_AFTER
from roundsman.policy import Policy, load_policy
from roundsman.testing import GuardedResult, ScriptedModel, run_guarded

STEPS = 4


def policy() -> Policy:
    """No clock: only the ceiling can end it."""
    base = load_policy("default")
    bounds = {"steps": STEPS, "wall_clock": None}
    return base.model_copy(update={"run": base.run.model_copy(update=bounds), "exceptions": []})


def talker(name: str = "talker", **more: Any) -> LlmAgent:
    said = ScriptedModel(lambda request, number: f"{number} is another thing to say than before")
    return LlmAgent(name=name, model=said, **more)


class Silent(BaseAgent):
    """Says what is no model's."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        yield Event(author=self.name)


class Again(BaseAgent):
    """A loop of one's own that heeds nothing."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        while True:
            async for event in self.sub_agents[0].run_async(ctx):
                yield event


def back_and_forth() -> Any:
    def again(node_input: Any) -> Event:
        return Event(output="go on", route="again")

    agent = talker(mode="single_turn")
    return Workflow(name="graph", edges=[(START, agent), (agent, again), (again, {"again": agent})])


LOOPS = {
    "a loop": lambda: LoopAgent(name="loop", sub_agents=[talker()]),
    "a loop of several": lambda: LoopAgent(
        name="loop", sub_agents=[Silent(name="first"), talker(), Silent(name="last")]
    ),
    "a loop within another": lambda: LoopAgent(
        name="outer", sub_agents=[LoopAgent(name="inner", sub_agents=[talker()])]
    ),
    "a loop in a sequence": lambda: SequentialAgent(
        name="all", sub_agents=[LoopAgent(name="loop", sub_agents=[talker("a")]), talker("b")]
    ),
    "a sequence in a loop": lambda: LoopAgent(
        name="loop",
        sub_agents=[SequentialAgent(name="all", sub_agents=[talker("a"), talker("b")])],
    ),
    "a loop of many": lambda: LoopAgent(
        name="loop", sub_agents=[talker()], max_iterations=10 * MOST_AFTER
    ),
}
HEEDLESS = {"a loop of one's own": lambda: Again(name="own", sub_agents=[talker()]),
            "a graph that goes back": back_and_forth}  # fmt: skip


async def ended(app: Any) -> GuardedResult:
    result = await asyncio.wait_for(run_guarded(app, "go", policy()), PATIENCE)
    assert (result.status, result.stop) == ("stopped", "steps")
    assert result.account.steps == STEPS
    return result


@pytest.mark.parametrize("what", LOOPS)
async def test_a_loop_agent_ends_with_its_run(what: str) -> None:
    result = await ended(LOOPS[what]())
    assert len(result.events) < 5 * STEPS


@pytest.mark.parametrize("what", HEEDLESS)
async def test_what_goes_on_after_its_run_was_stopped_is_broken_off(what: str) -> None:
    result = await ended(HEEDLESS[what]())
    last = result.events[-1]
    assert (last.author, last.error_code) == ("roundsman", "ROUNDSMAN_STOP")
    assert "went on after its run was stopped" in (last.error_message or "")


async def test_what_an_app_says_after_its_run_was_stopped_is_heard() -> None:
    """Code that is no model's has its turn: it may keep what was found."""
    app = SequentialAgent(
        name="all",
        sub_agents=[LoopAgent(name="loop", sub_agents=[talker()]), Silent(name="keeper")],
    )
    result = await ended(app)
    assert result.events[-1].author == "keeper"
