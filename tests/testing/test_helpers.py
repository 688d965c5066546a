"""The helpers users' tests stand on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool

import roundsman.testing
from roundsman.ledger import Store
from roundsman.policy import load_policy
from roundsman.testing import FakeClock, ScriptedModel, assert_refused, call, run_guarded


def test_everything_named_is_there() -> None:
    for name in roundsman.testing.__all__:
        assert getattr(roundsman.testing, name) is not None
    with pytest.raises(AttributeError, match="nothing_like_this"):
        roundsman.testing.nothing_like_this  # noqa: B018


def test_the_clock_moves_when_told() -> None:
    clock = FakeClock(100.0)
    assert (clock(), clock()) == (100.0, 100.0)
    assert clock.advance(2.5) == clock() == 102.5
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1)


def test_assert_refused_over_a_report() -> None:
    report = {"refused": [{"tool": "wipe", "reason": "no", "count": 2}]}
    assert_refused(report, "wipe")
    assert_refused(report, "wipe", times=2)
    assert_refused(report, "other", times=0)
    with pytest.raises(AssertionError, match=r"wipe was refused 2 times, not 1"):
        assert_refused(report, "wipe", times=1)
    with pytest.raises(AssertionError, match=r"other was not refused; refused: wipe \(2 times\)"):
        assert_refused(report, "other")


async def test_run_guarded_gives_text_events_account_records(tmp_path: Path) -> None:
    ran = []

    def wipe() -> dict[str, Any]:
        """Wipe."""
        ran.append(1)
        return {}

    policy = load_policy("default").with_tools({"look": {"effect": "read"}})
    agent = LlmAgent(name="a", model=ScriptedModel([call("wipe"), "well then"]), tools=[wipe])
    store = Store(tmp_path / "runs.sqlite")
    clock = FakeClock(5_000.0)
    result = await run_guarded(agent, "go", policy, store=store, clock=clock)
    assert result.text == "well then"
    assert result.events
    assert result.account.steps == 2
    assert result.records == store.records(result.run_id)
    assert {r.at for r in result.records} == {5_000.0}
    assert_refused(result, "wipe", times=1)
    assert_refused(store.records(result.run_id), "wipe", times=1)
    assert result.results("wipe")[0]["status"] == "blocked"
    assert ran == []
    store.close()


async def test_a_run_that_waits_says_for_what_and_how_to_answer() -> None:
    def wipe() -> dict[str, Any]:
        """Wipe."""
        return {}

    def confirmed() -> Any:
        return FunctionTool(wipe, require_confirmation=True)

    rules = load_policy("default")
    always = rules.with_tools({"wipe": {"effect": "write", "approve": "always"}})
    limit = rules.model_copy(
        update={"run": rules.run.model_copy(update={"on_limit": "ask", "steps": 1})}
    )
    declared = limit.with_tools({"wipe": {"effect": "write"}})
    for tool, policy, about in (
        (wipe, always, "wipe needs a person's approval"),
        (wipe, declared, "1 of 1 steps used"),
        (confirmed(), rules.with_tools({"wipe": {"effect": "write"}}), "a confirmation of wipe"),
    ):
        agent = LlmAgent(name="a", model=ScriptedModel([call("wipe"), "done"]), tools=[tool])
        result = await run_guarded(agent, "go", policy)
        assert (result.stop, result.status) == ("asked", "waiting")
        assert f"run {result.run_id} waits for a person: q1: " in result.waits
        assert about in result.waits
        word = "grant" if "steps" in about else "approve"
        assert f"roundsman {word} {result.run_id} q1" in result.waits
        assert "give run_guarded a store" in result.waits  # nobody could answer it otherwise
        assert "waits for a person" in repr(result)
    result = await run_guarded(LlmAgent(name="a", model=ScriptedModel(["done"])), "go")
    assert (result.stop, result.waits) == ("done", "")


async def test_time_limits_are_tested_without_waiting() -> None:
    clock = FakeClock()

    def slow(page: int) -> dict[str, Any]:
        """Take four minutes."""
        clock.advance(240)
        return {"at": clock()}

    model = ScriptedModel(lambda request, n: call("slow", page=n))
    agent = LlmAgent(name="a", model=model, tools=[slow])
    result = await run_guarded(agent, "go", "default", clock=clock)
    assert result.account.stopped is not None
    assert result.account.stopped.reason == "wall_clock"
    assert model.calls == 3


async def test_an_error_passes_through_unless_caught() -> None:
    def broken(request: Any, n: int) -> Any:
        raise ConnectionError("no route")

    with pytest.raises(ConnectionError):
        await run_guarded(LlmAgent(name="a", model=ScriptedModel(broken)))
    result = await run_guarded(LlmAgent(name="a", model=ScriptedModel(broken)), catch=True)
    assert isinstance(result.error, ConnectionError)
