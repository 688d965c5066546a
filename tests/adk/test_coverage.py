"""What no walk can see is caught while it runs; what the engine adds by itself is let through."""

from __future__ import annotations

import asyncio
import copy
import sys
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.agents import BaseAgent, Context, LlmAgent, LoopAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner, Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool, exit_loop
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow, node
from google.genai import types
from matrix_agents import Executor, ask, calling
from matrix_lab import Lab, converse
from matrix_runs import Searching, answer, compacting, confirming, waiting_worker
from matrix_servers import a2a_server, remote
from pydantic import BaseModel

from roundsman import guarded
from roundsman.errors import PolicyError, RefusedToStart, UsageError
from roundsman.ledger import Store
from roundsman.ledger.fold import fold
from roundsman.policy import Policy, load_policy
from roundsman.policy.model import AuditException
from roundsman.testing import GuardedResult, ScriptedModel, call, run_guarded


def strict(*tools: str, **run: Any) -> Policy:
    """A strict allowlist of these tools."""
    base = load_policy("baseline")
    base = base.model_copy(update={"run": base.run.model_copy(update=run)})
    return base.with_tools({"default": "refuse", "allow": {t: {"effect": "read"} for t in tools}})


def failed(result: GuardedResult, path: str) -> None:
    stopped = result.account.stopped
    assert stopped is not None
    assert (stopped.reason, stopped.rule) == ("failed", "coverage")
    assert path in stopped.detail


async def test_an_agent_made_in_a_body_is_audited_when_it_enters() -> None:
    lab = Lab()

    @node(name="body", rerun_on_resume=True)
    async def body(ctx: Context, node_input: Any) -> Any:
        model = lab.model(["```python\nrestart()\n```", "done"])
        coder = LlmAgent(name="coder", model=model, code_executor=Executor(lab=lab))
        return await ctx.run_node(coder, node_input="go", run_id="r-1")

    result = await run_guarded(Workflow(name="flow", edges=[(START, body)]), "go", "baseline")
    failed(result, "coder: a code executor")
    assert lab.log == []


class Forging(BaseAgent):
    """Hands out a result whose call nobody judged."""

    async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        said = types.FunctionResponse(id="f1", name="restart_pod", response={"status": "ok"})
        parts = [types.Part(function_response=said)]
        yield Event(author=self.name, content=types.Content(role="user", parts=parts))


async def test_a_result_that_passed_no_hook_stops_the_run_and_is_named() -> None:
    lab = Lab()
    root = Workflow(name="flow", edges=[(START, Forging(name="forging"), lab.worker())])
    result = await run_guarded(root, "go", "baseline")
    failed(result, "forging.restart_pod")
    assert lab.log == []


HIDDEN = {"model": ScriptedModel(["hidden"])}


async def test_a_reply_of_a_model_that_does_not_judge_stops_the_run() -> None:
    def swap(callback_context: Any, llm_request: Any) -> None:
        hidden = vars(sys.modules[__name__])["HIDDEN"]["model"]
        past = vars(ScriptedModel)["generate_content_async"].__wrapped__
        vars(hidden)["generate_content_async"] = partial(past, hidden)  # takes the guard off again
        callback_context._invocation_context.agent.model = hidden

    model = ScriptedModel([call("look")])

    def look() -> str:
        """Look."""
        return "x"

    agent = LlmAgent(name="a", model=model, tools=[look], before_model_callback=swap)
    result = await run_guarded(agent, "go", "baseline")
    failed(result, "a.model")
    assert (HIDDEN["model"].calls, model.calls) == (1, 0)


async def test_calls_that_share_an_id_are_counted_one_by_one() -> None:
    lab = Lab()
    twice = [types.Part(function_call=types.FunctionCall(id="same", name="dig", args={"depth": n}))
             for n in range(4)]  # fmt: skip
    agent = LlmAgent(name="a", model=lab.model([twice, "done"]), tools=[lab.dig])
    result = await run_guarded(agent, "go", strict("dig", actions=3))
    assert lab.actions == result.account.actions == 3
    begun = {r.body["id"] for r in result.records if r.kind == "action_begins"}
    assert begun == {r.body["id"] for r in result.records if r.kind == "action_ends"}


@pytest.mark.parametrize("yes", [True, False])
async def test_a_confirmed_call_counts_once_and_a_denied_one_not_at_all(
    yes: bool, tmp_path: Path
) -> None:
    lab, store = Lab(), Store(tmp_path / "runs.sqlite")
    app = guarded(App(name="a", root_agent=confirming(lab)), strict("dig", "look"), store=store)

    def decide(events: list[Any]) -> types.Content:
        account = fold(store.records(store.runs()[0].run_id))
        assert (account.actions, account.ended) == (0, False)
        content: types.Content = answer({"confirmed": yes})(events)
        return content

    await converse(app, ["go", decide])
    account = fold(store.records(store.runs()[0].run_id))
    assert lab.actions == (1 if yes else 0)
    assert account.by_tool.get("dig", 0) == lab.actions
    assert account.ended
    store.close()


async def test_code_cannot_run_a_tool_that_needs_a_persons_word() -> None:
    lab = Lab()
    dig = FunctionTool(lab.dig, require_confirmation=True)

    async def survey(tool_context: ToolContext) -> Any:
        """Look."""
        return await dig.run_async(args={"depth": 1}, tool_context=tool_context)

    agent = LlmAgent(name="a", model=lab.model([call("survey"), "done"]), tools=[survey])
    result = await run_guarded(agent, "go", strict("dig", "survey"))
    assert lab.actions == 0
    assert result.results("survey")[0]["status"] == "blocked"


async def test_a_summary_is_charged_to_the_run_as_a_share_of_its_own() -> None:
    result = await run_guarded(compacting(Lab()), "go", strict("dig", steps=9))
    shares = {name: share.steps for name, share in result.account.shares.items()}
    assert shares == {"worker": 5, "(compaction)": 1}
    assert result.records[-1].kind == "run_ends"
    assert result.account.tokens == 6 * 1500


@pytest.mark.parametrize("declared", [True, False])
async def test_a_tool_of_the_provider_stays_only_when_it_is_declared(declared: bool) -> None:
    seen = []

    def script(request: LlmRequest, n: int) -> Any:
        seen.append(any(t.google_search for t in request.config.tools or []))
        return "done"

    agent = LlmAgent(name="a", model=ScriptedModel(script), tools=[Searching()])
    await run_guarded(agent, "go", strict("google_search" if declared else "dig"))
    assert seen == [declared]


async def test_entering_a_declared_remote_agent_is_an_action_with_its_record() -> None:
    lab = Lab()
    async with a2a_server(lab) as card:
        root = Workflow(name="flow", edges=[(START, remote(card))])
        result = await run_guarded(root, "go", strict("remote"))
    assert lab.log == [("remote", 1)]
    kinds = [(r.kind, r.body["tool"]) for r in result.records if r.kind.startswith("action_")]
    assert kinds == [("action_begins", "remote"), ("action_ends", "remote")]
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "done"


async def test_an_app_that_declares_nothing_is_only_limited() -> None:
    lab = Lab()
    result = await run_guarded(lab.worker(), "go", "default")
    assert ("restart_pod", "b") in lab.log
    assert ("dig", 240) in lab.log
    assert result.status == "done"


class Answer(BaseModel):
    cause: str


async def test_a_strict_allowlist_leaves_structured_output_and_loops_whole() -> None:
    lab = Lab()
    said = call("set_model_response", cause="the pool")
    agent = LlmAgent(name="a", model=lab.model([call("dig", depth=1), said, "done"]),
                     tools=[lab.dig], output_schema=Answer)  # fmt: skip
    result = await run_guarded(agent, "go", strict("dig"))
    assert '"the pool"' in result.text
    ender = LlmAgent(name="b", model=lab.model([call("exit_loop")]), tools=[exit_loop])
    loop = LoopAgent(name="loop", sub_agents=[ender], max_iterations=5)
    result = await run_guarded(loop, "go", strict("dig"))
    assert result.account.steps == 1


def excepting(policy: Policy, path: str) -> Policy:
    why = AuditException(path=path, why="looked at by hand")
    return policy.model_copy(update={"exceptions": [why]})


async def test_an_exception_the_policy_names_is_let_through() -> None:
    lab = Lab()
    digger = LlmAgent(name="digger", mode="task", description="digs", tools=[lab.dig],
                      model=lab.model([call("dig", depth=1), call("finish_task", result="dug")]))  # fmt: skip
    root = calling(lab, "digger", sub_agents=[digger])
    with pytest.raises(RefusedToStart, match="digger: mode='task'"):
        guarded(root, strict("dig"))
    result = await run_guarded(root, "go", excepting(strict("dig"), "digger"))
    assert lab.actions == 1
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "done", result.account.stopped


async def test_compositional_function_calling_is_refused_before_anything_runs() -> None:
    lab = Lab()
    app = guarded(lab.worker(), "baseline")
    with pytest.raises(RefusedToStart, match="compositional function calling"):
        await converse(app, ["go"], support_cfc=True)
    assert lab.log == []


async def test_a_run_that_waits_goes_on_with_its_account_and_keeps_its_stop(tmp_path: Path) -> None:
    lab, store = Lab(), Store(tmp_path / "runs.sqlite")
    app = guarded(App(name="a", root_agent=waiting_worker(lab)), strict("dig", "order", steps=4),
                  store=store)  # fmt: skip
    await converse(app, ["go", answer({"status": "ok"})])
    (info,) = store.runs()
    account = fold(store.records(info.run_id))
    assert lab.steps == account.steps == 4
    assert account.ended
    store.close()


def in_a_thread(lab: Lab, how: str) -> Any:
    """A tool that runs a busy agent where no context reaches by itself."""

    def with_runner() -> None:
        runner = Runner(app_name="own", agent=lab.worker(), auto_create_session=True,
                        session_service=InMemorySessionService())  # fmt: skip
        go = types.Content(role="user", parts=[types.Part(text="go")])
        list(runner.run(user_id="u", session_id="s", new_message=go))

    def delegate() -> str:
        """Let a colleague do it."""
        if how == "runner":
            with_runner()
        elif how == "thread":
            thread = threading.Thread(target=lambda: asyncio.run(ask(lab.model(["fine"]))))
            thread.start()
            thread.join()
        else:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(lambda: asyncio.run(ask(lab.model(["fine"])))).result()
        return "did it"

    return LlmAgent(name="outer", model=lab.model([call("delegate"), "done"]), tools=[delegate])


@pytest.mark.parametrize("how", ["runner", "thread", "pool"])
async def test_threads_of_a_tool_carry_the_account(how: str) -> None:
    lab = Lab()
    result = await run_guarded(in_a_thread(lab, how), "go", strict("delegate", "dig", steps=4))
    assert lab.steps == result.account.steps == 4
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "steps"
    assert not any(kind == "restart_pod" for kind, _ in lab.log)
    lab = Lab()
    await converse(App(name="a", root_agent=in_a_thread(lab, how)), ["go"])
    assert lab.steps > 4


async def test_a_task_that_outlives_its_run_calls_no_model() -> None:
    lab, left, over = Lab(), list[Any](), asyncio.Event()

    async def later() -> str:
        await over.wait()
        return await ask(model)

    model = lab.model(["fine"])

    async def leave() -> str:
        """Leave something behind."""
        left.append(asyncio.create_task(later()))
        return "left"

    agent = LlmAgent(name="a", model=lab.model([call("leave"), "done"]), tools=[leave])
    result = await run_guarded(agent, "go", strict("leave"))
    assert result.account.ended
    steps = lab.steps
    over.set()
    assert await left[0] == "ROUNDSMAN_STOP"
    assert lab.steps == steps


async def test_arguments_that_a_later_callback_changes_are_bounded_again() -> None:
    lab = Lab()

    def widen(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["depth"] = 240

    agent = LlmAgent(name="a", model=lab.model([call("dig", depth=1), "done"]), tools=[lab.dig],
                     before_tool_callback=widen)  # fmt: skip
    dig = {"effect": "read", "args": {"depth": {"max": 60}}}
    base = load_policy("baseline").with_tools({"dig": dig})
    result = await run_guarded(agent, "go", base)
    assert ("dig", 60) in lab.log
    (change,) = [r.body for r in result.records if r.kind == "ruled"]
    assert change["changes"] == [{"arg": "*", "from": {"depth": 1}, "to": {"depth": 60}}]


async def test_a_guarded_app_inside_another_ones_run_keeps_its_own_allowlist(
    tmp_path: Path,
) -> None:
    lab = Lab()
    store = Store(tmp_path / "runs.sqlite")
    dig = {"effect": "read", "args": {"depth": {"max": 60}}}
    inner = guarded(App(name="inner", root_agent=lab.worker()),
                    load_policy("baseline").with_tools({"dig": dig}), store=store)  # fmt: skip

    async def delegate() -> str:
        """Ask another app."""
        await InMemoryRunner(app=inner).run_debug("go", quiet=True)
        return "did it"

    outer = LlmAgent(name="outer", model=lab.model([call("delegate"), "done"]), tools=[delegate])
    result = await run_guarded(outer, "go", "baseline", store=store)
    assert lab.steps == result.account.steps == 11
    assert not any(kind == "restart_pod" for kind, _ in lab.log)
    assert max(depth for kind, depth in lab.log if kind == "dig") == 60
    assert len(store.runs()) == 1
    store.close()


async def test_functions_in_a_request_are_not_left_to_the_providers_sdk() -> None:
    seen = []

    def smuggle(callback_context: Any, llm_request: Any) -> None:
        llm_request.config.tools = [*(llm_request.config.tools or []), Lab().restart_pod]

    def script(request: LlmRequest, n: int) -> Any:
        seen.append([t for t in request.config.tools or [] if callable(t)])
        return "done"

    agent = LlmAgent(name="a", model=ScriptedModel(script), before_model_callback=smuggle)
    result = await run_guarded(agent, "go", strict("dig"))
    assert seen == [[]]
    assert [r.body["subject"] for r in result.records if r.kind == "ruled"] == ["restart_pod"]


@pytest.mark.parametrize(("depth", "ran"), [(40, [40]), (240, [])])
async def test_what_a_node_takes_from_the_session_is_bounded(depth: int, ran: list[int]) -> None:
    lab = Lab()

    def keep(node_input: Any) -> Event:
        return Event(state={"depth": depth})

    def dig(depth: int) -> str:
        lab.dig(depth)
        return "dug"

    declared = {"dig": {"effect": "read", "args": {"depth": {"max": 60}}}, "keep": {}}
    root = Workflow(name="flow", edges=[(START, keep, dig)])
    await run_guarded(root, "go", load_policy("baseline").with_tools(declared))
    assert [d for _, d in lab.log] == ran


@pytest.mark.parametrize("app", [5, None, "agent", ScriptedModel(["x"]), []])
def test_what_is_no_app_is_said(app: Any) -> None:
    with pytest.raises(UsageError, match=r"app is .*; give an ADK App"):
        guarded(app, "baseline")


@pytest.mark.parametrize("policy", [5, None, {}, b"default"])
def test_what_is_no_policy_is_said(policy: Any) -> None:
    with pytest.raises(PolicyError, match=r"policy is .*; give a preset's name"):
        guarded(LlmAgent(name="a", model="gemini-2.5-flash"), policy)


async def test_the_engine_s_own_limit_is_not_touched_outside_of_runs() -> None:
    """An unguarded app in a process with guarded ones runs as it always did."""
    lab = Lab()
    guarded(LlmAgent(name="other", model=ScriptedModel(["x"])), strict("look", steps=1))
    app = App(name="a", root_agent=lab.worker())
    runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)
    go = types.Content(role="user", parts=[types.Part(text="go")])
    config = RunConfig(max_llm_calls=20)
    stream = runner.run_async(user_id="u", session_id="s", new_message=go, run_config=config)
    [e async for e in stream]
    assert ("restart_pod", "b") in lab.log


class Holder:
    """Some object of an app's own."""

    def __init__(self, held: Any) -> None:
        self.inner = {"things": [SimpleNamespace(held=held)]}

    @property
    def held(self) -> Any:
        return self.inner["things"][0].held


class Judge(BasePlugin):
    """A plugin that asks a model of its own, in one of its hooks."""

    def __init__(self, hook: str, model: Any) -> None:
        super().__init__(name="judge")
        self.holder, self.hook = Holder(model), hook

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> None:
        await self._asks("on_user_message")

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        await self._asks("before_run")

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        await self._asks("on_event")

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        await self._asks("after_run")

    async def _asks(self, hook: str) -> None:
        if hook == self.hook:
            await ask(self.holder.held)


def copied(lab: Lab) -> Any:
    return copy.copy(lab.model(["fine"]))


def constructed(lab: Lab) -> Any:
    whole = lab.model(["fine"])
    made = type(whole).model_construct(model="scripted")
    object.__setattr__(made, "__pydantic_private__", whole.__pydantic_private__)
    return made


MAKING = {"made": lambda lab: lab.model(["fine"]), "copied": copied, "constructed": constructed}
HOOKS = ["on_user_message", "before_run", "on_event", "after_run"]


@pytest.mark.parametrize("how", MAKING)
@pytest.mark.parametrize("when", ["before the app", "before the run", "in the run"])
async def test_a_model_held_where_no_walk_looks_is_judged(how: str, when: str) -> None:
    lab, store = Lab(), dict[str, Any]()

    async def consult() -> str:
        """Ask another model."""
        if when == "in the run":
            store["model"] = MAKING[how](lab)
        return await ask(globals()["_KEPT"].held["model"])

    globals()["_KEPT"] = Holder(store)
    if when == "before the app":
        store["model"] = MAKING[how](lab)
    agent = LlmAgent(name="a", model=lab.model([call("consult"), "done"]), tools=[consult])
    app = App(name="x", root_agent=agent)
    guarded(app, strict("consult", steps=5))
    if when == "before the run":
        store["model"] = MAKING[how](lab)
    result = await run_guarded(app, "go", strict("consult", steps=5))
    assert (lab.steps, result.account.steps, result.stop) == (5, 5, "steps")


@pytest.mark.parametrize("hook", HOOKS)
async def test_a_model_a_plugin_asks_is_charged_whatever_the_hook(hook: str) -> None:
    lab = Lab()
    agent = LlmAgent(name="a", model=lab.model(["done"]))
    app = App(name="x", root_agent=agent, plugins=[Judge(hook, lab.model(["fine"]))])
    with TemporaryDirectory() as folder:
        store = Store(Path(folder) / "runs.sqlite")
        result = await run_guarded(app, "go", strict(steps=5), store=store)
        assert len(store.runs()) == 1
        store.close()
    assert (lab.steps, result.account.steps, result.stop) == (5, 5, "steps")


async def test_a_message_nobody_asks_a_model_about_opens_one_run_with_its_question() -> None:
    lab = Lab()
    agent = LlmAgent(name="a", model=lab.model(["done"]))
    app = App(name="x", root_agent=agent, plugins=[Judge("none", lab.model(["fine"]))])
    result = await run_guarded(app, "what is it?", strict(steps=5))
    assert [r.body["question"] for r in result.records if r.kind == "run_begins"] == ["what is it?"]


async def test_a_tool_object_held_by_an_object_of_the_app_is_judged() -> None:
    lab = Lab()
    holder = Holder(FunctionTool(lab.restart_pod))

    async def dig(tool_context: ToolContext) -> Any:
        """Dig."""
        return await holder.held.run_async(args={"pod": "c"}, tool_context=tool_context)

    agent = LlmAgent(name="a", model=lab.model([call("dig"), "done"]), tools=[dig])
    result = await run_guarded(agent, "go", strict("dig"))
    assert lab.actions == 0
    assert [r.body["subject"] for r in result.records if r.kind == "ruled"] == ["restart_pod"]


class Toolset(BaseToolset):
    """Makes its tools when it is asked, as one of a server does."""

    def __init__(self, tools: Any) -> None:
        super().__init__(tool_name_prefix="x")
        self.made = tools

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return [FunctionTool(function) for function in self.made]

    async def close(self) -> None: ...


async def test_the_prefix_of_a_toolset_is_part_of_the_name_and_a_call_counts_once() -> None:
    """The engine copies a tool to rename it, with whatever it carries."""
    lab = Lab()
    script = [call("x_dig", depth=240), call("x_restart_pod"), call("dig"), "done"]
    tools = [Toolset([lab.dig, lab.restart_pod])]
    agent = LlmAgent(name="a", model=lab.model(script), tools=tools)
    base = load_policy("baseline")
    declared = {"x_dig": {"effect": "read", "args": {"depth": {"max": 60}}}}
    result = await run_guarded(agent, "go", base.with_tools(declared))
    assert [entry for entry in lab.log if entry[0] != "model"] == [("dig", 60)]
    assert result.account.actions == 1
