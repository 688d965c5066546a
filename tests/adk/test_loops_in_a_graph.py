"""A loop is one node of a graph: its end is not the run's, and two of them do not share a count."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.workflow import START, JoinNode, Workflow

from roundsman import load_policy
from roundsman.adk import ScriptedModel, call, loop_until_done
from roundsman.adk.loop_bounds import LoopBounds
from roundsman.policy import Policy
from roundsman.testing import GuardedResult, run_guarded


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


async def _rounds(
    folder: Path, made_with: str, ruling: str, answers: Any, tools: Any = ()
) -> GuardedResult:
    """A loop made with one policy in an app that another guards."""
    agent, _ = _agent("seeker", answers)
    agent.tools = list(tools)
    made = _policy(folder, made_with)
    graph = Workflow(name="graph", edges=[(START, loop_until_done(agent, made))])
    return await run_guarded(graph, "what is wrong?", _policy(folder, ruling))


ROUNDS = [
    ("loop: {max_rounds: 2}\n", "loop: {max_rounds: 5}\n", False, 2),
    ("loop: {max_rounds: 5}\n", "loop: {max_rounds: 2}\n", False, 2),
    ("loop: {max_rounds: null}\n", "loop: {max_rounds: 3}\n", False, 3),
    ("loop: {stop_after_idle_rounds: 1}\n", "loop: {stop_after_idle_rounds: 4}\n", True, 1),
    ("loop: {stop_after_idle_rounds: 4}\n", "loop: {stop_after_idle_rounds: 1}\n", True, 1),
    ("rules: {max_rounds: off}\n", "loop: {max_rounds: 3}\n", False, 3),
]


@pytest.mark.parametrize(("made_with", "ruling", "idle", "rounds"), ROUNDS)
async def test_the_stricter_policy_ends_the_loop(
    tmp_path: Path, made_with: str, ruling: str, idle: bool, rounds: int
) -> None:
    def answers(n: int) -> str:
        return _answer() if idle else _answer(f"finding {n}")

    outcome = await _rounds(tmp_path, made_with, ruling, answers)
    assert outcome.account.rounds == rounds
    assert outcome.stop == ("no_progress" if idle else "max_rounds")


GROUNDED, REFERENCE = "loop: {progress: grounded}\n", "loop: {progress: reference}\n"


@pytest.mark.parametrize(
    ("made_with", "ruling", "counts"),
    [
        (GROUNDED, REFERENCE, False),
        (REFERENCE, GROUNDED, False),
        (GROUNDED, GROUNDED, False),
        (REFERENCE, REFERENCE, True),
    ],
)
async def test_the_stricter_policy_says_what_is_progress(
    tmp_path: Path, made_with: str, ruling: str, counts: bool
) -> None:
    outcome = await _rounds(tmp_path, made_with, ruling, lambda n: _answer(f"finding {n}"))
    assert (outcome.stop == "max_rounds") is counts  # nothing was looked at: nothing is grounded


@pytest.mark.parametrize(
    ("made_with", "ruling", "hangs"),
    [
        ("round: {timeout: 1h}\n", "round: {timeout: 0.2s}\n", True),
        ("round: {timeout: 0.2s}\n", "round: {timeout: 1h}\n", True),
        ("round: {timeout: null}\n", "round: {timeout: 0.2s}\n", True),
        ("rules: {round_timeout: shadow}\n", "round: {timeout: 0.2s}\n", True),
        (
            "round: {timeout: 0.2s}\nrules: {round_timeout: shadow}\n",
            "round: {timeout: 0.2s}\nrules: {round_timeout: off}\n",
            False,
        ),
    ],
)
async def test_the_stricter_policy_ends_a_round_that_hangs(
    tmp_path: Path, made_with: str, ruling: str, hangs: bool
) -> None:
    async def wait() -> str:
        """Wait."""
        await (asyncio.Event().wait() if hangs else asyncio.sleep(0.4))
        return "over"

    def answers(n: int) -> Any:
        return call("wait") if hangs or n == 1 else _answer("over", done=True)

    outcome = await asyncio.wait_for(_rounds(tmp_path, made_with, ruling, answers, [wait]), 300)
    ends = [r.body["timed_out"] for r in outcome.records if r.kind == "round_ends"]
    assert ends == ([True, True] if hangs else [False])


async def test_an_agents_own_time_limit_stays(tmp_path: Path) -> None:
    agent, _ = _agent("seeker", lambda n: _answer())
    agent.timeout = 7.0
    loop_until_done(agent, _policy(tmp_path, ""))
    assert agent.timeout == 7.0
    bounds = LoopBounds(120.0, "reference")
    assert bounds.timed(agent) is agent
    assert LoopBounds(5.0, "reference").timed(agent).timeout == 5.0
    assert LoopBounds(None, "reference").timed(agent).timeout == 7.0
