"""Apps in which agents are below agents in every way the engine has, with a truth of their own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.runners import InMemoryRunner
from google.adk.tools._node_tool import NodeTool
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import START, Edge, Workflow, node
from google.genai import types

from roundsman import guarded, load_policy, loop_until_done
from roundsman.adk import ScriptedModel, call, resume
from roundsman.ledger import Store
from roundsman.policy import Policy

POINTS = ("commit", "begin_unless_stopped", "finish")


class World:
    """Tools and models that leave a line of what they did, and places where the process dies."""

    def __init__(self, home: Path, kill: int) -> None:
        self.home, self.kill, self.points = home, kill, 0
        self.names: list[str] = []
        self.policy = _policy()

    def line(self, did: str, what: str) -> None:
        with (self.home / "truth.log").open("a", encoding="utf-8") as out:
            out.write(json.dumps({"did": did, "what": what}) + "\n")

    def point(self, name: str) -> None:
        self.points += 1
        self.names.append(name)
        if self.points == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)

    def tool(self, name: str) -> Callable[..., Any]:
        async def run(what: str) -> dict[str, Any]:
            self.point(f"{name}-before")
            self.line(name, what)
            self.point(f"{name}-after")
            return {"status": "ok", "did": what}

        run.__name__, run.__doc__ = name, name
        return run

    def model(self, agent: str, think: Callable[[Any], Any]) -> ScriptedModel:
        def script(request: Any, number: int) -> Any:
            self.line("asked", agent)
            self.point(f"{agent}-asked")
            return think(request)

        return ScriptedModel(script)

    def agent(self, name: str, *replies: Any, **more: Any) -> LlmAgent:
        """What it says depends on what was said in its own conversation."""

        def think(request: Any) -> Any:
            at = sum(1 for c in request.contents if c.role == "model")
            reply = replies[min(at, len(replies) - 1)]
            return reply(asked_of(request)) if callable(reply) else reply

        return LlmAgent(name=name, description=name, model=self.model(name, think), **more)

    def worker(self, name: str = "inner", last: Any = None, **more: Any) -> LlmAgent:
        """Reads, writes and reads what it is asked."""
        return self.agent(
            name,
            lambda q: [call("look", what=f"{name} {q}"), call("paint", what=f"{name} {q}")],
            lambda q: call("look", what=f"{name} {q} after"),
            last or (lambda q: f"{name} did {q}"),
            tools=[self.tool("look"), self.tool("paint"), *more.pop("tools", [])],
            **more,
        )

    def seeker(self, name: str = "seeker", **more: Any) -> LlmAgent:
        """Finds one thing a round, and writes in every round."""

        def think(request: Any) -> Any:
            texts = [p.text or "" for c in request.contents for p in c.parts]
            index = next(int(t.split("Round: ")[1].split()[0]) for t in texts if "Round: " in t)
            question = next(
                t.split("Incident: ")[1].split("\n")[0] for t in texts if "Incident: " in t
            )
            at = sum(1 for c in request.contents if c.role == "model")
            here = f"{question} {index}"
            steps = more_steps(here)
            if at < len(steps):
                return steps[at]
            done = index == 2
            found = [] if done else [f"{here} is red"]
            return json.dumps({"findings": found, "done": done})

        def more_steps(here: str) -> list[Any]:
            first = [call("look", what=here), call("paint", what=here)]
            return [first, *([call(below, request=here)] if below else [])]

        below = more.pop("below", "")
        tools = [self.tool("look"), self.tool("paint"), *more.pop("tools", [])]
        return LlmAgent(
            name=name,
            description=name,
            model=self.model(name, think),
            tools=tools,
            mode="single_turn",
            **more,
        )

    def loop(self, name: str = "search", **more: Any) -> Any:
        return loop_until_done(self.seeker(**more), self.policy, name=name)


def asked_of(request: Any) -> str:
    texts = [p.text for c in request.contents if c.role == "user" for p in c.parts if p.text]
    mine = [t for t in texts if not t.startswith("For context")]
    text = (mine or ["?"])[0]
    return text.split('"request": "')[-1].split('"')[0][-40:]


def _policy() -> Policy:
    data = load_policy("default").model_dump()
    data["repetition"] = {"mode": "off"}
    data["loop"] = {**data["loop"], "progress": "reference", "max_rounds": 4}
    data["round"] = {**data["round"], "steps": 20}
    data["run"] = {**data["run"], "tokens": None, "steps": 200}
    data["agents"] = {**data["agents"], "max_depth": 5}
    tools = {"look": {"effect": "read"}, "paint": {"effect": "write"}}
    return Policy.model_validate(data).with_tools(tools)


def outer(w: World, *replies: Any, **more: Any) -> LlmAgent:
    return w.agent(
        "outer",
        *replies,
        "all done",
        tools=[w.tool("look"), w.tool("paint"), *more.pop("tools", [])],
        **more,
    )


def serial(name: str = "inner") -> list[Any]:
    return [
        [call("look", what="top"), call(name, request="a")],
        [call(name, request="a"), call("paint", what="top")],
        call(name, request="b"),
        call("paint", what="last"),
    ]


def tools_serial(w: World) -> Any:
    return outer(w, *serial(), tools=[AgentTool(w.worker())])


def tools_parallel(w: World) -> Any:
    both = [
        call("inner", request="a"),
        call("inner", request="a"),
        call("other", request="b"),
        call("inner", request="c"),
    ]
    return outer(
        w,
        both,
        [call("paint", what="top"), call("inner", request="a")],
        tools=[AgentTool(w.worker()), AgentTool(w.worker("other"))],
    )


def tools_nested(w: World) -> Any:
    mid = w.agent(
        "mid",
        lambda q: [call("inner", request=q), call("paint", what=f"mid {q}")],
        lambda q: [call("inner", request=q), call("inner", request=f"{q}2")],
        lambda q: f"mid did {q}",
        tools=[w.tool("paint"), AgentTool(w.worker())],
    )
    return outer(
        w,
        call("mid", request="a"),
        [call("mid", request="a"), call("inner", request="a")],
        call("mid", request="b"),
        tools=[AgentTool(mid), AgentTool(w.worker())],
    )


def single_turn(w: World) -> Any:
    return outer(w, *serial(), sub_agents=[w.worker(mode="single_turn")])


def single_turn_parallel(w: World) -> Any:
    both = [call("inner", request="a"), call("inner", request="a"), call("other", request="b")]
    return outer(
        w,
        both,
        [call("paint", what="top"), call("inner", request="a")],
        sub_agents=[w.worker(mode="single_turn"), w.worker("other", mode="single_turn")],
    )


def single_turn_nested(w: World) -> Any:
    mid = w.agent(
        "mid",
        lambda q: [call("inner", request=q), call("paint", what=f"mid {q}")],
        lambda q: call("inner", request=q),
        lambda q: f"mid did {q}",
        tools=[w.tool("paint")],
        sub_agents=[w.worker(mode="single_turn")],
        mode="single_turn",
    )
    return outer(
        w,
        call("mid", request="a"),
        call("mid", request="a"),
        call("mid", request="b"),
        sub_agents=[mid],
    )


def transfers(w: World) -> Any:
    def go(to: str) -> Any:
        return call("transfer_to_agent", agent_name=to)

    def there(name: str) -> LlmAgent:
        return w.agent(
            name,
            [call("look", what=name), call("paint", what=name)],
            go("outer"),
            call("paint", what=f"{name} again"),
            go("outer"),
            tools=[w.tool("look"), w.tool("paint")],
        )

    return outer(
        w,
        call("paint", what="top"),
        go("one"),
        go("two"),
        call("look", what="top"),
        go("one"),
        call("paint", what="last"),
        sub_agents=[there("one"), there("two")],
    )


def around(w: World) -> Any:
    """Nothing comes after what runs at once: it would see it in the order in which it came."""

    def some(name: str) -> LlmAgent:
        replies = (
            [call("inner", request="a"), call("paint", what=name)],
            call("inner", request="a"),
        )
        tools = [w.tool("paint"), AgentTool(w.worker())]
        return w.agent(name, *replies, "all done", tools=tools)

    replies = [call("inner", request="a"), "round"] * 2
    turn = w.agent("turn", *replies, tools=[AgentTool(w.worker())])
    again = LoopAgent(name="again", max_iterations=2, sub_agents=[turn])
    both = ParallelAgent(name="both", sub_agents=[some("left"), some("right")])
    return SequentialAgent(name="all", sub_agents=[some("first"), again, both])


def sequence_as_tool(w: World) -> Any:
    left, right = (w.worker(name, last="both did it") for name in ("left", "right"))
    both = ParallelAgent(name="both", sub_agents=[left, right])
    agents = [w.worker("one"), w.worker("two"), both]
    mid = SequentialAgent(name="mid", description="mid", sub_agents=agents)
    return outer(w, *serial("mid"), tools=[AgentTool(mid)])


def loop_graph(w: World) -> Any:
    loop = w.loop(below="inner", tools=[AgentTool(w.worker())])
    return Workflow(name="graph", edges=[(START, loop, w.worker("writer", mode="single_turn"))])


def _graph_tool(w: World, **more: Any) -> Any:
    graph = Workflow(name="search", edges=[(START, w.loop("rounds", **more))], input_schema=str)
    return NodeTool(node=graph, name="search", description="search")


def loop_tool_twice(w: World) -> Any:
    return outer(
        w,
        call("search", request="a"),
        [call("search", request="a"), call("paint", what="top")],
        call("search", request="b"),
        call("paint", what="last"),
        tools=[_graph_tool(w)],
    )


def loop_tool_beside(w: World) -> Any:
    return outer(
        w,
        [call("search", request="a"), call("search", request="b")],
        call("search", request="a"),
        call("paint", what="last"),
        tools=[_graph_tool(w)],
    )


def loop_below_tool(w: World) -> Any:
    mid = w.agent(
        "mid",
        lambda q: call("search", request=q),
        lambda q: call("paint", what=f"mid {q}"),
        lambda q: f"mid did {q}",
        tools=[w.tool("paint"), _graph_tool(w, below="inner", tools=[AgentTool(w.worker())])],
    )
    return outer(
        w,
        call("mid", request="a"),
        call("mid", request="a"),
        call("mid", request="b"),
        tools=[AgentTool(mid)],
    )


def loop_in_a_cycle(w: World) -> Any:
    loop = w.loop()

    def again(node_input: Any) -> Event:
        found = json.dumps(node_input, default=str)
        return Event(
            output="b",
            route="more" if "a 1 is red" in found or "go 1 is red" in found else "enough",
        )

    def ask(node_input: Any) -> str:
        return "all done"

    check, last = node(again, name="check"), node(ask, name="last")
    return Workflow(
        name="graph",
        edges=[
            (START, loop, check),
            Edge(from_node=check, to_node=loop, route="more"),
            Edge(from_node=check, to_node=last, route="enough"),
        ],
    )


APPS: dict[str, tuple[Callable[[World], Any], dict[str, str]]] = {
    "agents called one after another": (tools_serial, {"inner": "read"}),
    "agents called at once": (tools_parallel, {"inner": "write", "other": "write"}),
    "agents below agents called": (tools_nested, {"inner": "read", "mid": "read"}),
    "single_turn": (single_turn, {"inner": "read"}),
    "single_turn at once": (single_turn_parallel, {"inner": "write", "other": "write"}),
    "single_turn below single_turn": (single_turn_nested, {"inner": "read", "mid": "read"}),
    "transfers there and back": (transfers, {}),
    "workflow agents around": (around, {"inner": "read"}),
    "a sequence called": (sequence_as_tool, {"mid": "read"}),
    "rounds that call an agent": (loop_graph, {"inner": "read"}),
    "rounds called": (loop_tool_twice, {"search": "read"}),
    "rounds called at once": (loop_tool_beside, {"search": "write"}),
    "rounds below an agent called": (
        loop_below_tool,
        {"mid": "read", "search": "read", "inner": "read"},
    ),
    "rounds in a cycle": (loop_in_a_cycle, {}),
}
"""Name -> the app, and what the policy says of the effect of those that are called in it."""


def watch(world: World) -> None:
    for name in POINTS:
        setattr(Store, name, _watched(world, name, getattr(Store, name)))


def _watched(world: World, name: str, inner: Any) -> Any:
    def act(self: Any, run_id: str, *args: Any) -> Any:
        kinds = "+".join(row[2] for row in self._waiting.get(run_id, ()))
        if name != "finish" and not kinds:
            return inner(self, run_id, *args)
        world.point(f"{name}({kinds})-before")
        result = inner(self, run_id, *args)
        world.point(f"{name}({kinds})-after")
        return result

    return act


async def _run(world: World, name: str, run_id: str) -> None:
    store = Store(world.home / "runs.sqlite")
    make, effects = APPS[name]
    policy = world.policy.with_tools({tool: {"effect": effect} for tool, effect in effects.items()})
    app = guarded(App(name="below", root_agent=make(world)), policy, store=store)
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name=app.name, user_id="u")
    if run_id:
        resume(app, run_id, session.id)
    message = types.Content(role="user", parts=[types.Part(text="go")])
    said: list[str] = []
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        parts = event.content.parts or [] if event.content else []
        said += [p.text for p in parts if p.text]
        if event.output is not None:
            said.append(f"output: {json.dumps(event.output, default=str)}")
        if event.error_code:
            said.append(f"error: {event.error_message}")
    store.close()
    out = {"said": said[-1:], "points": world.names}
    (world.home / "out.json").write_text(json.dumps(out), encoding="utf-8")


def undisturbed(home: Path, name: str) -> None:
    """Run an app in this process, which nothing kills."""
    asyncio.run(_run(World(home, 0), name, ""))


def main(home: Path, name: str, kill: int = 0, run_id: str = "") -> None:
    world = World(home, kill)
    watch(world)
    asyncio.run(_run(world, name, run_id))
