"""Usage and reservations through the engine's own runner. Calls are counted inside the models."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models import FallbackModel
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import AgentTool
from google.adk.workflow import RetryConfig
from google.genai import types
from google.genai.errors import ServerError
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, PrivateAttr

from roundsman.adk.current import bound
from roundsman.adk.model import guard_model
from roundsman.adk.tokens import measure_prompt
from roundsman.guard import rules_for
from roundsman.ledger import LiveRun, Store
from roundsman.ledger.fold import fold, usage_of
from roundsman.policy import Policy, load_policy
from roundsman.testing import GuardedResult, ScriptedModel, call, run_guarded

SSE = RunConfig(streaming_mode=StreamingMode.SSE, max_llm_calls=0)
PRICES = {"m": {"input_per_million": 1.0, "output_per_million": 10.0,
                "cached_input_per_million": 0.1}}  # fmt: skip


def default(**sections: Any) -> Policy:
    """The preset, without the rule that takes equal replies of parallel calls for a stuck run."""
    base = load_policy("default")
    sections = {"repetition": {"mode": "off"}, **sections}
    merged = {}
    for name, section in sections.items():
        old = base.model_dump()[name]
        merged[name] = {**old, **section} if isinstance(old, dict) else section
    return Policy.model_validate({**base.model_dump(), **merged})


def usage(**counts: int) -> types.GenerateContentResponseUsageMetadata:
    return types.GenerateContentResponseUsageMetadata(
        **{f"{name}_token_count": count for name, count in counts.items()}
    )


def said(text: str | None, partial: bool = False, thought: bool = False, **counts: int) -> Any:
    content = None
    if text is not None:
        content = types.Content(role="model", parts=[types.Part(text=text, thought=thought)])
    return LlmResponse(
        content=content, partial=partial, usage_metadata=usage(**counts) if counts else None
    )


class Replies(BaseLlm):
    """Yields these responses; an exception among them is raised. Counts calls and yields."""

    model: str = "m"
    calls: int = 0
    yielded: int = 0
    asked: list[Any] = Field(default_factory=list)
    _responses: list[Any] = PrivateAttr()

    def __init__(self, *responses: Any, **data: Any) -> None:
        super().__init__(**data)
        self._responses = list(responses)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.calls += 1
        self.asked.append(llm_request.config.max_output_tokens if llm_request.config else None)
        for response in self._responses:
            if isinstance(response, Exception):
                raise response
            self.yielded += 1
            yield response


async def run(model: Any, policy: Policy | None = None, **extra: Any) -> GuardedResult:
    agent = LlmAgent(name="a", model=model)
    return await run_guarded(agent, "go", policy or default(prices=PRICES), **extra)


def ends(result: GuardedResult) -> list[dict[str, Any]]:
    return [r.body for r in result.records if r.kind == "step_ends"]


CUMULATIVE = [
    ([(700, 1), (700, 2), (700, 3)], (700, 3)),
    ([(64, 0), (64, 20)], (64, 20)),
    ([(4800, n) for n in range(190)], (4800, 189)),
]


@pytest.mark.parametrize(("chunks", "expected"), CUMULATIVE)
@pytest.mark.parametrize("final", [True, False])
async def test_running_totals_in_chunks_are_not_added(
    chunks: list[tuple[int, int]], expected: tuple[int, int], final: bool
) -> None:
    partial = [said("x", True, prompt=p, candidates=c) for p, c in chunks]
    model = Replies(*partial, *[said("x" * len(chunks))] * final)
    result = await run(model, run_config=SSE)
    assert result.account.tokens == sum(expected)
    assert result.account.tokens_estimated == 0
    assert (ends(result)[0]["prompt"], ends(result)[0]["output"]) == expected


async def test_usage_in_a_last_message_without_content_is_counted() -> None:
    result = await run(Replies(said("a", True), said("ab"), said(None, prompt=5, candidates=2)))
    assert (result.account.tokens, result.account.tokens_estimated) == (7, 0)
    assert result.account.usd == pytest.approx((5 * 1 + 2 * 10) / 1e6)
    assert result.account.steps == 1


async def test_the_same_message_twice_is_one_call() -> None:
    message = said("hello", prompt=90, candidates=10, total=100)
    agent = LlmAgent(name="a", model=Replies(message, message))
    result = await run_guarded(agent, "go", default(prices=PRICES))
    assert result.account.tokens == 100


async def test_a_stream_that_dies_is_charged_its_last_partial() -> None:
    model = Replies(
        said("a", True, prompt=50, total=60), said("b", True, prompt=50, total=75), OSError("gone")
    )
    result = await run(model, run_config=SSE, catch=True)
    assert result.account.tokens == 75
    assert ends(result)[0]["error"].startswith("OSError")
    assert result.account.reserved == {}


async def test_a_stream_that_dies_without_usage_is_charged_what_came() -> None:
    model = Replies(*[said("x" * 350, True)] * 10, OSError("gone"))
    result = await run(model, run_config=SSE, catch=True)
    assert result.account.tokens_estimated == result.account.tokens > 1000


async def test_a_reply_without_usage_is_charged_an_estimate_and_marked() -> None:
    result = await run(Replies(said("x" * 3500)))
    assert result.account.tokens == result.account.tokens_estimated
    assert 1000 <= result.account.tokens <= 1400
    assert ends(result)[0]["estimated"] is True


async def test_thoughts_are_output_and_cached_input_has_its_price() -> None:
    message = said("x", prompt=1000, cached_content=800, candidates=50, thoughts=150, total=1200)
    result = await run(Replies(message))
    assert result.account.tokens == 1200
    assert result.account.usd == pytest.approx((200 * 1 + 800 * 0.1 + 200 * 10) / 1e6)
    assert (result.account.cached, ends(result)[0]["thoughts"]) == (800, 150)


async def test_a_sum_that_is_less_than_its_parts_is_not_believed() -> None:
    result = await run(Replies(said("x", prompt=100, candidates=50, thoughts=70, total=150)))
    assert result.account.tokens == 220


async def test_every_model_a_fallback_asks_is_charged() -> None:
    busy = ServerError(503, {"error": {"message": "busy"}})
    first, second = Replies(busy), Replies(said("x", prompt=5, candidates=5))
    result = await run(FallbackModel(models=[first, second]))
    assert (first.calls, second.calls, result.account.steps) == (1, 1, 2)
    assert [e["error"][:11] for e in ends(result)] == ["ServerError", ""]
    policy = default(prices=PRICES, run={"steps": 1})
    first, second = Replies(busy), Replies(said("x", prompt=5, candidates=5))
    result = await run(FallbackModel(models=[first, second]), policy)
    assert (first.calls, second.calls) == (1, 0)
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "steps"


async def test_a_retry_of_the_node_does_not_start_a_new_budget() -> None:
    model = Replies(OSError("gone"))
    agent = LlmAgent(
        name="a", model=model, retry_config=RetryConfig(max_attempts=9, initial_delay=0.0, jitter=0)
    )
    result = await run_guarded(agent, "go", default(run={"steps": 3}), catch=True)
    assert model.calls == result.account.steps <= 3


async def test_a_prompt_that_does_not_fit_is_not_sent() -> None:
    model = Replies(said("x", prompt=5, candidates=5))
    agent = LlmAgent(name="a", model=model, instruction="x" * 31_500)
    result = await run_guarded(agent, "go", default(prices=PRICES, run={"tokens": 5_000}))
    assert model.calls == 0
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "tokens"


@pytest.mark.parametrize("reports", [True, False])
async def test_a_stream_is_ended_where_its_reply_should_have_ended(reports: bool) -> None:
    """72,900 tokens of thought in one reply that was allowed 20,000; then 11,210 of 100."""
    for most, chunk, count, latest in ((20_000, 400, 729, 26_000), (100, 10, 1121, 150)):
        chunks = [
            said("abc " * chunk, True, True, **({"prompt": 9, "thoughts": chunk * n} if reports else {}))
            for n in range(1, count // (chunk // 100 or 1))
        ]  # fmt: skip
        model = Replies(*chunks)
        config = types.GenerateContentConfig(max_output_tokens=most)
        agent = LlmAgent(name="a", model=model, generate_content_config=config)
        policy = default(prices=PRICES, run={"tokens": 60_000, "usd": 9.0})
        result = await run_guarded(agent, "go", policy, run_config=SSE)
        assert model.yielded * chunk <= (most + chunk if reports else latest)
        ruled = [r.body for r in result.records if r.kind == "ruled"]
        assert [r["rule"] for r in ruled if r["verdict"] == "cut"] == [
            "tokens"
        ]  # and not in dollars, too
        assert result.account.tokens <= model.yielded * chunk * 1.2 + 100


def endless() -> LlmAgent:
    """Its first reply goes on beyond the 100 tokens it is allowed."""
    chunks = [said("abc " * 10 * n, True, prompt=9, candidates=10 * n) for n in range(1, 30)]
    config = types.GenerateContentConfig(max_output_tokens=100)
    return LlmAgent(name="endless", model=Replies(*chunks), generate_content_config=config)


async def test_a_run_whose_last_reply_was_ended_while_it_came_is_not_done() -> None:
    result = await run_guarded(endless(), "go", default(prices=PRICES), run_config=SSE)
    ended = result.records[-1].body
    assert (ended["reason"], ended["rule"], result.status) == ("tokens", "tokens", "stopped")
    assert ended["detail"] == "the reply has 110 tokens of the 100 it was allowed"


async def test_a_run_that_goes_on_after_such_a_reply_is_done() -> None:
    both = SequentialAgent(
        name="both", sub_agents=[endless(), LlmAgent(name="z", model=ScriptedModel(["enough"]))]
    )
    result = await run_guarded(both, "go", default(prices=PRICES), run_config=SSE)
    assert result.status == "done"


async def test_a_provider_that_bills_more_than_it_was_allowed_is_on_record() -> None:
    config = types.GenerateContentConfig(max_output_tokens=100)
    model = Replies(said("x", prompt=50, candidates=900))
    agent = LlmAgent(name="a", model=model, generate_content_config=config)
    result = await run_guarded(agent, "go", default(prices=PRICES))
    assert model.asked == [100]
    assert (ends(result)[0]["over"], result.account.over, result.account.tokens) == (800, 800, 950)


def parallel(count: int, **data: Any) -> tuple[ParallelAgent, list[ScriptedModel]]:
    models = [ScriptedModel([f"branch {n} found {n * 7}"], **data) for n in range(count)]
    agents = [LlmAgent(name=f"p{n}", model=model) for n, model in enumerate(models)]
    return ParallelAgent(name="all", sub_agents=agents), models


async def test_branches_wait_for_room_instead_of_being_cut() -> None:
    root, models = parallel(8)
    result = await run_guarded(root, "go", default(run={"tokens": 14_000}))
    # each asks for 8,192 and uses 1,500: beside another one there is no room, after it there is
    assert [m.calls for m in models] == [1] * 8
    assert result.account.tokens == 12_000
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "done"


async def test_branches_do_not_overshoot_together() -> None:
    class Honest(Replies):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            self.calls += 1
            yield said("x", prompt=5, candidates=min(1495, llm_request.config.max_output_tokens))

    models = [Honest() for _ in range(12)]
    agents = [LlmAgent(name=f"p{n}", model=model) for n, model in enumerate(models)]
    root = ParallelAgent(name="all", sub_agents=agents)
    result = await run_guarded(root, "go", default(run={"tokens": 14_000}))
    assert sum(m.calls for m in models) == result.account.steps
    assert result.account.tokens <= 14_000
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "tokens"


async def test_an_agent_that_used_its_share_up_ends_alone() -> None:
    def digging(request: LlmRequest, n: int) -> Any:
        return call("dig", depth=n)

    def dig(depth: int) -> dict[str, Any]:
        """Dig."""
        return {"status": "ok", "depth": depth, "found": f"layer {depth}"}

    inner = LlmAgent(name="inner", model=ScriptedModel(digging), tools=[dig])
    outer_model = ScriptedModel([call("inner", request="dig"), "I have what inner found"])
    outer = LlmAgent(name="outer", model=outer_model, tools=[AgentTool(inner)])
    policy = default(agents={"shares": {"inner": {"steps": 3}}})
    result = await run_guarded(outer, "go", policy)
    assert result.account.shares["inner"].steps == 3
    assert result.results("inner") == [
        {"result": "Not done: agent 'inner' used 3 of the 3 steps of its share."}
    ]
    assert result.text == "I have what inner found"
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "done"
    alone = default(agents={"shares": {"outer": {"steps": 1}, "inner": {"steps": 3}}})
    outer.model = ScriptedModel([call("inner", request="dig"), "never said"])
    result = await run_guarded(outer, "go", alone)
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "steps"
    assert result.status == "stopped"


async def test_a_run_that_ended_with_a_spent_share_is_not_done() -> None:
    root, models = parallel(2)
    policy = default(agents={"shares": {"p1": {"tokens": 20}}})
    result = await run_guarded(root, "go", policy)
    assert [m.calls for m in models] == [1, 0]
    assert result.account.stopped is not None
    assert (result.account.stopped.reason, result.account.stopped.rule) == ("tokens", "shares")


async def test_a_fan_of_agents_is_bounded() -> None:
    leaf = LlmAgent(name="leaf", model=ScriptedModel(["done"]))
    fan = [call("leaf", request=str(n)) for n in range(30)]
    root = LlmAgent(name="root", model=ScriptedModel([fan, "done"]), tools=[AgentTool(leaf)])
    result = await run_guarded(
        root, "go", default(agents={"max_calls": 10}, repetition={"mode": "off"})
    )
    assert result.account.nested == 10
    assert len([r for r in result.results("leaf") if r.get("status") == "blocked"]) == 20


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6))
def test_any_schedule_of_direct_calls_stays_below_the_ceiling(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    dice = random.Random(seed)
    limit = dice.randint(3_000, 30_000)

    class Slow(BaseLlm):
        model: str = "m"
        calls: int = 0

        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            self.calls += 1
            allowed = llm_request.config.max_output_tokens
            assert allowed is not None
            for _ in range(dice.randint(0, 5)):
                await asyncio.sleep(0)
            ending = dice.random()
            if ending < 0.15:
                raise OSError("gone")
            yield said("x", prompt=5, candidates=dice.randint(0, allowed))

    async def one(model: BaseLlm) -> str:
        for _ in range(dice.randint(0, 9)):
            await asyncio.sleep(0)
        most = dice.choice([None, None, 50, 4_000, 20_000])
        config = types.GenerateContentConfig(max_output_tokens=most)
        contents = [types.Content(role="user", parts=[types.Part(text="x" * 70)])]
        try:
            async for reply in model.generate_content_async(
                LlmRequest(contents=contents, config=config)
            ):
                return reply.error_code or "ok"
        except OSError:
            return "gone"
        return "nothing"

    async def all_of_them() -> None:
        path: Path = tmp_path_factory.mktemp("schedule") / "runs.sqlite"
        store = Store(path)
        policy = default(prices=PRICES, run={"tokens": limit, "usd": 100.0, "steps": 40})
        live = LiveRun.start(store, rules_for(policy), policy=policy.digest)
        peak = []
        live.listeners.append(
            lambda e: peak.append(live.account.tokens + live.account.reserved_tokens)
        )
        model = guard_model(Slow())
        with bound(live):
            ended = await asyncio.gather(*(one(model) for _ in range(dice.randint(2, 25))))
        assert max(peak) <= limit
        assert model.calls == live.account.steps == ended.count("ok") + ended.count("gone")
        assert live.account.reserved == {}
        if "ROUNDSMAN_STOP" in ended:
            assert live.account.stopped is not None
            assert live.account.stopped.reason in ("tokens", "steps")
        assert fold(store.records(live.run_id)).tokens == live.account.tokens
        store.close()

    asyncio.run(all_of_them())


async def test_two_calls_of_one_agent_at_once_are_estimated_each_by_its_own_prompt() -> None:
    """The second prompt is not taken for the first one grown longer."""
    inner = LlmAgent(name="inner", description="i", model=ScriptedModel(["short"] * 9))
    asks = [call("inner", request="a"), call("inner", request="x" * 350_000)]
    again = [call("inner", request="y" * 350_000)]
    outer = LlmAgent(
        name="outer", model=ScriptedModel([asks, again, "done"]), tools=[AgentTool(inner)]
    )
    result = await run_guarded(outer, "go", default(run={"tokens": 10**6}))
    prompts = [
        r.body["prompt_tokens"]
        for r in result.records
        if r.kind == "step_begins" and r.body["agent"] == "inner"
    ]
    assert [p > 100_000 for p in prompts] == [False, True, True]


@pytest.mark.parametrize(
    ("part", "least"),
    [
        (types.Part(inline_data=types.Blob(mime_type="image/png", data=b"x" * 5_000_000)), 1_000),
        (types.Part(inline_data=types.Blob(mime_type="audio/wav", data=b"x" * 5_000_000)), 10_000),
        (types.Part(file_data=types.FileData(file_uri="gs://b/f.pdf")), 1_000),
    ],
)
def test_what_is_no_text_is_estimated_too(part: types.Part, least: int) -> None:
    for contents in ([[part]], [[types.Part(text="a")], [part]]):
        made = [types.Content(role="user", parts=parts) for parts in contents]
        tokens, _ = measure_prompt(LlmRequest(contents=made), {}, "")
        assert least <= tokens <= 2 * least


@pytest.mark.parametrize(("name", "usd"), [("mystery-9000", None), ("scripted", 0.0)])
async def test_what_nobody_knows_the_price_of_costs_no_zero_dollars(
    name: str, usd: float | None
) -> None:
    result = await run(ScriptedModel(["done"], model=name), default(repetition={"mode": "off"}))
    assert usage_of(result.account)["usd"] == usd
