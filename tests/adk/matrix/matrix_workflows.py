"""Cases: nodes of workflows."""

from __future__ import annotations

import asyncio
from typing import Any

from google.adk.agents import Context
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.tools import FunctionTool
from google.adk.tools._node_tool import NodeTool
from google.adk.workflow import START, Edge, JoinNode, Workflow, node
from matrix_agents import BUDGET, ask, calling
from matrix_lab import Case, Lab


def flow(*edges: Any, name: str = "flow") -> Workflow:
    return Workflow(name=name, edges=list(edges))


def dynamic(lab: Lab) -> Any:
    @node(name="body", rerun_on_resume=True)
    async def body(ctx: Context, node_input: Any) -> Any:
        return await ctx.run_node(lab.worker(), node_input="dig", run_id="r-1")

    return flow((START, body))


def parallel_dynamic(lab: Lab) -> Any:
    a, b = lab.worker("a"), lab.worker("b")

    @node(name="body", rerun_on_resume=True)
    async def body(ctx: Context, node_input: Any) -> Any:
        runs = [
            ctx.run_node(w, node_input="dig", run_id=f"r-{w.name}", use_sub_branch=True)
            for w in (a, b)
        ]
        return str(await asyncio.gather(*runs))

    return flow((START, body))


def fan_out(lab: Lab) -> Any:
    return flow((START, (lab.worker("a"), lab.worker("b")), JoinNode(name="join")))


def looped(lab: Lab) -> Any:
    worker = lab.worker()
    turns: list[int] = []

    def again(node_input: Any) -> Event:
        turns.append(1)
        return Event(output="dig", route="again" if len(turns) < 3 else "enough")

    def enough(node_input: Any) -> str:
        return "enough"

    check, last = node(again, name="again"), node(enough, name="enough")
    return flow(
        (START, worker, check),
        Edge(from_node=check, to_node=worker, route="again"),
        Edge(from_node=check, to_node=last, route="enough"),
    )


def node_tool(lab: Lab) -> Any:
    return calling(lab, "inner", NodeTool(flow((START, lab.worker()), name="inner")))


def plan(depth: Any) -> Any:
    def planned(node_input: Any) -> dict[str, Any]:
        return {"depth": depth}

    return node(planned, name="plan")


def tool_nodes(lab: Lab) -> Any:
    chain: list[Any] = [START, plan(240)]
    chain += [node(FunctionTool(lab.dig), name="first"), plan_after("p2", {"pod": "x"})]
    chain += [node(FunctionTool(lab.restart_pod), name="forbidden")]
    for turn in range(4):
        chain += [plan_after(f"q{turn}", {"depth": 240})]
        chain += [node(FunctionTool(lab.dig), name=f"again{turn}")]
    return flow(tuple(chain))


def plan_after(name: str, args: dict[str, Any]) -> Any:
    def planned(node_input: Any = None) -> dict[str, Any]:
        return args

    return node(planned, name=name)


def function_nodes(lab: Lab) -> Any:
    def dig(node_input: Any) -> dict[str, Any]:
        lab.dig(node_input["depth"])
        return {"depth": 240}

    @node(name="body", rerun_on_resume=True)
    async def body(ctx: Context, node_input: Any) -> Any:
        for turn in range(4):
            await ctx.run_node(node(dig, name="dig"), node_input={"depth": 240}, run_id=f"r-{turn}")
        return "done"

    return flow((START, body))


def undeclared(lab: Lab) -> Any:
    def apply_fix(node_input: Any) -> str:
        lab.restart_pod("fix")
        return "done"

    return flow((START, apply_fix))


def direct(lab: Lab) -> Any:
    model = lab.model(["fine"])

    @node(name="body")
    async def body(node_input: Any) -> str:
        return await ask(model)

    return App(name="matrix", root_agent=flow((START, body)))


BODY: dict[str, Any] = {"body": {}}
WORKFLOWS = {
    "workflow_node": Case(lambda lab: flow((START, lab.worker())), shares=frozenset({"worker"})),
    "dynamic_run_node": Case(dynamic, tools=BODY),
    "parallel_run_node": Case(parallel_dynamic, tools=BODY),
    "workflow_sequence": Case(lambda lab: flow((START, lab.worker("a"), lab.worker("b")))),
    "workflow_fan_out": Case(fan_out, shares=frozenset({"a", "b"})),
    "workflow_loop": Case(looped, tools={"again": {}, "enough": {}}),
    "node_tool": Case(node_tool, tools={"inner": {}}),
    "function_tool_node": Case(
        tool_nodes,
        tools={"plan": {}, "p2": {}, **{f"q{n}": {} for n in range(4)}},
        limits={"steps": 5, "actions": 6},
        stop="actions",
        checks=frozenset({"allowlist", "clamp"}),
    ),
    "function_node": Case(
        function_nodes,
        tools=BODY,
        limits={"actions": 3},
        stop="actions",
        checks=frozenset({"budget", "clamp"}),
    ),
    "undeclared_node": Case(
        undeclared, checks=frozenset({"allowlist"}), path="apply_fix: a plain function"
    ),
    "node_calls_model": Case(direct, tools=BODY, checks=BUDGET),
}
