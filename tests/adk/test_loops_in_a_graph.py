"""A loop is one node of a graph: its end is not the run's, and two of them do not share a count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.workflow import START, JoinNode, Workflow

from roundsman import load_policy
from roundsman.adk import ScriptedModel, loop_until_done
from roundsman.policy import Policy
from roundsman.testing import run_guarded


def _policy(folder: Path, text: str) -> Policy:
    file = folder / "policy.yaml"
    file.write_text("version: 1\nextends: baseline\n" + text, encoding="utf-8")
    return load_policy(file)


def _agent(name: str, answers: Any) -> tuple[LlmAgent, list[str]]:
    asked: list[str] = []

    def script(request: Any, number: int) -> Any:
        asked.append(request.contents[0].parts[0].text)
        return answers(len(asked))

    return LlmAgent(name=name, model=ScriptedModel(script), mode="single_turn"), asked


def _answer(*statements: str, done: bool = False) -> str:
    return json.dumps({"findings": list(statements), "done": done})


async def test_what_follows_a_loop_in_the_graph_runs(tmp_path: Path) -> None:
    policy = _policy(tmp_path, "")
    seeker, asked = _agent("seeker", lambda n: _answer("the valve is stuck", done=True))
    writer, written = _agent("writer", lambda n: "A note about the valve.")
    loop = loop_until_done(seeker, policy)
    graph = Workflow(name="graph", edges=[(START, loop), (loop, writer)])
    outcome = await run_guarded(graph, "what is wrong?", policy)
    assert (len(asked), len(written)) == (1, 1)
    assert outcome.account.stopped.reason == "done"
    assert outcome.account.steps == 2


async def test_a_stop_of_the_run_stops_what_follows_the_loop(tmp_path: Path) -> None:
    policy = _policy(tmp_path, "run: {steps: 2}\n")
    seeker, asked = _agent("seeker", lambda n: _answer(f"finding {n}"))
    writer, written = _agent("writer", lambda n: "A note.")
    loop = loop_until_done(seeker, policy)
    graph = Workflow(name="graph", edges=[(START, loop), (loop, writer)])
    outcome = await run_guarded(graph, "what is wrong?", policy)
    assert (len(asked), len(written)) == (2, 0)
    assert outcome.account.stopped.reason == "steps"


async def test_two_loops_count_their_rounds_and_their_idleness_apart(tmp_path: Path) -> None:
    policy = _policy(tmp_path, "loop: {max_rounds: 3, stop_after_idle_rounds: 2}\n")
    busy, busy_asked = _agent("busy", lambda n: _answer(f"finding {n}"))
    idle, idle_asked = _agent("idle", lambda n: _answer())
    first = loop_until_done(busy, policy, name="first")
    second = loop_until_done(idle, policy, name="second")
    graph = Workflow(name="graph", edges=[(START, first), (first, second)])
    outcome = await run_guarded(graph, "what is wrong?", policy)
    assert (len(busy_asked), len(idle_asked)) == (3, 2)
    assert outcome.account.rounds == 5
    reasons = {
        p.rsplit("/", 1)[-1].split("@")[0]: s.ended for p, s in outcome.account.loops.items() if p
    }
    assert {name: ended.reason for name, ended in reasons.items()} == {
        "first": "max_rounds",
        "second": "no_progress",
    }


async def test_two_loops_side_by_side_do_not_share_a_round(tmp_path: Path) -> None:
    policy = _policy(tmp_path, "loop: {max_rounds: 6, stop_after_idle_rounds: 2}\n")
    busy, busy_asked = _agent("busy", lambda n: _answer(f"finding {n}"))
    idle, idle_asked = _agent("idle", lambda n: _answer())
    first = loop_until_done(busy, policy, name="first")
    second = loop_until_done(idle, policy, name="second")
    both = JoinNode(name="both")
    graph = Workflow(
        name="graph", edges=[(START, first), (START, second), (first, both), (second, both)]
    )
    await run_guarded(graph, "what is wrong?", policy)
    assert (len(busy_asked), len(idle_asked)) == (6, 2)


async def test_a_round_timeout_in_shadow_cuts_nothing(tmp_path: Path) -> None:
    agent, _ = _agent("seeker", lambda n: _answer())
    policy = _policy(tmp_path, "rules: {round_timeout: shadow}\n")
    loop_until_done(agent, policy)
    assert agent.timeout is None
