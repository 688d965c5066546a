"""A guarded app through ADK's real runner. What ran is counted inside the model and the tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import AgentTool
from google.adk.workflow import START, Workflow
from google.genai import types
from passing_time import LONG, time_passes

from roundsman.adk import current_run, guarded, loop_until_done
from roundsman.errors import RefusedToStart
from roundsman.ledger import Store
from roundsman.ledger.fold import fold
from roundsman.policy import Policy, load_policy
from roundsman.testing import ScriptedModel, assert_refused, call, run_guarded


def policy(preset: str = "baseline", tools: dict[str, Any] | None = None, **run: Any) -> Policy:
    base = load_policy(preset)
    base = base.model_copy(update={"run": base.run.model_copy(update=run)})
    return base if tools is None else base.with_tools(tools)


class Counter:
    """A tool that counts its own runs."""

    def __init__(self) -> None:
        self.ran: list[int] = []

    def dig(self, depth: int = 1) -> dict[str, Any]:
        """Dig."""
        self.ran.append(depth)
        return {"status": "ok", "dug": depth, "layer": len(self.ran)}


def digging(request: LlmRequest, n: int) -> Any:
    return call("dig", depth=n)


async def unguarded(agent: Any, most_calls: int = 0) -> list[Any]:
    app = App(name=agent.name, root_agent=agent)
    service = InMemorySessionService()
    session = await service.create_session(app_name=app.name, user_id="u")
    content = types.Content(role="user", parts=[types.Part(text="go")])
    runner = Runner(app=app, session_service=service)
    events = []
    async for event in runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message=content,
        run_config=RunConfig(max_llm_calls=most_calls),
    ):
        events.append(event)
    return events


@pytest.mark.parametrize(("preset", "most"), [("baseline", 20), ("default", 20)])
async def test_the_token_budget_ends_an_endless_run(preset: str, most: int) -> None:
    box = Counter()
    model = ScriptedModel(digging)
    agent = LlmAgent(name="digger", model=model, tools=[box.dig])
    result = await run_guarded(agent, "go", policy(preset))
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "tokens"
    assert model.calls == result.account.steps <= most
    assert result.account.tokens <= 30_000
    assert result.status == "stopped"


async def test_without_a_guard_only_the_engines_own_limit_ends_it() -> None:
    box = Counter()
    model = ScriptedModel(digging)
    agent = LlmAgent(name="digger", model=model, tools=[box.dig])
    with pytest.raises(Exception, match="Max number of llm calls"):
        await unguarded(agent, most_calls=40)
    assert model.calls == 40


def nested(inner_model: Any, outer_model: Any, tools: list[Any]) -> LlmAgent:
    inner = LlmAgent(name="inner", model=inner_model, description="d", tools=tools)
    return LlmAgent(name="outer", model=outer_model, tools=[AgentTool(inner)])


async def test_an_agent_as_a_tool_shares_the_account() -> None:
    box = Counter()
    inner, outer = ScriptedModel(digging), ScriptedModel([call("inner", request="dig")])
    result = await run_guarded(nested(inner, outer, [box.dig]), "go", policy(steps=5))
    assert inner.calls + outer.calls == 5 == result.account.steps
    assert set(result.account.shares) == {"inner", "outer"}
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "steps"


async def test_unguarded_a_nested_agent_has_a_counter_of_its_own() -> None:
    def four_times(request: LlmRequest, n: int) -> Any:
        return "there" if n % 5 == 4 else call("dig", depth=n)

    box = Counter()
    inner = ScriptedModel(four_times)
    outer = ScriptedModel([*[call("inner", request="dig")] * 4, "done"])
    await unguarded(nested(inner, outer, [box.dig]), most_calls=5)
    assert inner.calls + outer.calls == 25


async def test_parallel_calls_are_counted_and_bounded() -> None:
    box = Counter()
    eight = [call("dig", depth=n) for n in range(8)]
    agent = LlmAgent(name="digger", model=ScriptedModel([eight, "done"]), tools=[box.dig])
    result = await run_guarded(agent, "go", policy(actions=6))
    assert len(box.ran) == result.account.actions == 6
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "actions"
    begun = [r.body["id"] for r in result.records if r.kind == "action_begins"]
    assert begun == sorted({r.body["id"] for r in result.records if r.kind == "action_ends"})


async def test_after_a_stop_nothing_runs() -> None:
    box = Counter()
    model = ScriptedModel(digging)
    agent = LlmAgent(name="digger", model=model, tools=[box.dig])
    result = await run_guarded(agent, "go", policy(steps=2))
    stopped_at = next(
        n for n, r in enumerate(result.records) if r.kind == "ruled" and r.body["verdict"] == "stop"
    )
    later = {r.kind for r in result.records[stopped_at:]}
    assert later <= {"ruled", "run_ends"}
    assert (model.calls, len(box.ran)) == (2, 2)


async def test_a_refused_tool_never_runs_and_the_model_reads_why() -> None:
    box, read = Counter(), Counter()

    def look(depth: int = 1) -> dict[str, Any]:
        """Look."""
        return read.dig(depth)

    said = ScriptedModel([call("dig"), "done"])
    agent = LlmAgent(name="a", model=said, tools=[box.dig, look])
    result = await run_guarded(agent, "go", policy(tools={"look": {"effect": "read"}}))
    assert box.ran == []
    (told,) = result.results("dig")
    assert told["status"] == "blocked"
    assert "allowed: look" in told["reason"]
    assert_refused(result, "dig", times=1)
    assert (result.account.actions, result.text) == (0, "done")
    await unguarded(LlmAgent(name="a", model=ScriptedModel([call("dig"), "x"]), tools=[box.dig]))
    assert box.ran == [1]


async def test_a_clamp_is_told_to_the_model() -> None:
    box = Counter()
    tools = {"dig": {"effect": "read", "args": {"depth": {"max": 60}}}}
    agent = LlmAgent(name="a", model=ScriptedModel([call("dig", depth=240), "x"]), tools=[box.dig])
    result = await run_guarded(agent, "go", policy(tools=tools))
    assert box.ran == [60]
    assert result.results("dig")[0]["amended"] == [{"arg": "depth", "from": 240, "to": 60}]


async def test_a_model_called_inside_a_tool_is_judged() -> None:
    direct = ScriptedModel(["fine"], tokens_per_call=700)

    async def ask() -> dict[str, Any]:
        """Ask another model."""
        from roundsman.adk.model import guard_model

        guard_model(direct)
        request = LlmRequest(contents=[types.Content(parts=[types.Part(text="q")])])
        said = [r async for r in direct.generate_content_async(request)]
        return {"said": said[0].content.parts[0].text if said[0].content else said[0].error_code}

    model = ScriptedModel([call("ask"), "done"])
    result = await run_guarded(LlmAgent(name="a", model=model, tools=[ask]), "go", policy())
    assert result.account.steps == 3
    assert result.account.shares["(direct call)"].tokens == 700
    model = ScriptedModel([call("ask"), "done"])
    result = await run_guarded(LlmAgent(name="a", model=model, tools=[ask]), "go", policy(steps=1))
    assert result.results("ask") == [{"said": "ROUNDSMAN_STOP"}]
    assert direct.calls == 1


class Registered(ScriptedModel):
    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"roundsman-test-.*"]

    def __init__(self, **data: Any) -> None:
        super().__init__(digging, **data)


async def test_a_model_given_by_name_is_judged() -> None:
    LLMRegistry.register(Registered)
    box = Counter()
    agent = LlmAgent(name="a", model="roundsman-test-1", tools=[box.dig])
    result = await run_guarded(agent, "go", policy(steps=3))
    assert result.account.steps == 3
    assert len(box.ran) == 3
    assert agent.model == "roundsman-test-1"


class Streams(ScriptedModel):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for total, partial in ((100, True), (200, True), (300, False)):
            usage = types.GenerateContentResponseUsageMetadata(
                prompt_token_count=90, total_token_count=total
            )
            content = types.Content(role="model", parts=[types.Part(text="x")])
            yield LlmResponse(content=content, partial=partial, usage_metadata=usage)


async def test_partial_chunks_are_not_added() -> None:
    agent = LlmAgent(name="a", model=Streams(["x"]))
    config = RunConfig(streaming_mode=StreamingMode.SSE, max_llm_calls=0)
    result = await run_guarded(agent, "go", policy(), run_config=config)
    assert result.account.tokens == 300


async def test_a_model_that_raises_leaves_a_failed_run() -> None:
    def broken(request: LlmRequest, n: int) -> Any:
        raise ConnectionError("no route")

    agent = LlmAgent(name="a", model=ScriptedModel(broken))
    result = await run_guarded(agent, "go", policy(), catch=True)
    assert isinstance(result.error, ConnectionError)
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "failed"
    assert result.account.ended
    assert result.account.reserved == {}


async def start(app: App) -> Any:
    service = InMemorySessionService()
    session = await service.create_session(app_name=app.name, user_id="u")
    content = types.Content(role="user", parts=[types.Part(text="go")])
    return Runner(app=app, session_service=service).run_async(
        user_id="u", session_id=session.id, new_message=content
    )


async def test_runs_of_one_process_never_share_an_account(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    box = Counter()

    def twice(request: LlmRequest, n: int) -> Any:
        turns = sum(c.role == "model" for c in request.contents)
        return call("dig", depth=turns) if turns < 2 else "done"

    def breaks(request: LlmRequest, n: int) -> Any:
        raise ConnectionError("no route")

    good = guarded(LlmAgent(name="good", model=ScriptedModel(twice), tools=[box.dig]), policy(),
                   store=store)  # fmt: skip
    bad = guarded(LlmAgent(name="bad", model=ScriptedModel(breaks)), policy(), store=store)
    left = await start(good)  # abandoned in the middle
    await anext(left)
    await left.aclose()
    with pytest.raises(ConnectionError):
        [e async for e in await start(bad)]
    assert current_run() is None
    [e async for e in await start(good)]
    one, two = await start(good), await start(good)  # interleaved, event by event
    pending = [one, two]
    while pending:
        for stream in list(pending):
            if await anext(stream, None) is None:
                pending.remove(stream)

    async def whole() -> None:
        [e async for e in await start(good)]

    await asyncio.gather(whole(), whole())
    accounts = [fold(store.records(info.run_id)) for info in reversed(store.runs())]
    assert [a.steps for a in accounts] == [1, 1, 3, 3, 3, 3, 3]
    assert all(a.ended for a in accounts)
    store.close()


def loop_app(model: Any, bounds: Policy, tools: list[Any]) -> App:
    agent = LlmAgent(name="walker", model=model, tools=tools)
    graph = Workflow(name="graph", edges=[(START, loop_until_done(agent, bounds))])
    return App(name="walk", root_agent=graph)


async def test_a_round_that_hangs_is_cut_and_its_tool_is_unknown() -> None:
    never, cancelled = asyncio.Event(), []

    async def wait() -> dict[str, Any]:
        """Wait for what never comes."""
        time_passes()
        try:
            await never.wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return {}

    bounds = policy()
    bounds = bounds.model_copy(update={"round": bounds.round.model_copy(update={"timeout": LONG})})
    app = loop_app(ScriptedModel([call("wait")]), bounds, [wait])
    result = await run_guarded(app, "go", bounds)
    assert result.account.rounds == 2
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "no_progress"
    ends = [r.body for r in result.records if r.kind == "round_ends"]
    assert [e["timed_out"] for e in ends] == [True, True]
    assert cancelled == [True, True]
    statuses = [r.body["status"] for r in result.records if r.kind == "action_ends"]
    assert statuses == ["unknown", "unknown"]


async def test_html_is_a_round_without_progress() -> None:
    bounds = policy()
    app = loop_app(ScriptedModel(["<html><body>502 Bad Gateway</body></html>"]), bounds, [])
    result = await run_guarded(app, "go", bounds)
    assert result.account.rounds == 2
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "no_progress"
    ruled = [r.body["rule"] for r in result.records if r.kind == "ruled"]
    assert ruled.count("readable_answer") == 2


def test_audit_refuses_what_goes_past_the_guard() -> None:
    coder = LlmAgent(name="coder", model=ScriptedModel(["x"]),
                     code_executor=UnsafeLocalCodeExecutor())  # fmt: skip
    with pytest.raises(RefusedToStart, match="coder: a code executor"):
        guarded(coder, policy())


async def test_a_new_policy_replaces_the_old_one() -> None:
    box = Counter()
    model = ScriptedModel(digging)
    app = App(name="a", root_agent=LlmAgent(name="a", model=model, tools=[box.dig]))
    first = await run_guarded(app, "go", policy(steps=2))
    second = await run_guarded(app, "go", policy(steps=4))
    assert (first.account.steps, second.account.steps, model.calls) == (2, 4, 6)


@pytest.mark.parametrize("rounds", [False, True])
async def test_a_model_that_repeats_itself_whatever_it_is_told_is_ended(rounds: bool) -> None:
    box = Counter()
    model = ScriptedModel([call("dig", depth=1)])
    bounds = policy("default")
    app = loop_app(model, bounds, [box.dig])
    agent = LlmAgent(name="a", model=model, tools=[box.dig])
    result = await run_guarded(app if rounds else agent, "go", bounds)
    # the answers count up, so a repeat is a little evidence: four run, one is refused, then the
    # end; in rounds it is the loop's, too, since no finding is held
    assert len(box.ran) == 4
    assert model.calls == 6
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "repetition"
