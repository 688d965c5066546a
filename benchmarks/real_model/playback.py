"""Kept runs of real models, played back through the product under `baseline` and under `default`.

A kept run is a line with `model`, `seed`, `tool_calls` (name and arguments, in order) and `texts` (what it
answered last, if it did). Every round plays it from its first call: a kept run is one conversation, and a
round is one. What the tools answered was not kept: here each call has one answer of its own, whenever it
is asked for. The model is not there to heed what it is told, so this shows what a run costs that does
not; those that were told to stop by their tools did not.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import BaseTool, ToolContext
from google.adk.workflow import START, Workflow
from google.genai import types

from benchmarks.real_model.runs import journal_row, policy_of
from roundsman import loop_until_done
from roundsman.adk import ScriptedModel, call
from roundsman.testing import run_guarded

PLAYED = ("baseline", "default")
SECONDS = 600


class Kept(BaseTool):
    """A tool as a kept run called it: any arguments, and one answer for the same ones."""

    def _get_declaration(self) -> types.FunctionDeclaration:
        form = {"type": "object", "additionalProperties": True}
        return types.FunctionDeclaration(name=self.name, parameters_json_schema=form)

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        asked = json.dumps(args, sort_keys=True)
        return {"status": "ok", "excerpts": [f"{self.name} {asked}: 0.2 % until 10:06, then 18 %"]}


def why_not(kept: dict[str, Any], most: int) -> str:
    """Why a run is not played: it made no call, or was ended before a round of `most` steps is full and
    nobody knows what it would have done. Empty when it is."""
    if not kept["tool_calls"]:
        return "no call"
    whole = bool(kept["texts"]) or len(kept["tool_calls"]) >= most
    return "" if whole else "ended too early to fill a round"


def play(kept: dict[str, Any], case: str) -> Iterator[dict[str, Any]]:
    """A row for each guard, as a run that was measured gives it."""
    calls, texts = kept["tool_calls"], kept["texts"]

    def script(request: LlmRequest, number: int) -> Any:
        parts = [p for c in request.contents for p in c.parts or []]
        at = sum(p.function_response is not None for p in parts)
        return call(calls[at]["name"], **calls[at]["args"]) if at < len(calls) else texts[-1]

    for guard in PLAYED:
        with tempfile.TemporaryDirectory() as folder:
            policy = policy_of(guard, Path(folder), SECONDS)
        names = sorted({one["name"] for one in calls})
        policy = policy.with_tools({name: {"effect": "read"} for name in names})
        model = ScriptedModel(script, tokens_per_call=100)
        tools: Sequence[Any] = [Kept(name=name, description=name) for name in names]
        agent = LlmAgent(name="kept", model=model, tools=list(tools))
        graph = Workflow(name="incident", edges=[(START, loop_until_done(agent, policy))])
        done = asyncio.run(run_guarded(graph, "What is the cause?", policy))
        yield {
            "case": case,
            "seed": kept.get("seed", 0),
            "tools": "played back",
            "guard": guard,
            "stop": done.stop,
            "rounds": done.account.rounds,
            "steps": done.account.steps,
            "requests": model.calls,
            "probes": 0,
            "actions": done.account.actions,
            "answers": {},
            "strange": [],
            **journal_row(policy, done.records),
        }
