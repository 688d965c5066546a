"""`agents.max_calls` bounds agents that other agents call, whichever way. What ran is counted inside
the model of the agent that is called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.context import Context
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool
from google.adk.tools._node_tool import NodeTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow, node

from roundsman.policy import Policy, load_policy
from roundsman.testing import GuardedResult, ScriptedModel, call, run_guarded

MOST, MANY = 3, 6
"""Calls the policy allows, and calls the caller makes."""


def policy(most: int | None, *excepted: str) -> Policy:
    base = load_policy("default").model_dump()
    data = {
        **base,
        "agents": {**base["agents"], "max_calls": most},
        "repetition": {"mode": "off"},
        "run": {**base["run"], "tokens": None, "steps": 100},
        "exceptions": [{"path": path, "why": "it is what is tested"} for path in excepted],
    }
    return Policy.model_validate(data)


class Expert(LlmAgent):
    """An agent that is called; one model call of it is one run."""

    def __init__(self, script: Any = "yes", **more: Any) -> None:
        model = ScriptedModel(script if callable(script) else [script])
        super().__init__(name="expert", description="knows", model=model, **more)

    @property
    def runs(self) -> int:
        assert isinstance(self.model, ScriptedModel)
        return self.model.calls


def caller(name: str, *tools: Any, **more: Any) -> LlmAgent:
    """Calls `name` again and again, then answers."""
    model = ScriptedModel(lambda r, n: call(name, request=f"{n}") if n < MANY else "done")
    return LlmAgent(name="caller", model=model, tools=list(tools), **more)


def agent_tool(expert: Expert) -> Any:
    return caller("expert", AgentTool(expert))


def agent_tool_without_plugins(expert: Expert) -> Any:
    return caller("expert", AgentTool(expert, include_plugins=False))


def single_turn(expert: Expert) -> Any:
    expert.mode = "single_turn"
    return caller("expert", sub_agents=[expert])


def node_tool(expert: Expert) -> Any:
    graph = Workflow(name="graph", edges=[(START, expert)])
    return caller("graph", NodeTool(node=graph, name="graph", description="asks the expert"))


def agent_run_by_a_tool(expert: Expert) -> Any:
    tool = AgentTool(expert)

    async def consult(request: str, tool_context: ToolContext) -> str:
        """Ask the expert."""
        return str(await tool.run_async(args={"request": request}, tool_context=tool_context))

    return caller("consult", consult)


def runner_of_a_tool(expert: Expert) -> Any:
    async def consult(request: str) -> str:
        """Ask the expert."""
        runner = InMemoryRunner(agent=expert, app_name="own")
        events = await runner.run_debug(request, quiet=True)
        return str(events[-1].content)

    return caller("consult", consult)


def steps_run_by_a_tool(expert: Expert) -> Any:
    """An agent made of steps is one call, however many steps it has."""
    steps = SequentialAgent(name="steps", sub_agents=[expert])

    async def consult(request: str) -> str:
        """Ask the expert."""
        runner = InMemoryRunner(agent=steps, app_name="own")
        await runner.run_debug(request, quiet=True)
        return request

    return caller("consult", consult)


def transfer(expert: Expert) -> Any:
    """Handed over and handed back."""
    model = ScriptedModel(
        lambda r, n: call("transfer_to_agent", agent_name="expert") if n < MANY else "done"
    )
    return LlmAgent(name="caller", model=model, sub_agents=[expert])


def task(expert: Expert) -> Any:
    return caller("expert", sub_agents=[expert])


def back(request: Any, n: int) -> Any:
    return call("transfer_to_agent", agent_name="caller")


def finish(request: Any, n: int) -> Any:
    return call("finish_task", result="yes")


def expert_for(way: str) -> Expert:
    return Expert(finish, mode="task") if way == "task" else Expert("yes")


WAYS: dict[str, Callable[[Expert], Any]] = {
    "agent_tool": agent_tool,
    "agent_tool_without_plugins": agent_tool_without_plugins,
    "single_turn": single_turn,
    "node_tool": node_tool,
    "agent_run_by_a_tool": agent_run_by_a_tool,
    "runner_of_a_tool": runner_of_a_tool,
    "steps_run_by_a_tool": steps_run_by_a_tool,
    "task": task,
}


async def run(root: Any, most: int | None) -> GuardedResult:
    return await asyncio.wait_for(run_guarded(root, "go", policy(most, "expert")), 300)


@pytest.mark.parametrize("way", WAYS)
async def test_the_last_call_that_is_allowed_runs_and_the_next_does_not(way: str) -> None:
    expert = expert_for(way)
    result = await run(WAYS[way](expert), MOST)
    assert (expert.runs, result.account.nested) == (MOST, MOST)
    refused = [
        r.body for r in result.records if r.kind == "ruled" and r.body["rule"] == "agent_calls"
    ]
    assert refused
    assert "3 of 3 agents were called" in refused[0]["reason"]


@pytest.mark.parametrize("way", WAYS)
async def test_without_the_limit_all_of_them_run(way: str) -> None:
    expert = expert_for(way)
    await run(WAYS[way](expert), None)
    assert expert.runs == MANY


@pytest.mark.parametrize(("most", "runs"), [(MOST, 2), (None, MANY)])
async def test_handing_over_and_handing_back_are_calls(most: int | None, runs: int) -> None:
    expert = Expert(back)
    result = await run(transfer(expert), most)
    # there, back, there: the expert's wish to hand back is refused, and it is asked again
    assert expert.runs >= runs
    transfers = [r for r in result.records if r.kind == "action_begins"]
    assert len(transfers) == (most or 2 * MANY) == result.account.nested


def graphs(expert: Expert) -> dict[str, Any]:
    @node(rerun_on_resume=True)
    async def body(ctx: Context, node_input: Any) -> str:
        for n in range(2):
            await ctx.run_node(expert, node_input="x", run_id=f"r-{n}")
        return "done"

    return {
        "sequence": lambda: SequentialAgent(name="all", sub_agents=[expert]),
        "parallel": lambda: ParallelAgent(name="all", sub_agents=[expert]),
        "loop": lambda: LoopAgent(name="all", sub_agents=[expert], max_iterations=2),
        "workflow": lambda: Workflow(name="all", edges=[(START, expert)]),
        "run_node": lambda: Workflow(name="all", edges=[(START, body)]),
    }


@pytest.mark.parametrize("graph", ["sequence", "parallel", "loop", "workflow", "run_node"])
async def test_what_the_graph_of_the_app_runs_is_no_call(graph: str) -> None:
    expert = Expert("yes")
    result = await run(graphs(expert)[graph](), 0)
    assert expert.runs == (2 if graph in ("loop", "run_node") else 1)
    assert (result.account.nested, result.stop) == (0, "done")


async def test_a_task_that_may_not_be_given_ends_the_run_and_says_so() -> None:
    result = await run(task(expert_for("task")), MOST)
    assert (result.status, result.stop) == ("stopped", "actions")


async def test_the_refused_caller_reads_why_and_goes_on() -> None:
    result = await run(agent_tool(Expert("yes")), MOST)
    assert result.text == "done"
    blocked = [r for r in result.results("expert") if r.get("status") == "blocked"]
    assert len(blocked) == MANY - MOST
    assert "go on with what you have" in blocked[0]["reason"]
