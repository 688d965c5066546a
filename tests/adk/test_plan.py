"""Plan books, on an agent alone and in a guarded app."""

from __future__ import annotations

from typing import Any

import pytest
from engine_runs import answers, events_of, last_text
from google.adk.agents import LlmAgent
from google.adk.tools import AgentTool
from google.adk.workflow import START, Workflow

from roundsman.adk import PlanBook
from roundsman.policy import load_policy
from roundsman.testing import ScriptedModel, call, run_guarded

ALONE_AND_GUARDED = pytest.mark.parametrize("policy", [None, "default"], ids=["alone", "guarded"])


def planner(*script: Any, name: str = "planner") -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(list(script)), description=name)


def revise(n: int) -> Any:
    return call("revise_plan", why=f"reason {n}", steps=[f"step {n}", "report"])


@ALONE_AND_GUARDED
async def test_the_third_revision_is_refused_and_says_what_is_undone(policy: Any) -> None:
    agent = planner(
        call("make_plan", steps=["look at logs", "restart"]),
        call("mark_step", number=1, outcome="failed", note="no logs"),
        revise(1),
        call("mark_step", number=1, outcome="done", note=""),
        revise(2),
        call("mark_step", number=2, outcome="DONE", note=""),
        revise(3),
        call("make_plan", steps=["in disguise"]),
        "that is all",
    )
    events = await events_of(PlanBook(max_replans=2).on(agent), policy)
    first, second, third = answers(events, "revise_plan")
    assert first["failures_so_far"] == ["look at logs: no logs", "reason 1"]
    assert first["plan"] == ["1. [open] step 1", "2. [open] report"]
    assert (first["revisions_left"], second["revisions_left"]) == (1, 0)
    assert second["failures_so_far"] == ["look at logs: no logs", "reason 1", "reason 2"]
    assert (third["status"], third["rule"]) == ("blocked", "plan")
    assert third["reason"] == (
        "the plan was revised 2 of 2 times; finish with what is done and name what is not"
    )
    assert (third["done"], third["not_done"]) == (["2. report"], ["1. step 2"])
    assert third["failures_so_far"][-1] == "reason 3"
    assert answers(events, "make_plan")[1]["status"] == "blocked"
    assert last_text(events) == "that is all"


async def test_without_the_book_nothing_counts_plans() -> None:
    plans: list[Any] = []

    def revise_plan(why: str, steps: list[str]) -> dict[str, Any]:
        """Write another plan."""
        plans.append(steps)
        return {"status": "ok"}

    agent = planner(*[revise(n) for n in range(9)], "that is all")
    agent.tools = [revise_plan]
    await events_of(agent)
    assert len(plans) == 9


async def test_the_policy_may_be_tighter_and_counts_the_whole_tree() -> None:
    inner = planner(call("make_plan", steps=["a"]), revise(1), revise(2), "x", name="inner")
    PlanBook(max_replans=2).on(inner)
    outer = LlmAgent(
        name="outer",
        model=ScriptedModel([call("inner", request="1"), call("make_plan", steps=["b"]),
                             revise(3), "done"]),
        tools=[AgentTool(inner)],
    )  # fmt: skip
    PlanBook(max_replans=2).on(outer)
    result = await run_guarded(outer, "go", "default")
    assert result.account.replans == 2
    assert result.results("revise_plan")[0]["status"] == "blocked"
    refused = [r.body for r in result.records if r.kind == "ruled"]
    assert [(r["rule"], r["verdict"]) for r in refused] == [("plan", "refuse")]


async def test_the_books_own_limit_holds_under_a_policy_without_one() -> None:
    agent = planner(call("make_plan", steps=["a"]), revise(1), revise(2), "x")
    result = await run_guarded(PlanBook(max_replans=1).on(agent), "go", "baseline")
    assert [r["status"] for r in result.results("revise_plan")] == ["ok", "blocked"]
    ruled = [r.body for r in result.records if r.kind == "ruled"]
    assert [(r["rule"], r["subject"]) for r in ruled] == [("plan", "plan_revised")]


async def test_a_closed_allowlist_leaves_the_plan_tools() -> None:
    policy = load_policy("default").with_tools({"other": {"effect": "read"}})
    agent = PlanBook().on(planner(call("make_plan", steps=["a"]), "x"))
    result = await run_guarded(agent, "go", policy)
    assert result.results("make_plan")[0]["status"] == "ok"


@ALONE_AND_GUARDED
async def test_what_a_model_gets_wrong_is_told_to_it(policy: Any) -> None:
    agent = planner(
        call("make_plan", steps=[]),
        call("make_plan", steps=["x"] * 51),
        call("make_plan", steps="just one"),
        call("mark_step", number="1", outcome=" Failed ", note="n"),
        call("mark_step", number=7, outcome="done"),
        call("mark_step", number=1, outcome="maybe"),
        call("revise_plan", why="x" * 9000, steps=["a"]),
        "done",
    )
    events = await events_of(PlanBook().on(agent), policy)
    empty, many, one = answers(events, "make_plan")
    assert (empty["status"], many["status"]) == ("error", "error")
    assert one["plan"] == ["1. [open] just one"]
    marked, unknown, odd = answers(events, "mark_step")
    assert marked["plan"] == ["1. [failed] just one"]
    assert "wanted is a number from 1 to 1" in unknown["reason"]
    assert "done or failed" in odd["reason"]
    assert len(answers(events, "revise_plan")[0]["failures_so_far"][1]) == 300


def test_it_wants_a_number_and_an_agent_with_a_model() -> None:
    with pytest.raises(ValueError, match="max_replans is True"):
        PlanBook(max_replans=True)
    with pytest.raises(TypeError, match="a plan book goes on an LlmAgent"):
        PlanBook().on(Workflow(name="w", edges=[(START, planner("x"))]))
