"""Calls past an object, and from threads that carry nothing: judged all the same, or the run stops."""

from __future__ import annotations

import _thread
import asyncio
import copy
import queue
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from contextvars import Context
from functools import partial
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from matrix_agents import ask
from matrix_lab import Lab, converse

from roundsman.errors import RefusedToStart
from roundsman.policy import Policy, load_policy
from roundsman.testing import ScriptedModel, call, run_guarded


def strict(*tools: str, **run: Any) -> Policy:
    base = load_policy("baseline")
    base = base.model_copy(update={"run": base.run.model_copy(update=run)})
    return base.with_tools({t: {"effect": "read"} for t in tools})


class Twice(FunctionTool):
    """Goes to its base two times, as one that tries again does."""

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        await super().run_async(args=args, tool_context=tool_context)
        return await super().run_async(args=args, tool_context=tool_context)


class Alone(BaseTool):
    """Does its work itself."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(name="restart_pod", description="restarts")
        self.lab = lab

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return self.lab.restart_pod(**args)


HELD: dict[str, Any] = {}


def hidden() -> Any:
    """What no walk can find."""
    return vars(sys.modules[__name__])["HELD"]["tool"]


WAYS: dict[str, Callable[[Any, dict[str, Any], Any], Any]] = {
    "object": lambda tool, args, ctx: tool.run_async(args=args, tool_context=ctx),
    "class": lambda tool, args, ctx: type(tool).run_async(tool, args=args, tool_context=ctx),
    "base": lambda tool, args, ctx: FunctionTool.run_async(tool, args=args, tool_context=ctx),
    "copy": lambda tool, args, ctx: copy.copy(tool).run_async(args=args, tool_context=ctx),
    "no context": lambda tool, args, ctx: tool.run_async(args=args, tool_context=None),
    "partial": lambda tool, args, ctx: partial(type(tool).run_async, tool)(
        args=args, tool_context=ctx
    ),
}
MAKES: dict[str, Callable[[Lab], Any]] = {
    "function": lambda lab: FunctionTool(lab.restart_pod),
    "subclass": lambda lab: Twice(lab.restart_pod),
    "own": Alone,
}


@pytest.mark.parametrize(
    ("way", "make"), [(w, m) for w in WAYS for m in MAKES if w != "base" or m != "own"]
)
async def test_a_forbidden_tool_run_by_code_does_not_run(way: str, make: str) -> None:
    def app(lab: Lab) -> LlmAgent:
        HELD["tool"] = MAKES[make](lab)

        async def look(tool_context: ToolContext) -> Any:
            """Look."""
            return {"got": str(await WAYS[way](hidden(), {"pod": "c"}, tool_context))}

        return LlmAgent(name="a", model=lab.model([call("look"), "done"]), tools=[look])

    lab = Lab()
    result = await run_guarded(app(lab), "go", strict("look"))
    assert lab.actions == 0
    refused = [r.body for r in result.records if r.kind == "ruled"]
    assert [(r["subject"], r["rule"]) for r in refused] == [("restart_pod", "allowlist")]
    lab = Lab()
    await converse(App(name="a", root_agent=app(lab)), ["go"])
    assert lab.actions > 0


async def test_what_a_tools_class_asks_of_its_base_is_one_action_and_its_own_calls_are_others() -> (
    None
):
    lab = Lab()

    async def dig(depth: int, tool_context: ToolContext) -> Any:
        """Dig."""
        lab.dig(depth)
        if depth > 0:
            await FunctionTool.run_async(tool, args={"depth": depth - 1}, tool_context=tool_context)
        return "dug"

    tool = Twice(dig)
    model = lab.model([call("dig", depth=0), "done"])
    result = await run_guarded(LlmAgent(name="a", model=model, tools=[tool]), "go", strict("dig"))
    assert (lab.actions, result.account.actions) == (2, 1)
    lab.log.clear()
    model = lab.model([call("dig", depth=9), "done"])
    limited = strict("dig", actions=4)
    result = await run_guarded(LlmAgent(name="a", model=model, tools=[tool]), "go", limited)
    assert result.account.actions == 4
    assert lab.actions <= 8


class Shell(BaseTool):
    """As the engine's own wrappers of a tool are."""

    __module__ = "google.adk.tools.shell"

    def __init__(self, inner: BaseTool) -> None:
        super().__init__(name=inner.name, description="x")
        self.inner = inner

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return await self.inner.run_async(args=args, tool_context=tool_context)

    def _get_declaration(self) -> Any:
        return self.inner._get_declaration()


async def test_an_engines_shell_around_a_tool_counts_once() -> None:
    lab = Lab()
    tool = Shell(FunctionTool(lab.dig))
    agent = LlmAgent(name="a", model=lab.model([call("dig"), "done"]), tools=[tool])
    result = await run_guarded(agent, "go", strict("dig"))
    assert (lab.actions, result.account.actions) == (1, 1)


# -- models


class Careful(ScriptedModel):
    """Asks its base."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:  # type: ignore[override]
        async for reply in super().generate_content_async(llm_request, stream):
            yield reply


async def own_replies(model: Any, *given: Any) -> AsyncIterator[LlmResponse]:
    async for reply in vars(ScriptedModel)["generate_content_async"].__wrapped__(model, *given):
        yield reply


async def last(replies: Any) -> Any:
    return [reply async for reply in replies][-1].error_code


ASKS: dict[str, Callable[[Any], Any]] = {
    "object": lambda m: m.generate_content_async(LlmRequest()),
    "class": lambda m: type(m).generate_content_async(m, LlmRequest()),
    "base": lambda m: ScriptedModel.generate_content_async(m, LlmRequest(), stream=True),
    "named": lambda m: ScriptedModel.generate_content_async(m, llm_request=LlmRequest()),
    "copy": lambda m: ScriptedModel.generate_content_async(m.model_copy(), LlmRequest()),
}


@pytest.mark.parametrize("way", ASKS)
@pytest.mark.parametrize("kind", [ScriptedModel, Careful])
async def test_a_model_called_past_its_object_is_judged_once(way: str, kind: Any) -> None:
    lab = Lab()

    def counted(request: LlmRequest, n: int) -> str:
        lab.log.append(("model", n))
        return "fine"

    HELD["tool"] = kind(counted)

    async def look() -> str:
        """Look."""
        return str([await last(ASKS[way](hidden())) for _ in range(5)])

    agent = LlmAgent(name="a", model=lab.model([call("look"), "done"]), tools=[look])
    result = await run_guarded(agent, "go", strict("look", steps=4))
    assert lab.steps == result.account.steps == 4
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "steps"
    assert result.account.shares["(direct call)"].steps == 3
    lab.log.clear()
    HELD["tool"] = kind(counted)
    agent = LlmAgent(name="a", model=lab.model([call("look"), "done"]), tools=[look])
    await converse(App(name="a", root_agent=agent), ["go"])
    assert lab.steps == 7


async def test_a_model_with_a_function_of_its_own_is_judged() -> None:
    lab = Lab()
    model = lab.model([call("dig")])
    vars(model)["generate_content_async"] = partial(own_replies, model)
    agent = LlmAgent(name="a", model=model, tools=[lab.dig])
    result = await run_guarded(agent, "go", strict("dig", steps=3))
    assert lab.steps == result.account.steps == 3


# -- threads


@pytest.fixture
def worker() -> Iterator[Callable[[Callable[[], Any]], Any]]:
    """A thread that is older than any run, and a function that has work done there."""
    jobs: queue.Queue[Any] = queue.Queue()

    def work() -> None:
        while (job := jobs.get()) is not None:
            function, done = job
            done.put(function())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def ask_it(function: Callable[[], Any]) -> Any:
        done: queue.Queue[Any] = queue.Queue()
        jobs.put((function, done))
        return done.get(timeout=300)

    yield ask_it
    jobs.put(None)
    thread.join(timeout=300)


def raw(work: Callable[[], Any]) -> None:
    done = threading.Event()

    def body(*_: Any) -> None:
        work()
        done.set()

    _thread.start_new_thread(body, ())
    assert done.wait(300)


HANDS: dict[str, Callable[[Any, Callable[[], Any]], Any]] = {
    "raw": lambda pool, work: raw(work),
    "apply": lambda pool, work: pool.apply(work),
    "map": lambda pool, work: pool.map(lambda _: work(), [1]),
    "starmap": lambda pool, work: pool.starmap(lambda _: work(), [(1,)]),
    "imap": lambda pool, work: list(pool.imap(lambda _: work(), [1])),
    "unordered": lambda pool, work: list(pool.imap_unordered(lambda _: work(), [1])),
}


@pytest.mark.parametrize("way", HANDS)
async def test_what_is_handed_to_a_thread_carries_the_account(way: str) -> None:
    lab = Lab()
    with ThreadPool(2) as pool:  # older than the run

        def look() -> str:
            """Look."""
            for _ in range(3):
                HANDS[way](pool, lambda: asyncio.run(ask(lab.model(["fine"]))))
            return "looked"

        agent = LlmAgent(name="a", model=lab.model([call("look"), "done"]), tools=[look])
        result = await run_guarded(agent, "go", strict("look", steps=3))
    assert lab.steps == result.account.steps == 3
    assert result.account.stopped is not None


async def test_a_loop_in_an_older_thread_carries_the_account() -> None:
    lab = Lab()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def look() -> str:
        """Look."""
        for _ in range(3):
            asyncio.run_coroutine_threadsafe(ask(lab.model(["fine"])), loop).result(300)
        return "looked"

    agent = LlmAgent(name="a", model=lab.model([call("look"), "done"]), tools=[look])
    result = await run_guarded(agent, "go", strict("look", steps=3))
    loop.call_soon_threadsafe(loop.stop)
    thread.join(300)
    loop.close()
    assert lab.steps == result.account.steps == 3


async def test_a_tool_in_an_older_thread_is_known_by_its_context(worker: Any) -> None:
    lab = Lab()
    tool = FunctionTool(lab.restart_pod)
    kept: list[Any] = []

    def look(tool_context: ToolContext) -> Any:
        """Look."""
        kept.append(tool_context)
        return worker(lambda: asyncio.run(tool.run_async(args={}, tool_context=tool_context)))

    agent = LlmAgent(name="a", model=lab.model([call("look"), "done"]), tools=[look])
    result = await run_guarded(agent, "go", strict("look"))
    assert lab.actions == 0
    assert [r.body["subject"] for r in result.records if r.kind == "ruled"] == ["restart_pod"]
    said = worker(lambda: asyncio.run(tool.run_async(args={}, tool_context=kept[0])))
    assert "is over" in said["reason"]
    assert lab.actions == 0


async def test_a_model_called_by_an_older_thread_stops_the_run(worker: Any) -> None:
    lab = Lab()
    model = lab.model([call("look"), "never"])

    def look() -> str:
        """Look."""
        return str(worker(lambda: asyncio.run(ask(model))))

    agent = LlmAgent(name="a", model=model, tools=[look])
    result = await run_guarded(agent, "go", strict("look"))
    assert lab.steps == 1
    stopped = result.account.stopped
    assert stopped is not None
    assert (stopped.reason, stopped.rule) == ("failed", "coverage")
    assert "where the account of its run does not reach" in stopped.detail
    worker(lambda: asyncio.run(ask(model, 1)))  # nobody's run is under way now
    assert lab.steps == 2
    lab.log.clear()
    model = lab.model([call("look"), "never"])
    agent = LlmAgent(name="a", model=model, tools=[look])
    await converse(App(name="a", root_agent=agent), ["go"])
    assert lab.steps > 2


async def test_an_agent_of_the_app_run_where_no_account_reaches_stops_the_run() -> None:
    def app(lab: Lab) -> LlmAgent:
        inner = lab.worker()

        async def own() -> None:
            runner = InMemoryRunner(agent=inner, app_name="own")
            runner.auto_create_session = True
            go = types.Content(role="user", parts=[types.Part(text="go")])
            async for _ in runner.run_async(user_id="u", session_id="s", new_message=go):
                pass

        async def look() -> str:
            """Look."""
            with suppress(RefusedToStart):
                await asyncio.create_task(own(), context=Context())
            return "looked"

        return LlmAgent(name="a", model=lab.model([call("look"), "done"]), tools=[look])

    lab = Lab()
    result = await run_guarded(app(lab), "go", strict("look"))
    assert (lab.steps, lab.actions) == (1, 0)
    assert result.account.stopped is not None
    assert "agent 'worker' was run where the account" in result.account.stopped.detail
    lab = Lab()
    await converse(App(name="a", root_agent=app(lab)), ["go"])
    assert lab.actions > 0
