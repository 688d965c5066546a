"""Stuck and busy agents through the engine's own runner, with scripted models."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.context import Context
from google.adk.tools import AgentTool
from google.adk.workflow import START, JoinNode, Workflow, node

from roundsman.guard.stuck.memory import Where
from roundsman.ledger import Store
from roundsman.ledger.fold import fold
from roundsman.policy import Policy, load_policy
from roundsman.testing import FakeClock, ScriptedModel, call, run_guarded


def policy(tmp_path: Path, text: str = "", **effects: str) -> Policy:
    file = tmp_path / "p.yaml"
    room = "" if "run:" in text else "run: {tokens: 1000000, steps: 200}\n"
    file.write_text(f"version: 1\nextends: default\n{room}{text}", encoding="utf-8")
    loaded = load_policy(file)
    return loaded.with_tools({n: {"effect": e} for n, e in effects.items()}) if effects else loaded


class Tools:
    """Count inside the tool itself what ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.version = 0

    def look(self, at: str) -> str:
        """Look somewhere; never finds a thing."""
        self.ran.append("look")
        return f"2024-05-01T10:00:{len(self.ran):02d}Z nothing to see"

    def edit(self, text: str) -> dict[str, Any]:
        """Change the file."""
        self.ran.append("edit")
        self.version += 1
        return {"status": "ok", "version": self.version}

    def check(self) -> dict[str, Any]:
        """Run the checks."""
        self.ran.append("check")
        return {"status": "ok", "failed": ["one", "two"]}

    def status(self, job: int) -> dict[str, Any]:
        """How a job stands."""
        self.ran.append("status")
        return {"status": "ok", "state": "running"}


def agent(tools: Tools, *names: str, script: Any) -> LlmAgent:
    chosen = [getattr(tools, name) for name in names]
    return LlmAgent(name="worker", model=ScriptedModel(script), tools=chosen)


async def test_a_stuck_agent_is_told_then_refused_then_ended(tmp_path: Path) -> None:
    tools = Tools()
    stuck = agent(tools, "look", script=[call("look", at="db")])
    result = await run_guarded(stuck, "go", policy(tmp_path))
    seen = result.results("look")
    assert len(tools.ran) == 2
    assert [("note" in r, r.get("status")) for r in seen] == [
        (False, None), (True, None), (False, "blocked"), (False, "blocked"),
    ]  # fmt: skip
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "repetition"
    assert [r.body["verdict"] for r in result.records if r.kind == "ruled"] == [
        "amend", "refuse", "stop",
    ]  # fmt: skip


async def test_without_the_guard_the_same_agent_goes_on(tmp_path: Path) -> None:
    tools = Tools()
    stuck = agent(tools, "look", script=[call("look", at="db")] * 20 + ["gave up"])
    bounds = policy(tmp_path, "repetition: {mode: off}\nrun: {tokens: 1000000}\n")
    await run_guarded(stuck, "go", bounds)
    assert len(tools.ran) == 20


async def test_an_agent_that_heeds_the_warning_is_let_finish(tmp_path: Path) -> None:
    tools = Tools()

    def script(request: Any, number: int) -> Any:
        told = "this result was known already" in str(request.contents[-1])
        return "there is nothing" if told else call("look", at="db")

    result = await run_guarded(agent(tools, "look", script=script), "go", policy(tmp_path))
    assert (result.text, len(tools.ran)) == ("there is nothing", 2)
    assert result.status == "done"


async def test_one_that_edits_between_its_checks_is_busy(tmp_path: Path) -> None:
    tools = Tools()
    turns = [t for n in range(12) for t in (call("edit", text="x" * n), call("check"))]
    bounds = policy(tmp_path, edit="write", check="read")
    result = await run_guarded(agent(tools, "edit", "check", script=[*turns, "ok"]), "go", bounds)
    assert len(tools.ran) == 24
    assert not [r for r in result.records if r.kind == "ruled"]


@pytest.mark.parametrize(("effect", "ran"), [("poll", 30), ("read", 2)])
async def test_one_that_polls_is_busy_when_it_says_so(
    tmp_path: Path, effect: str, ran: int
) -> None:
    tools, clock = Tools(), FakeClock()
    script = [call("status", job=7)] * 30 + ["finished"]
    bounds = policy(tmp_path, status=effect)
    waiting = agent(tools, "status", script=script)
    result = await run_guarded(waiting, "go", bounds, clock=clock)
    assert len(tools.ran) == ran
    assert (result.text == "finished") is (effect == "poll")


async def test_a_poll_ends_by_time(tmp_path: Path) -> None:
    tools, clock = Tools(), FakeClock()

    def script(request: Any, number: int) -> Any:
        clock.advance(30)
        return call("status", job=7)

    bounds = policy(
        tmp_path, "repetition: {poll: 2m}\nrun: {wall_clock: 1h, tokens: 1000000}\n", status="poll"
    )
    result = await run_guarded(agent(tools, "status", script=script), "go", bounds, clock=clock)
    assert len(tools.ran) == 4
    assert any("note" in r for r in result.results("status"))
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "repetition"


async def test_the_memory_reaches_into_agents_used_as_tools(tmp_path: Path) -> None:
    """Each inner run is a new one with a fresh history; the same search in each is a repeat."""
    tools = Tools()
    inner_turns = [call("look", at="db"), "nothing found"] * 20
    inner = LlmAgent(name="inner", model=ScriptedModel(inner_turns), tools=[tools.look])
    asked = ["find the cause", "please look into it", "what broke the shop", "who did it then",
             "search once more", "any idea", "tell me", "last try"]  # fmt: skip
    outer_turns = [call("inner", request=words) for words in asked]
    outer = LlmAgent(
        name="outer", model=ScriptedModel([*outer_turns, "gave up"]), tools=[AgentTool(inner)]
    )
    bounds = policy(tmp_path)
    result = await run_guarded(outer, "go", bounds)
    assert len(tools.ran) < len(asked)
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "repetition"


async def test_announcing_for_ever_in_a_loop_of_the_engine_is_ended(tmp_path: Path) -> None:
    model = ScriptedModel(["I'll now put the report together.", "Let me put the report together."])
    talker = LlmAgent(name="talker", model=model)
    loop = LoopAgent(name="loop", sub_agents=[talker], max_iterations=30)
    result = await run_guarded(loop, "go", policy(tmp_path))
    assert model.calls == 3
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "repetition"


def beside(kind: str, script: Any, *tools: Any) -> Any:
    """Three agents side by side that do the same, and one after them."""

    def one(name: str) -> LlmAgent:
        return LlmAgent(name=name, model=ScriptedModel(script), tools=list(tools))

    last = LlmAgent(name="last", model=ScriptedModel(["all is well"]))
    if kind == "ParallelAgent":
        three = ParallelAgent(name="three", sub_agents=[one("a"), one("b"), one("c")])
        return SequentialAgent(name="all", sub_agents=[three, last])
    if kind == "AgentTool":
        asks = [call("a", request="1"), call("b", request="2"), call("c", request="3")]
        model = ScriptedModel([asks, "all is well"])
        agents = [AgentTool(one(name)) for name in "abc"]
        return LlmAgent(name="outer", model=model, tools=agents)
    if kind == "fan-out":
        join, agents = JoinNode(name="join"), [one(name) for name in "abc"]
        edges: list[Any] = [(START, agent) for agent in agents]
        edges += [(agent, join) for agent in agents]
        return Workflow(name="graph", edges=[*edges, (join, last)])
    worker = LlmAgent(
        name="one", model=ScriptedModel(lambda r, n: _by_turn(script, r)), tools=list(tools)
    )
    if kind == "parallel_worker":

        @node
        async def items() -> list[str]:
            return ["u", "v", "x", "y", "z"]

        workers = node(worker, parallel_worker=True, max_parallel_workers=2)
        return Workflow(name="graph", edges=[(START, items), (items, workers), (workers, last)])

    @node(rerun_on_resume=True)
    async def several(ctx: Context, node_input: Any) -> str:
        runs = [ctx.run_node(worker, node_input="x", run_id=f"r-{n}") for n in range(3)]
        await asyncio.gather(*runs)
        return "joined"

    return Workflow(name="graph", edges=[(START, several), (several, last)])


def _by_turn(script: list[Any], request: Any) -> Any:
    """One model object serves several conversations: the turn is read off the request."""
    return script[sum(c.role == "model" for c in request.contents)]


BESIDE = ["ParallelAgent", "AgentTool", "fan-out", "parallel_worker", "run_node"]


@pytest.mark.parametrize("kind", BESIDE)
@pytest.mark.parametrize("words", ["I'll write it down: done.", "", "done"])
async def test_agents_side_by_side_may_say_the_same(kind: str, words: str, tmp_path: Path) -> None:
    result = await run_guarded(beside(kind, [words]), "go", policy(tmp_path))
    assert (result.text, result.stop) == ("all is well", "done")
    assert not [r for r in result.records if r.kind == "ruled"]


@pytest.mark.parametrize("kind", BESIDE)
async def test_agents_side_by_side_may_meet_the_same(kind: str, tmp_path: Path) -> None:
    ran = []

    async def look(at: str) -> str:
        """Look somewhere."""
        ran.append(at)
        return "Error: connection refused"

    script = [call("look", at="db"), "it cannot be reached"]
    result = await run_guarded(beside(kind, script, look), "go", policy(tmp_path))
    assert (result.text, result.stop) == ("all is well", "done")
    assert len(ran) == (5 if kind == "parallel_worker" else 3)
    told = [r.body["agent"] for r in result.records if r.kind == "ruled"]
    assert not told or kind == "AgentTool"  # who called all three has got one answer three times


async def test_one_of_several_that_is_stuck_ends_the_run(tmp_path: Path) -> None:
    stuck, busy = Tools(), Tools()
    talker = agent(stuck, "look", script=[call("look", at="db")])
    turns = [call("edit", text="x" * n) for n in range(30)]
    other = LlmAgent(name="other", model=ScriptedModel([*turns, "ok"]), tools=[busy.edit])
    both = ParallelAgent(name="both", sub_agents=[talker, other])
    result = await run_guarded(both, "go", policy(tmp_path, look="read", edit="read"))
    assert len(stuck.ran) == 2
    assert result.stop == "repetition"


DIES = '''
import asyncio, os, signal
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types
from roundsman import guarded
from roundsman.adk import ScriptedModel, call, resume
from roundsman.ledger import open_store


def look(at: str) -> dict:
    """Look."""
    open("looked", "a").write("x")
    if at == "b" and not os.path.exists("died"):
        open("died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"status": "ok", "seen": "nothing"}


async def work(run_id=None):
    steps = [call("look", at="a"), call("look", at="a"), call("look", at="b"), "nothing anywhere"]

    def script(request, number):
        parts = [p for c in request.contents for p in c.parts]
        return steps[sum(p.function_response is not None for p in parts)]

    agent = LlmAgent(name="looker", model=ScriptedModel(script), tools=[look])
    tools = {"look": {"effect": "read"}}
    from roundsman import load_policy
    app = guarded(App(name="looks", root_agent=agent), load_policy("default").with_tools(tools))
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="looks", user_id="u")
    if run_id is not None:
        resume(app, run_id, session.id)
    message = types.Content(role="user", parts=[types.Part(text="go")])
    async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        pass


if os.fork() == 0:
    asyncio.run(work())
os.wait()
store = open_store()
run = store.runs()[0]
asyncio.run(work(run.run_id))
notes = [r for r in store.records(run.run_id) if r.kind == "ruled"]
print(len(notes), open("looked").read(), store.info(run.run_id).status)
'''


def test_a_note_is_told_again_when_the_run_is_resumed(tmp_path: Path) -> None:
    """Without it the replayed request would be another one than the one on record."""
    (tmp_path / "dies.py").write_text(DIES, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "dies.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "ROUNDSMAN_HOME": str(tmp_path / "home")},
    )  # fmt: skip
    # two looks, one that died, and that one again; the note once
    assert done.stdout.split() == ["1", "xxxx", "done"], done.stderr[-1000:]


async def test_the_memory_is_in_the_journal(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    tools = Tools()
    script = [call("look", at="db"), call("look", at="db"), "enough"]
    first = await run_guarded(agent(tools, "look", script=script), "go", policy(tmp_path),
                              store=store)  # fmt: skip
    again = fold(store.records(first.run_id))
    past = again.stuck.talking[Where(place="worker@1")].past
    assert [dict(o.points).get("repeat") for o in past] == [None, 1.0]
    store.close()
