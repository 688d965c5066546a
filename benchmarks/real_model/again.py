"""The very same run once more: what a measured run asked for under `baseline`, played back under `default`.

Two runs of a model differ, also with one seed, so a pair of them compares two courses. Here the course is
one: each round asks for what it asked for then, whatever it is told, until `default` ends it. Each call
has one answer of its own; what the tools answered then is not played.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.workflow import START, Workflow

from benchmarks.real_model.playback import SECONDS, Kept
from benchmarks.real_model.repeats import SHARE
from benchmarks.real_model.runs import MANY, course, policy_of
from roundsman import loop_until_done
from roundsman.adk import ScriptedModel, call
from roundsman.testing import run_guarded

_TOOL = "look"


def same_runs(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Steps of every run that made one call `MANY` times under `baseline`, then and under `default`."""
    rows = []
    for run in runs:
        if run["guard"] == "baseline" and run["identical"] >= MANY:
            steps, taken = again(run["course"])
            named = {key: run[key] for key in ("case", "seed", "steps", "course")}
            rows.append({**named, "default": steps, "course_default": taken})
    steps = sum(row["steps"] for row in rows)
    return {
        "runs": rows,
        "in_a_third": sum(row["default"] <= row["steps"] * SHARE for row in rows),
        "share_of_all_steps": round(sum(row["default"] for row in rows) / steps, 2)
        if rows
        else None,
    }


def again(taken: str) -> tuple[int, str]:
    """(steps, course) of a run whose rounds take this course, under `default`.

    Args:
        taken: as `runs.course` writes it.
    """
    rounds, number = taken.strip("|").split("|"), -1

    def script(request: LlmRequest, _: int) -> Any:
        nonlocal number
        at = sum(p.function_response is not None for c in request.contents for p in c.parts or [])
        number += at == 0
        asked = rounds[min(number, len(rounds) - 1)][at : at + 1]
        return call(_TOOL, place=asked.lower()) if asked.isalpha() else "no answer"

    with tempfile.TemporaryDirectory() as folder:
        policy = policy_of("default", Path(folder), SECONDS)
    policy = policy.with_tools({_TOOL: {"effect": "read"}})
    model = ScriptedModel(script, tokens_per_call=100)
    agent = LlmAgent(name="again", model=model, tools=[Kept(name=_TOOL, description=_TOOL)])
    graph = Workflow(name="incident", edges=[(START, loop_until_done(agent, policy))])
    done = asyncio.run(run_guarded(graph, "What is the cause?", policy))
    return done.account.steps, course(done.records)


def lines_of(found: dict[str, Any]) -> list[str]:
    """A screen of it; nothing when no run repeated itself."""
    runs = found["runs"]
    if not runs:
        return []
    head = (
        f"the same runs played back: {found['in_a_third']} of {len(runs)} end under default in a third "
        f"of the steps or less; of the sum of steps {found['share_of_all_steps']}"
    )
    return [head, *("    " + ", ".join(f"{k} {v}" for k, v in run.items()) for run in runs)]
