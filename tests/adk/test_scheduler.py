"""Turns through ADK's own runner: what ran beside what is recorded inside the tools."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, ToolThreadPoolConfig
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import AgentTool, FunctionTool
from google.adk.workflow import START, Workflow
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st
from passing_time import LONG, PATIENCE, time_passes

from roundsman.adk import current_run, guarded, loop_until_done, plugin_of, scheduler
from roundsman.adk.turns import Access
from roundsman.ledger import LiveRun, Store, fold
from roundsman.policy import Policy, load_policy
from roundsman.testing import GuardedResult, ScriptedModel, call, run_guarded


class Lab:
    """Tools that say when they begin and end, and who is inside with them."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []
        self.runs: list[LiveRun] = []
        self.threads: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def inside(self, tag: str) -> Iterator[None]:
        self.say("begin", tag)
        run = current_run()
        assert run is not None
        self.runs.append(run)
        self.threads.add(threading.current_thread().name)
        try:
            yield
        finally:
            self.say("end", tag)

    def say(self, what: str, tag: str) -> None:
        with self._lock:
            self.log.append((what, tag))

    def order(self) -> list[str]:
        return [tag for what, tag in self.log if what == "begin"]

    def together(self) -> set[frozenset[str]]:
        """Pairs that were inside at the same time."""
        pairs, inside = set(), list[str]()
        for what, tag in self.log:
            if what == "begin":
                pairs |= {frozenset((tag, other)) for other in inside}
                inside.append(tag)
            else:
                inside.remove(tag)
        return pairs

    def tool(self, name: str, sync: bool, fails: bool = False) -> Callable[..., Any]:
        async def unhurried(tag: str, key: str = "") -> dict[str, Any]:
            with self.inside(tag):
                for _ in range(5):
                    await asyncio.sleep(0)
                if fails:
                    raise RuntimeError(tag)
            return {"status": "ok", "tag": tag}

        def on_a_thread(tag: str, key: str = "") -> dict[str, Any]:
            with self.inside(tag):
                for _ in range(5):
                    time.sleep(0)
                if fails:
                    raise RuntimeError(tag)
            return {"status": "ok", "tag": tag}

        made: Any = on_a_thread if sync else unhurried
        made.__name__, made.__doc__ = name, name
        return made  # type: ignore[no-any-return]

    def held(self) -> tuple[Any, ...]:
        """Turns somebody still holds, in any run that was seen."""
        return tuple(t for run in self.runs for t in scheduler._line(run).turns.live)


def declared(tools: dict[str, Any], writes: str = "ordered", **run: Any) -> Policy:
    base = load_policy("default").with_tools({"default": "allow", "allow": tools})
    plan = base.schedule.model_copy(update={"writes": writes})
    runs = base.run.model_copy(update={"tokens": None, "wall_clock": None, **run})
    rep = base.repetition.model_copy(update={"mode": "off"})
    return base.model_copy(update={"schedule": plan, "run": runs, "repetition": rep})


def agent_of(script: Any, tools: list[Any], name: str = "worker", **more: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(script), tools=tools, description=name, **more)


async def ran(agent: Any, policy: Policy, **more: Any) -> GuardedResult:
    return await asyncio.wait_for(run_guarded(agent, "go", policy, **more), PATIENCE)


KINDS = {
    "read_async": ("read", False, False), "read_sync": ("read", True, False),
    "write_async": ("write", False, False), "write_sync": ("write", True, False),
    "wipe_async": ("destructive", False, False), "poll_sync": ("poll", True, False),
    "bad_write_async": ("write", False, True), "bad_write_sync": ("write", True, True),
    "asked_write": ("write", True, False), "undeclared": (None, False, False),
    "forbidden": ("write", False, False), "clamped": ("write", False, False),
}  # fmt: skip
CALLS = st.lists(
    st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(["db", "web", ""])), max_size=9
)


def laboratory(lab: Lab, patient: bool) -> tuple[list[Any], dict[str, Any]]:
    tools, rules = list[Any](), dict[str, Any]()
    for name, (effect, sync, fails) in KINDS.items():
        tool: Any = lab.tool(name, sync, fails)
        if name == "asked_write":
            tool = FunctionTool(
                tool, require_confirmation=True if patient else lambda tag, key: True
            )
        tools.append(tool)
        if effect is not None:
            rules[name] = {"effect": effect, "resource": "{key}"}
    rules["forbidden"]["args"] = {"tag": {"allowed": ["never"]}}
    rules["clamped"]["args"] = {"key": {"allowed": ["db", "web", ""]}}
    return tools, rules


def access(name: str, key: str) -> Access:
    effect = KINDS[name][0]
    keys = frozenset({key}) if key and effect is not None else None
    return Access(effect not in ("read", "poll"), keys)


@settings(max_examples=60, deadline=None)
@given(CALLS, st.booleans())
def test_random_batches(calls: list[tuple[str, str]], patient: bool) -> None:
    lab = Lab()
    tools, rules = laboratory(lab, patient)
    reply = [call(name, tag=f"{n} {name} {key}", key=key) for n, (name, key) in enumerate(calls)]
    agent = agent_of(
        [reply or "nothing", "done"],
        tools,
        on_tool_error_callback=lambda tool, args, tool_context, error: {"error": str(error)},
    )
    result = asyncio.run(ran(agent, declared(rules)))
    check(lab, calls)
    begun = [r.body["id"] for r in result.records if r.kind == "action_begins"]
    assert sorted(begun) == sorted(r.body["id"] for r in result.records if r.kind == "action_ends")


def check(lab: Lab, calls: list[tuple[str, str]]) -> None:
    assert lab.held() == ()
    order = lab.order()
    tags = [f"{n} {name} {key}" for n, (name, key) in enumerate(calls)]
    what = {tag: access(name, key) for tag, (name, key) in zip(tags, calls, strict=True)}
    for pair in lab.together():
        one, other = pair
        assert not what[one].clashes(what[other]), pair
    for n, one in enumerate(tags):
        for other in tags[n + 1 :]:
            if one in order and other in order and what[one].clashes(what[other]):
                assert order.index(one) < order.index(other)
    asked = next((n for n, (name, _) in enumerate(calls) if name == "asked_write"), len(calls))
    for n, (name, _) in enumerate(calls):
        writes = what[tags[n]].writes
        expected = name not in ("forbidden", "asked_write") and not (writes and n > asked)
        assert order.count(tags[n]) == expected, tags[n]


async def test_without_the_scheduler_writes_to_one_key_overlap() -> None:
    for writes, most in (("ordered", 1), ("free", 4)):
        lab = Lab()
        reply = [call("write", tag=str(n), key="db") for n in range(4)]
        rules = {"write": {"effect": "write", "resource": "{key}"}}
        await ran(agent_of([reply, "done"], [lab.tool("write", False)]), declared(rules, writes))
        assert len(lab.order()) == 4
        assert bool(lab.together()) is (most > 1)


@pytest.mark.parametrize("sync", [True, False])
async def test_reads_of_one_reply_are_inside_together(sync: bool) -> None:
    all_there, both_there = threading.Barrier(3), asyncio.Barrier(3)

    def look(n: int) -> dict[str, Any]:
        """Look."""
        all_there.wait(PATIENCE)
        return {"status": "ok"}

    async def look_async(n: int) -> dict[str, Any]:
        """Look."""
        await both_there.wait()
        return {"status": "ok"}

    tool = look if sync else look_async
    reply = [call(tool.__name__, n=n) for n in range(3)]
    policy = declared({tool.__name__: {"effect": "read"}})
    result = await ran(agent_of([reply, "done"], [tool]), policy)
    assert [r["status"] for r in result.results(tool.__name__)] == ["ok"] * 3
    assert [r for r in result.records if r.kind == "action_waits"] == []


async def test_a_wait_is_on_record_with_the_key_and_who_is_before() -> None:
    lab = Lab()
    reply = [call("write", tag=t, key=k) for t, k in (("a", "Web"), ("b", "db"), ("c", "web"))]
    rules = {"write": {"effect": "write", "resource": "host/{key}"}}
    result = await ran(agent_of([reply, "done"], [lab.tool("write", False)]), declared(rules))
    waits = [r.body for r in result.records if r.kind == "action_waits"]
    assert waits == [{"id": "a3", "tool": "write", "key": "host/web", "behind": ["a1"]}]


async def test_an_app_that_declares_nothing_takes_turns_and_keeps_its_thread() -> None:
    lab = Lab()
    tools = [lab.tool("one", False), lab.tool("two", True)]
    reply = [call("one", tag="1"), call("two", tag="2"), call("one", tag="3")]
    result = await ran(agent_of([reply, "done"], tools), load_policy("default"))
    assert (lab.order(), lab.together()) == (["1", "2", "3"], set())
    assert lab.threads == {"MainThread"}
    assert result.account.actions == 3


async def test_baseline_holds_its_eight_and_no_turns() -> None:
    lab = Lab()
    policy = load_policy("baseline").with_tools({"read": {"effect": "read"}, "write": {}})
    reply = [call("write", tag="1"), call("write", tag="2"), call("read", tag="3")]
    tools = [lab.tool("write", False), lab.tool("read", True)]
    await ran(agent_of([reply, "done"], tools), policy)
    assert frozenset({"1", "2"}) in lab.together()
    assert lab.threads == {"MainThread"}


async def test_a_pool_the_caller_chose_is_left_alone() -> None:
    lab = Lab()
    config = RunConfig(max_llm_calls=0, tool_thread_pool_config=ToolThreadPoolConfig(max_workers=1))
    reply = [call("read", tag=str(n)) for n in range(4)]
    policy = declared({"read": {"effect": "read"}})
    await ran(agent_of([reply, "done"], [lab.tool("read", True)]), policy, run_config=config)
    assert lab.threads == {"adk_tool_executor_0"}
    assert config.tool_thread_pool_config == ToolThreadPoolConfig(max_workers=1)


async def test_an_agent_as_a_tool_may_hold_what_its_own_tools_want() -> None:
    lab = Lab()
    write = lab.tool("write", False)
    inner = agent_of([[call("write", tag=t, key="db") for t in "xy"], "ok"], [write], "inner")
    reply = [call("inner", request="go"), call("write", tag="z", key="db")]
    rules = {
        "write": {"effect": "write", "resource": "{key}"},
        "inner": {"effect": "write", "resource": "db"},
    }
    await ran(agent_of([reply, "done"], [AgentTool(inner), write]), declared(rules))
    assert (lab.order(), lab.together()) == (["x", "y", "z"], set())


async def test_two_agents_that_want_what_the_other_holds_do_not_wait_for_ever() -> None:
    lab = Lab()
    write, both = lab.tool("write", False), asyncio.Barrier(2)

    async def meet() -> dict[str, Any]:
        """Meet."""
        await both.wait()
        return {"status": "ok"}

    agents = [
        agent_of([call("meet"), call("write", tag=key, key=key), "ok"], [meet, write], name)
        for name, key in (("left", "web"), ("right", "db"))
    ]
    rules = {
        "meet": {"effect": "read", "resource": "nothing else"},
        "write": {"effect": "write", "resource": "{key}"},
        "left": {"effect": "write", "resource": "db"},
        "right": {"effect": "write", "resource": "web"},
    }
    reply = [call("left", request="go"), call("right", request="go")]
    result = await ran(agent_of([reply, "done"], [AgentTool(a) for a in agents]), declared(rules))
    refused = [r.body for r in result.records if r.kind == "ruled"]
    assert [(r["rule"], r["layer"]) for r in refused] == [("schedule", "scheduler")]
    assert "would wait for ever" in refused[0]["reason"]
    assert len(lab.order()) == result.account.by_tool["write"] == 1
    assert result.account.actions == 5  # both agents, both meet, one writes
    assert sum(share.actions for share in result.account.shares.values()) == 5
    assert lab.held() == ()


async def session_of(app: App) -> tuple[Runner, str]:
    service = InMemorySessionService()
    session = await service.create_session(app_name=app.name, user_id="u")
    return Runner(app=app, session_service=service), session.id


async def said(runner: Runner, session: str, part: types.Part) -> list[Any]:
    content = types.Content(role="user", parts=[part])
    stream = runner.run_async(
        user_id="u", session_id=session, new_message=content, run_config=RunConfig(max_llm_calls=0)
    )
    return [event async for event in stream]


@pytest.mark.parametrize("confirmed", [True, False])
async def test_what_a_person_decides_on_runs_later_and_holds_nothing_meanwhile(
    confirmed: bool, tmp_path: Path
) -> None:
    lab = Lab()
    wipe = FunctionTool(lab.tool("wipe", True), require_confirmation=True)
    reply = [call("wipe", tag="1", key="db"), call("write", tag="2", key="web")]
    agent = agent_of(
        [reply, call("write", tag="3", key="db"), "ok"], [wipe, lab.tool("write", False)]
    )
    rules = {n: {"effect": "write", "resource": "{key}"} for n in ("wipe", "write")}
    store = Store(tmp_path / "runs.sqlite")
    runner, session = await session_of(guarded(agent, declared(rules), store=store))
    events = await said(runner, session, types.Part(text="go"))
    assert lab.order() == []
    blocked = [r.response for e in events for r in e.get_function_responses() if r.name == "write"]
    assert blocked[0] is not None
    assert blocked[0]["reason"].startswith("wipe, asked for before it, waits for a person")
    question = next(
        c for e in events for c in e.get_function_calls() if c.name == "adk_request_confirmation"
    )
    answer = types.FunctionResponse(
        id=question.id, name=question.name, response={"confirmed": confirmed}
    )
    await said(runner, session, types.Part(function_response=answer))
    assert lab.order() == ["1", "3"] if confirmed else ["3"]
    assert lab.held() == ()
    store.close()


async def test_a_write_waits_until_it_is_known_whether_a_person_decides_on_the_one_before() -> None:
    lab, reached = Lab(), threading.Event()

    async def look(tag: str) -> dict[str, Any]:
        """Set going once both writes are in line."""
        with lab.inside(tag):
            reached.set()
        return {"status": "ok"}

    def must_ask(tag: str, key: str) -> bool:
        return reached.wait(PATIENCE)

    wipe = FunctionTool(lab.tool("wipe", True), require_confirmation=must_ask)
    reply = [
        call("wipe", tag="1", key="db"),
        call("write", tag="2", key="web"),
        call("look", tag="3"),
    ]
    rules = {n: {"effect": "write", "resource": "{key}"} for n in ("wipe", "write")}
    rules["look"] = {"effect": "read", "resource": "nothing else"}
    tools = [wipe, lab.tool("write", False), look]
    result = await ran(agent_of([reply, "done"], tools), declared(rules))
    assert lab.order() == ["3"]
    assert [r["status"] for r in result.results("write")] == ["blocked"]
    assert (result.account.actions, result.account.by_tool["write"]) == (1, 0)


class Rude(BasePlugin):
    """Comes after the guard: raises, or answers in the tool's place."""

    def __init__(self, answers: bool) -> None:
        super().__init__(name="rude")
        self.answers = answers

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Any:
        if tool_args.get("tag") != "1":
            return None
        if self.answers:
            return {"status": "ok", "by": "somebody else"}
        raise RuntimeError("no")


@pytest.mark.parametrize("answers", [True, False])
async def test_a_later_hook_that_answers_or_raises_leaves_nothing_held(answers: bool) -> None:
    lab, waiting = Lab(), asyncio.Event()

    async def first(tag: str, key: str) -> dict[str, Any]:
        """Holds the key until the others stand in line."""
        with lab.inside(tag):
            await waiting.wait()
        return {"status": "ok"}

    async def look(tag: str) -> dict[str, Any]:
        """Look."""
        waiting.set()
        return {"status": "ok"}

    rules = {n: {"effect": "write", "resource": "{key}"} for n in ("first", "write")}
    rules["look"] = {"effect": "read", "resource": "nothing else"}
    reply = [
        call("first", tag="0", key="db"), call("write", tag="1", key="db"),
        call("write", tag="2", key="db"), call("look", tag="3"),
    ]  # fmt: skip
    agent = agent_of([reply, "done"], [first, lab.tool("write", False), look])
    app = App(name="app", root_agent=agent, plugins=[Rude(answers)])
    result = await ran(app, declared(rules), catch=True)
    assert (result.error is None) is answers
    assert "1" not in lab.order()
    assert ("2" in lab.order()) is answers
    assert lab.held() == ()
    assert plugin_of(app)._scheduler._places == {}


async def test_a_run_that_is_cancelled_releases_and_says_what_did_not_run(tmp_path: Path) -> None:
    lab, inside = Lab(), asyncio.Event()

    async def stay(tag: str) -> dict[str, Any]:
        """Stay for ever."""
        with lab.inside(tag):
            inside.set()
            await asyncio.Event().wait()
        return {}

    store = Store(tmp_path / "runs.sqlite")
    reply = [call("stay", tag="1"), call("stay", tag="2")]
    agent = agent_of([reply, "done"], [stay])
    app = guarded(agent, declared({"stay": {"effect": "write"}}), store=store)
    runner, session = await session_of(app)
    task = asyncio.create_task(said(runner, session, types.Part(text="go")))
    await asyncio.wait_for(inside.wait(), PATIENCE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (lab.order(), lab.held()) == (["1"], ())
    assert plugin_of(app)._scheduler._places == {}
    records = store.records(store.runs()[0].run_id)
    ends = {r.body["id"]: r.body["status"] for r in records if r.kind == "action_ends"}
    assert ends == {"a1": "unknown", "a2": "blocked"}
    assert fold(records).actions == 1  # what may have run counts
    store.close()


async def test_an_abort_keeps_waiting_writes_from_running() -> None:
    lab = Lab()

    async def write(tag: str) -> dict[str, Any]:
        """Write."""
        with lab.inside(tag):
            run = current_run()
            assert run is not None
            await asyncio.sleep(0)
            run.stop("aborted", "a person said so")
        return {"status": "ok"}

    reply = [call("write", tag="1"), call("write", tag="2")]
    result = await ran(agent_of([reply, "done"], [write]), declared({"write": {}}))
    assert lab.order() == ["1"]
    assert "a person said so" in result.results("write")[1]["reason"]
    assert result.account.actions == 1


async def test_at_a_budget_what_was_let_through_still_runs() -> None:
    lab = Lab()
    reply = [call("write", tag=str(n)) for n in range(5)]
    agent = agent_of([reply, "done"], [lab.tool("write", False)])
    result = await ran(agent, declared({"write": {}}, actions=3))
    assert len(lab.order()) == result.account.actions == 3


async def test_a_thread_that_outlives_its_round_keeps_its_key_and_is_unknown() -> None:
    lab, free, over = Lab(), threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def write(tag: str) -> dict[str, Any]:
        """Write."""
        with lab.inside(tag):
            if tag == "1":
                loop.call_soon_threadsafe(time_passes)
                assert free.wait(PATIENCE)
                loop.call_soon_threadsafe(over.set)
        return {"status": "ok"}

    async def look(tag: str) -> dict[str, Any]:
        """Let the thread of round 1 end, while a write of round 2 stands in line."""
        with lab.inside(tag):
            free.set()
            await asyncio.wait_for(over.wait(), PATIENCE)
        return {"status": "ok"}

    script = [
        call("write", tag="1"),
        [call("write", tag="2"), call("look", tag="3")],
        '{"findings": ["x"], "done": true}',
    ]
    rules = {
        "write": {"effect": "write", "resource": "db"},
        "look": {"effect": "read", "resource": "nothing else"},
    }
    policy = declared(rules)
    limits = policy.round.model_copy(update={"timeout": LONG})
    loops = policy.loop.model_copy(update={"progress": "reference"})
    policy = policy.model_copy(update={"round": limits, "loop": loops})
    node = loop_until_done(agent_of(script, [write, look]), policy)
    flow = Workflow(name="flow", edges=[(START, node)])
    result = await ran(App(name="flow", root_agent=flow), policy)
    assert lab.log == [
        ("begin", "1"), ("begin", "3"), ("end", "1"), ("end", "3"), ("begin", "2"), ("end", "2"),
    ] or lab.log == [
        ("begin", "1"), ("begin", "3"), ("end", "1"), ("begin", "2"), ("end", "2"), ("end", "3"),
    ] or lab.log == [
        ("begin", "1"), ("begin", "3"), ("end", "1"), ("begin", "2"), ("end", "3"), ("end", "2"),
    ]  # fmt: skip
    ends = {r.body["id"]: r.body["status"] for r in result.records if r.kind == "action_ends"}
    assert ends == {"a1": "unknown", "a2": "ok", "a3": "ok"}
    assert lab.held() == ()
