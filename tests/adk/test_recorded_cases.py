"""Bugs that agent frameworks had in public, as runs under preset `default`.

The cases stand in tests/cases/guard_cases.jsonl. Those of arguments, names, answers and repetition
are run beside the code they concern; here are the rest, and the list of what does not fit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import AgentTool
from google.adk.workflow import START, RetryConfig, Workflow
from google.genai import types
from pydantic import PrivateAttr

from roundsman.adk import loop_until_done
from roundsman.policy import Policy, load_policy
from roundsman.testing import ScriptedModel, assert_refused, call, run_guarded

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "guard_cases.jsonl")
    .read_text("utf-8")
    .splitlines()
]
RUN_ELSEWHERE = {
    "args_clamp": "tests/guard/test_clamp.py",
    "allowlist": "tests/guard/test_clamp.py",
    "json_": "tests/loop",
    "guardrail_live": "tests/adk/test_live.py",
    "guardrail_stream_tool": "tests/adk/test_live.py",
    "guardrail_stream": "tests/adk/test_conversation.py",
    "guardrail_chunk_split": "tests/adk/test_conversation.py",
    "injection_tool_result": "tests/adk/test_conversation.py",
    "loop_": "tests/guard and tests/adk, beside the repetition rules",
}
DO_NOT_FIT = {
    "depth_process": "a process that a tool starts is the tool's own business (docs/guarantees.md)",
    "double_write": "held by the tests of resuming: a write on record is given back, not run again",
    "resume_loop": "held by the tests of resuming: finished rounds come from the journal",
    "resume_partial_parallel": "held by the tests of resuming",
    "parallel_same_target": "held by the tests of the scheduler",
}
HERE = {
    "budget_cap_ignored", "budget_cap_missing", "budget_inside_turn", "budget_metric",
    "budget_off_by_one", "budget_precheck", "budget_reset_on_retry", "budget_status",
    "depth_fanout", "guardrail_report", "no_progress_outer", "parallel_budget",
    "parallel_counter", "retry_forever", "token_double_count", "token_missing",
}  # fmt: skip
SSE = RunConfig(streaming_mode=StreamingMode.SSE, max_llm_calls=0)


def test_every_kind_is_run_or_the_reason_is_given() -> None:
    for kind in {case["kind"] for case in CASES}:
        elsewhere = any(kind.startswith(n) if n.endswith("_") else kind == n for n in RUN_ELSEWHERE)
        assert (kind in HERE) + elsewhere + (kind in DO_NOT_FIT) == 1, kind


def of(*kinds: str) -> Any:
    found = [
        pytest.param(c["input"], c["expected"], id=c["id"]) for c in CASES if c["kind"] in kinds
    ]
    return pytest.mark.parametrize(("given", "expected"), found)


def policy(**sections: Any) -> Policy:
    base = load_policy("default").model_dump()
    merged = {n: {**base[n], **s} if isinstance(base[n], dict) else s for n, s in sections.items()}
    return Policy.model_validate({**base, **merged})


class Box:
    """A tool that counts its runs."""

    def __init__(self) -> None:
        self.ran: list[int] = []

    def dig(self, depth: int = 1) -> dict[str, Any]:
        """Dig."""
        self.ran.append(depth)
        return {"status": "ok", "found": f"layer {depth} of {len(self.ran)}"}


class Streams(BaseLlm):
    """Streams these (text, thought, usage) chunks in every call, then says so much more."""

    model: str = "scripted"
    calls: int = 0
    yielded: int = 0
    _chunks: list[LlmResponse] = PrivateAttr()

    def __init__(self, chunks: list[LlmResponse], **data: Any) -> None:
        super().__init__(**data)
        self._chunks = chunks

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        self.calls += 1
        for chunk in self._chunks:
            self.yielded += 1
            yield chunk


def chunk(
    text: str | None, partial: bool = True, thought: bool = False, **usage: int
) -> LlmResponse:
    content = None
    if text is not None:
        content = types.Content(role="model", parts=[types.Part(text=text, thought=thought)])
    meta = None
    if usage:
        meta = types.GenerateContentResponseUsageMetadata(
            **{f"{name}_token_count": count for name, count in usage.items()}
        )
    return LlmResponse(content=content, partial=partial, usage_metadata=meta)


def digging(request: LlmRequest, n: int) -> Any:
    return call("dig", depth=n)


@of("budget_cap_ignored", "parallel_budget")
async def test_a_cap_on_tool_calls_holds(given: Any, expected: Any) -> None:
    cap = given.get("max_tool_calls") or given["tool_calls_limit"]
    at_once = given.get("one_turn_calls")
    turns = [[call("dig", depth=n) for n in range(at_once)]] if at_once else digging
    box = Box()
    agent = LlmAgent(name="a", model=ScriptedModel(turns), tools=[box.dig])
    result = await run_guarded(agent, "go", policy(run={"actions": cap}))
    assert len(box.ran) == result.account.actions == cap == expected.get("executed", cap)
    assert result.account.stopped is not None
    assert (result.account.stopped.reason, result.status) == ("actions", "stopped")


@of("parallel_counter")
async def test_calls_at_once_are_all_counted(given: Any, expected: Any) -> None:
    box, count = Box(), given["increments"]
    turn = [call("dig", depth=n) for n in range(count)]
    agent = LlmAgent(name="a", model=ScriptedModel([turn, "done"]), tools=[box.dig])
    result = await run_guarded(agent, "go", policy())
    assert result.account.actions == len(box.ran) == expected["counter"]


@of("budget_cap_missing")
async def test_a_model_that_only_asks_for_tools_is_ended(given: Any, expected: Any) -> None:
    box, model = Box(), ScriptedModel(digging)
    result = await run_guarded(LlmAgent(name="a", model=model, tools=[box.dig]), "go", "default")
    assert 0 < model.calls <= expected["model_calls_max"]
    assert result.status == "stopped"


@of("budget_off_by_one")
async def test_the_last_answer_of_a_sub_agent_runs_its_tools(given: Any, expected: Any) -> None:
    cap, submitted, box = expected["effective_cap"], [], Box()

    def submit() -> dict[str, Any]:
        """Submit."""
        submitted.append(True)
        return {"status": "ok"}

    inner_model = ScriptedModel(
        lambda request, n: call("submit") if n == cap - 1 else call("dig", depth=n)
    )
    inner = LlmAgent(name="inner", model=inner_model, tools=[box.dig, submit])
    outer_model = ScriptedModel([call("inner", request="go"), "done"])
    outer = LlmAgent(name="outer", model=outer_model, tools=[AgentTool(inner)])
    limits = {"shares": {"inner": {"steps": cap}}}
    bounds = policy(agents=limits, run={"steps": given["default"], "tokens": 90_000})
    await run_guarded(outer, "go", bounds)
    assert inner_model.calls == cap
    assert submitted == [True]


@of("budget_precheck")
async def test_a_request_that_does_not_fit_is_not_sent(given: Any, expected: Any) -> None:
    model = ScriptedModel(["done"])
    agent = LlmAgent(name="a", model=model, instruction="x" * (given["estimated_request"] * 4))
    result = await run_guarded(agent, "go", policy(run={"tokens": given["remaining"]}))
    assert bool(model.calls) is expected["request_sent"]
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "tokens"


@of("budget_reset_on_retry")
async def test_retries_go_on_with_the_same_budget(given: Any, expected: Any) -> None:
    # A retry inside the run; a new run that an outer program starts has an account of its own.
    cap = given.get("max_iter") or given["cap"]
    most = expected.get("total_model_calls_max") or expected["turns_total_max"]
    attempts = given.get("outer_retries") or len(given["attempts"])

    def fails(request: LlmRequest, n: int) -> Any:
        raise TimeoutError("try again")

    for script in (fails, digging):
        model = ScriptedModel(script)
        retry = RetryConfig(max_attempts=attempts + cap, initial_delay=0.0, jitter=0)
        agent = LlmAgent(name="a", model=model, tools=[Box().dig], retry_config=retry)
        result = await run_guarded(agent, "go", policy(run={"steps": cap}), catch=True)
        assert model.calls == result.account.steps <= most


@of("budget_status")
async def test_a_cap_is_no_success_and_what_there_is_is_kept(given: Any, expected: Any) -> None:
    box = Box()
    agent = LlmAgent(name="a", model=ScriptedModel(digging), tools=[box.dig])
    result = await run_guarded(agent, "go", policy(run={"steps": given["max_iter"]}))
    assert (result.status == "done") is expected["is_success"]
    assert len(result.results("dig")) == given["max_iter"]
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "steps"


@of("budget_inside_turn")
async def test_a_reply_is_ended_while_it_streams(given: Any, expected: Any) -> None:
    long = given.get("single_turn_stream", {})
    total = long.get("thinking_tokens") or given["stream_out"]
    most = given.get("turn_token_cap") or given["limit"]
    latest = next(iter(expected.values()))
    size = max(1, most // 20)
    chunks = [
        chunk("abcd" * size, True, bool(long), prompt=5, thoughts=size * (n + 1))
        for n in range(total // size)
    ]
    model = Streams([*chunks, chunk("end", False, prompt=5, thoughts=total)])
    config = types.GenerateContentConfig(max_output_tokens=most)
    agent = LlmAgent(name="a", model=model, generate_content_config=config)
    result = await run_guarded(agent, "go", policy(run={"tokens": 90_000}), run_config=SSE)
    assert model.yielded * size <= latest
    assert result.account.tokens <= latest + 5


@of("budget_metric")
async def test_cached_prefixes_need_not_count(given: Any, expected: Any) -> None:
    count = given["requests"]

    class Cached(ScriptedModel):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> Any:
            self.calls += 1
            part = call("dig", depth=self.calls) if self.calls < count else types.Part(text="done")
            usage = types.GenerateContentResponseUsageMetadata(
                prompt_token_count=given["in_each"],
                cached_content_token_count=given["cached_each"],
                total_token_count=given["in_each"],
            )
            content = types.Content(role="model", parts=[part])
            yield LlmResponse(content=content, usage_metadata=usage)

    model = Cached(["unused"])
    agent = LlmAgent(name="a", model=model, tools=[Box().dig])
    bounds = policy(run={"tokens": given["budget_in_uncached"], "cached_tokens": "free"})
    result = await run_guarded(agent, "go", bounds)
    assert (result.status == "stopped") is expected["stop"]
    assert result.account.tokens - result.account.cached == expected["counted"]


@of("depth_fanout")
async def test_a_fan_of_agents_is_bounded(given: Any, expected: Any) -> None:
    each = given["each_spawns"]

    def spawns(name: str) -> ScriptedModel:
        return ScriptedModel(
            lambda request, n: [call(name, request=f"{n}.{k}") for k in range(each)]
        )

    agent = LlmAgent(name="leaf", model=ScriptedModel(["done"]))
    for name, below in (("middle", "leaf"), ("root", "middle")):
        agent = LlmAgent(name=name, model=spawns(below), tools=[AgentTool(agent)])
    limits = {"max_depth": given["max_depth"] + 1, "max_calls": given["max_children_total"]}
    result = await run_guarded(agent, "go", policy(agents=limits))
    assert 1 + result.account.nested <= expected["agents_total_max"]
    assert result.account.nested == given["max_children_total"]


@of("guardrail_report")
async def test_a_verdict_survives_a_hand_over_in_the_same_turn(given: Any, expected: Any) -> None:
    box = Box()
    other = LlmAgent(name="other", model=ScriptedModel(["done"]))
    turn = [call("dig"), call("transfer_to_agent", agent_name="other")]
    agent = LlmAgent(name="a", model=ScriptedModel([turn]), tools=[box.dig], sub_agents=[other])
    bounds = load_policy("default").with_tools({"look": {"effect": "read"}})
    result = await run_guarded(agent, "go", bounds)
    assert_refused(result, "dig", times=expected["verdicts_in_result"])
    assert (box.ran, result.text) == ([], "done")


@of("no_progress_outer")
async def test_rounds_that_leave_everything_as_it_was_end(given: Any, expected: Any) -> None:
    def again(request: LlmRequest, n: int) -> Any:
        item = given["outer_rounds"][n]["item"]
        return json.dumps({"findings": [{"statement": f"took {item}"}], "done": False})

    bounds = policy(loop={"progress": "reference"})
    agent = LlmAgent(name="walker", model=ScriptedModel(again))
    graph = Workflow(name="graph", edges=[(START, loop_until_done(agent, bounds))])
    result = await run_guarded(App(name="walk", root_agent=graph), "go", bounds)
    assert result.account.rounds <= expected["stop_by_round"]
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "no_progress"


@of("retry_forever")
async def test_a_tool_that_always_fails_is_not_called_for_ever(given: Any, expected: Any) -> None:
    ran = []

    def f(x: str) -> dict[str, Any]:
        """Fail."""
        ran.append(x)
        return {"error": given["calls"][len(ran) - 1]["result"]}

    script = [call("f", **c["args"]) for c in given["calls"]]
    result = await run_guarded(
        LlmAgent(name="a", model=ScriptedModel([*script, "done"]), tools=[f]), "go", "default"
    )
    assert len(ran) <= expected["stop_by_call"]  # the third failure is the last
    assert [r for r in result.results("f") if r.get("rule") == "repetition"]


def counted(usage: dict[str, int]) -> dict[str, int]:
    names = {"in": "prompt", "out": "candidates", "cache": "cached_content", "total": "total"}
    return {names[name]: count for name, count in usage.items()}


@of("token_double_count", "token_missing")
async def test_tokens_of_a_stream_are_counted_once(given: Any, expected: Any) -> None:
    streams: list[tuple[list[LlmResponse], dict[str, int], int]] = []
    rounds = given.get("rounds", 1)
    if "chunks" in given:
        parts = [chunk("x", **counted(c)) for c in given["chunks"]]
        streams.append(([*parts, chunk("xx", False)], expected.get("first", expected), 1))
    if "stream_chunks" in given:
        parts = [chunk("x", prompt=given["in_each"], candidates=0)] * given["stream_chunks"]
        streams.append(([*parts, chunk("xx", False)], {"in": expected["stream_in"]}, 1))
    last = given.get("last_chunk_without_content") or given.get("usage_in_last_chunk")
    if last:
        want = expected.get("second", expected)
        streams.append(
            ([chunk("x"), chunk("xx", False), chunk(None, False, **counted(last))], want, rounds)
        )
    for chunks, want, times in streams:
        tokens = 0
        for _ in range(times):
            agent = LlmAgent(name="a", model=Streams(chunks))
            result = await run_guarded(agent, "go", "default", run_config=SSE)
            ends = [r.body for r in result.records if r.kind == "step_ends"]
            tokens += result.account.tokens
            assert result.account.tokens_estimated == 0
            for name, field in (("in", "prompt"), ("out", "output"), ("cache", "cached")):
                if name in want:
                    assert sum(e[field] for e in ends) == want[name]
        assert tokens == want.get("total", want.get("in", 0) + want.get("out", 0))
    assert streams
