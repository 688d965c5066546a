"""Loops that agents were stuck in, in public, played through the engine under preset `default`.

Each `loop_*` case of tests/cases/guard_cases.jsonl is played by a model that never gives up; what
counts is how often the tool itself ran. `stop_by_call: N` is held when the N-th call, at the latest, is the
last that ran. What is not played stands in `NOT_PLAYED`, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, LoopAgent

from roundsman import load_policy
from roundsman.policy import Policy
from roundsman.testing import FakeClock, GuardedResult, ScriptedModel, call, run_guarded

CASES = {
    case["id"]: case
    for case in map(
        json.loads,
        (Path(__file__).parents[1] / "cases" / "guard_cases.jsonl").read_text("utf-8").splitlines(),
    )
    if case["kind"].startswith("loop_")
}
NOT_PLAYED = {
    "case-002": "a slow call asked for again by another invocation: each run has an account of its own",
}
ENDLESS = 60
"""Calls a stuck model is good for; more than any limit that is looked at."""


async def play(
    case: dict[str, Any], calls: list[dict[str, Any]], policy: Policy | None = None
) -> tuple[GuardedResult, list[str]]:
    """Run an agent that asks for these calls; (what the run left, the tools that ran)."""
    ran: list[str] = []
    given: dict[str, list[Any]] = {}
    for one in calls:
        given.setdefault(one["tool"], []).append(one["result"])
    polls = dict.fromkeys(case["input"].get("poll_tools", []), "poll")
    effects = dict.fromkeys(given, "read") | case["input"].get("tool_effects", {}) | polls
    bounds = policy or _roomy(load_policy("default"))
    script: list[Any] = [call(one["tool"], **one["args"]) for one in calls]
    agent = LlmAgent(
        name="stuck",
        model=ScriptedModel([*script, "That is all."], tokens_per_call=100),
        tools=[_tool(name, results, ran) for name, results in given.items()],
    )
    declared = bounds.with_tools({name: {"effect": effect} for name, effect in effects.items()})
    return await run_guarded(agent, "go", declared, clock=FakeClock()), ran


def _roomy(policy: Policy) -> Policy:
    """Without its ceilings on steps, so that they cannot do the other rules' work."""
    run = policy.run.model_copy(update={"steps": 1000})
    one = policy.round.model_copy(update={"steps": 1000})
    finish = policy.finish.model_copy(update={"report_after_steps": None})
    return policy.model_copy(update={"run": run, "round": one, "finish": finish})


def _tool(name: str, given: list[Any], ran: list[str]) -> Callable[..., Any]:
    """A tool that gives the recorded results in turn, the last for ever."""

    def act(
        q: Any = None, limit: Any = None, path: Any = None, offset: Any = None, cmd: Any = None,
        session: Any = None, chars: Any = None, task_progress: Any = None, a: Any = None,
        todos: Any = None, amount: Any = None, cat: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """What was recorded."""
        result = given[min(ran.count(name), len(given) - 1)]
        ran.append(name)
        return {"result": result}

    act.__name__ = name
    return act


def _for_ever(case: dict[str, Any]) -> list[dict[str, Any]]:
    calls = case["input"]["calls"]
    return (calls * ENDLESS)[: max(ENDLESS, len(calls))]


STOPS = {
    key: case["expected"].get("stop_by_call") or case["expected"].get("stop_by_call_max")
    for key, case in CASES.items()
    if {"stop_by_call", "stop_by_call_max"} & set(case["expected"])
}


@pytest.mark.parametrize("case_id", sorted(STOPS))
async def test_a_stuck_agent_is_stopped(case_id: str) -> None:
    result, ran = await play(CASES[case_id], _for_ever(CASES[case_id]))
    assert len(ran) <= STOPS[case_id]
    assert result.stop == "repetition"


async def test_without_the_rule_it_runs_on() -> None:
    policy = _roomy(load_policy("default"))
    off = policy.repetition.model_copy(update={"mode": "off"})
    bare = policy.model_copy(update={"repetition": off})
    _, ran = await play(CASES["case-003"], _for_ever(CASES["case-003"]), bare)
    assert len(ran) == ENDLESS


async def test_case_001_a_write_runs_once() -> None:
    _, ran = await play(CASES["case-001"], _for_ever(CASES["case-001"]))
    assert len(ran) <= CASES["case-001"]["expected"]["executed_writes_max"]


async def test_case_016_paging_goes_on() -> None:
    offsets = CASES["case-016"]["expected"]["must_not_stop"]["offsets"]
    pages = [
        {"tool": "read", "args": {"path": "o.log", "offset": o}, "result": f"chunk{o}"}
        for o in offsets
    ]
    result, ran = await play(CASES["case-016"], pages)
    assert len(ran) == len(pages)
    assert result.stop == "done"


@pytest.mark.parametrize("case_id", ["case-018", "case-019"])
async def test_a_busy_agent_goes_on(case_id: str) -> None:
    calls = CASES[case_id]["input"]["calls"]
    result, ran = await play(CASES[case_id], calls)
    assert len(ran) == len(calls)
    assert result.stop == "done"


async def test_case_022_refusing_does_not_go_on_for_ever() -> None:
    case = CASES["case-022"]
    result, ran = await play(case, _for_ever(case))
    refused = [r for r in result.results("x") if r.get("status") == "blocked"]
    assert len(refused) <= case["expected"]["max_blocked_before_hard_stop"]
    assert result.stop == "repetition"
    assert len(ran) < 6


@pytest.mark.parametrize("case_id", ["case-011", "case-031"])
@pytest.mark.parametrize("off", [False, True], ids=["guarded", "without the rule"])
async def test_a_loop_of_an_agent_that_only_talks_is_ended(case_id: str, off: bool) -> None:
    """A reply without a call ends an agent of the engine; what goes on is the loop around it."""
    case = CASES[case_id]
    turns = case["input"]["model_turns"]
    model = ScriptedModel((turns * ENDLESS)[:ENDLESS], tokens_per_call=100)
    talker = LlmAgent(name="talker", model=model)
    loop = LoopAgent(name="loop", sub_agents=[talker], max_iterations=ENDLESS)
    policy = _roomy(load_policy("default"))
    if off:
        policy = policy.model_copy(
            update={"repetition": policy.repetition.model_copy(update={"mode": "off"})}
        )
    result = await run_guarded(loop, "go", policy)
    if off:
        assert model.calls == ENDLESS
    else:
        assert model.calls <= case["expected"]["stop_by_turn"]
        assert result.stop == "repetition"


def test_every_loop_case_is_played_or_says_why_not() -> None:
    here = {"case-022", "case-018", "case-019", "case-011", "case-031"}
    assert set(CASES) == set(STOPS) | here | set(NOT_PLAYED)
