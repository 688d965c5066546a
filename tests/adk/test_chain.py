"""Agents that call agents: by the policy, and by `CallChain` alone. What ran is counted inside the
models."""

from __future__ import annotations

from typing import Any

import pytest
from engine_runs import events_of
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.tools import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from roundsman.adk import CallChain
from roundsman.policy import load_policy
from roundsman.testing import ScriptedModel, call

POLICY = load_policy("default")
ALONE_AND_GUARDED = pytest.mark.parametrize("guarded", [False, True], ids=["alone", "guarded"])


async def run(root: LlmAgent, guarded: bool, chain: bool = True) -> list[Any]:
    if guarded:
        return await events_of(root, POLICY)
    app = App(name="desk", root_agent=root, plugins=[CallChain(max_depth=3)] if chain else [])
    return await events_of(app)


def chain_of(*names: str) -> dict[str, LlmAgent]:
    """Agents of which each asks the next; the last answers."""
    made: dict[str, LlmAgent] = {}
    below: LlmAgent | None = None
    for name in reversed(names):
        script = [f"{name} knows"] if below is None else [call(below.name, request="?"), "ok"]
        tools: list[Any] = [] if below is None else [AgentTool(below)]
        below = LlmAgent(name=name, model=ScriptedModel(script), description=name, tools=tools)
        made[name] = below
    return made


def calls(agent: LlmAgent) -> int:
    assert isinstance(agent.model, ScriptedModel)
    return agent.model.calls


@ALONE_AND_GUARDED
async def test_three_deep_runs_and_a_fourth_does_not(guarded: bool) -> None:
    agents = chain_of("one", "two", "three", "four")
    await run(agents["one"], guarded)
    assert [calls(a) for a in agents.values()] == [0, 2, 2, 2]
    assert list(agents) == ["four", "three", "two", "one"]


async def test_without_the_guard_the_fourth_runs() -> None:
    agents = chain_of("one", "two", "three", "four")
    await run(agents["one"], False, chain=False)
    assert calls(agents["four"]) == 1


@ALONE_AND_GUARDED
async def test_the_caller_reads_why(guarded: bool) -> None:
    agents = chain_of("one", "two", "three", "four")
    seen: list[str] = []
    model = agents["three"].model
    assert isinstance(model, ScriptedModel)

    def script(request: Any, n: int) -> Any:
        if n == 0:
            return call("four", request="?")
        seen.append(str(request.contents[-1].parts[0].function_response.response))
        return "ok"

    model._script = script
    await run(agents["one"], guarded)
    assert "the chain one > two > three > four is deeper than 3" in seen[0]


class Again(BaseTool):
    """A tool that calls an agent already above it, as a registry of agents would."""

    def __init__(self) -> None:
        super().__init__(name="again", description="Ask the first one again.")
        self.agent: Any = None

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return await AgentTool(self.agent).run_async(
            args={"request": "again"}, tool_context=tool_context
        )


@pytest.mark.parametrize(
    ("guarded", "chain", "bounded"),
    [(False, True, True), (True, True, True), (False, False, False)],
    ids=["alone", "guarded", "unguarded"],
)
async def test_an_agent_does_not_run_below_itself(
    guarded: bool, chain: bool, bounded: bool
) -> None:
    tool = Again()

    def script(request: Any, n: int) -> Any:
        # without a guard it asks itself until it has had enough
        results = [p for c in request.contents for p in c.parts or [] if p.function_response]
        return "enough" if results or n > 4 else call("again")

    model = ScriptedModel(script)
    agent = LlmAgent(name="one", model=model, description="one", tools=[tool])
    tool.agent = LlmAgent(name="one", model=model, description="one", tools=[tool])
    await run(agent, guarded, chain)
    assert calls(agent) == 2 if bounded else calls(agent) > 5


@ALONE_AND_GUARDED
async def test_sisters_may_use_the_same_agent(guarded: bool) -> None:
    expert = LlmAgent(name="expert", model=ScriptedModel(["yes"]), description="e")
    asks = [call("expert", request="a"), call("expert", request="b")]
    root = LlmAgent(
        name="root", model=ScriptedModel([asks, asks[0], "ok"]), tools=[AgentTool(expert)]
    )
    await run(root, guarded)
    assert calls(expert) == 3


@ALONE_AND_GUARDED
async def test_a_sub_agent_that_is_called_is_in_the_chain(guarded: bool) -> None:
    agents = chain_of("two", "three", "four")
    agents["two"].mode = "single_turn"
    script = [call("two", request="?"), "ok"]
    root = LlmAgent(name="one", model=ScriptedModel(script), sub_agents=[agents["two"]])
    await run(root, guarded)
    assert [calls(agents[n]) for n in ("two", "three", "four")] == [2, 2, 0]


def test_a_depth_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="max_depth is 0"):
        CallChain(max_depth=0)
