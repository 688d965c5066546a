"""Rounds that repeat themselves, through the engine's own runner, with scripted models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.workflow import START, Workflow

from roundsman import loop_until_done
from roundsman.policy import load_policy
from roundsman.testing import GuardedResult, ScriptedModel, call, run_guarded

SEEN = "the pool of orders-db is used up: 20 of 20"


def look(at: str) -> dict[str, Any]:
    """Look somewhere."""
    return {"status": "ok", "excerpts": [f"{at}: {SEEN}"]}


async def rounds(folder: Path, courses: list[str], more: str = "") -> GuardedResult:
    """A loop whose n-th round takes the n-th course, the last one from then on: a letter a call, `.` an
    answer with a finding. A course that is used up begins again."""
    file = folder / "p.yaml"
    file.write_text(f"version: 1\nextends: default\n{more}", encoding="utf-8")
    policy = load_policy(file).with_tools({"look": {"effect": "read"}})

    def script(request: LlmRequest, number: int) -> Any:
        parts = [p for c in request.contents for p in c.parts or []]
        asked = next(p.text for p in parts if p.text and "Round: " in p.text)
        index = int(asked.split("Round: ")[1].split()[0])
        course = courses[min(index, len(courses)) - 1]
        step = course[sum(p.function_response is not None for p in parts) % len(course)]
        if step == ".":
            return json.dumps({"findings": [{"statement": SEEN, "evidence": []}], "done": False})
        return call("look", at=step)

    agent = LlmAgent(name="seeker", model=ScriptedModel(script), tools=[look])
    graph = Workflow(name="graph", edges=[(START, loop_until_done(agent, policy))])
    return await run_guarded(graph, "what is wrong?", policy)


@pytest.mark.parametrize(("course", "steps"), [("a", 3), ("baaaaaaa", 4), ("cbaaaaaa", 5)])
async def test_a_round_that_found_nothing_and_repeats_itself_ends_the_run(
    tmp_path: Path, course: str, steps: int
) -> None:
    result = await rounds(tmp_path, [course])
    assert (result.stop, result.account.steps, result.account.rounds) == ("repetition", steps, 1)
    told = [r["note"] for r in result.results("look") if "note" in r]
    assert len(told) == 1
    assert "if your next call is the same, the round ends" in told[0]


async def test_what_comes_after_a_loop_that_repeats_itself_has_its_turn(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("version: 1\nextends: default\nloop: {progress: reference}\n", encoding="utf-8")
    policy = load_policy(file).with_tools({"look": {"effect": "read"}})
    again = LlmAgent(name="again", model=ScriptedModel([call("look", at="a")]), tools=[look])
    found = json.dumps({"findings": [{"statement": SEEN, "evidence": []}], "done": True})
    other = LlmAgent(name="other", model=ScriptedModel([call("look", at="b"), found]), tools=[look])
    first = loop_until_done(again, policy, name="first")
    second = loop_until_done(other, policy, name="second")
    graph = Workflow(name="graph", edges=[(START, first), (first, second)])
    result = await run_guarded(graph, "what is wrong?", policy)
    assert result.output["findings"][0]["statement"] == SEEN
    assert (result.stop, result.account.steps) == ("done", 3 + 2)
    ended = {path: loop.ended.reason for path, loop in result.account.loops.items() if loop.ended}
    assert sorted(ended.values()) == ["done", "repetition"]


async def test_two_calls_that_take_turns_end_it_too(tmp_path: Path) -> None:
    result = await rounds(tmp_path, ["ab"])
    assert (result.stop, result.account.steps, result.account.rounds) == ("repetition", 5, 1)


async def test_it_gets_another_round_where_the_policy_says_so(tmp_path: Path) -> None:
    always = "repetition: {another_round: always}\n"
    result = await rounds(tmp_path, ["cbaaaaaa", "dbaaaaaa"], always)
    assert (result.stop, result.account.steps, result.account.rounds) == ("repetition", 12, 2)


async def test_a_loop_that_found_something_gets_another_round(tmp_path: Path) -> None:
    progress = "loop: {progress: reference}\n"
    result = await rounds(tmp_path, ["b.", "caaaaaaa", "d."], progress)
    assert result.output["findings"][0]["statement"] == SEEN
    assert (result.stop, result.account.rounds, result.account.steps) == (
        "no_progress",
        3,
        2 + 5 + 2,
    )


async def test_a_model_that_heeds_what_it_is_told_goes_on(tmp_path: Path) -> None:
    result = await rounds(tmp_path, ["aa.", "b."], "loop: {progress: reference}\n")
    assert (result.stop, result.output["rounds"]) == ("no_progress", 3)
    assert len(result.output["findings"]) == 1
