"""An investigation with a truth of its own: every model call and tool run is a line in a file, and
the process can be killed at any write of its store, or inside of any call.

The model never answers the same twice: what it asks of a tool is random, so that a resumed run that
asked it again would do something else.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

POLICY = """\
version: 1
extends: default
loop: {progress: reference, max_rounds: 6, stop_after_idle_rounds: 3}
round: {steps: 5}
repetition: {mode: "off"}
"""
ASKING = """\
version: 1
extends: default
loop: {progress: reference, max_rounds: 6, stop_after_idle_rounds: 3}
run: {on_limit: ask, steps: 1}
tools: {allow: {set_valve: {approve: always}}}
repetition: {mode: "off"}
"""
"""A story in which a person is asked: for one call, and at a limit. It is told where a file `asking`
is in the folder."""
DECLARED = {
    "look": {"effect": "read"},
    "progress": {"effect": "poll"},
    "set_valve": {"effect": "write"},
    "open_gate": {"effect": "write"},
}


class Truth:
    """What really happened, in a file that outlives the process."""

    def __init__(self, folder: Path, kill: str) -> None:
        self.file, self.kill, self.seen = folder / "truth.log", kill, dict[str, int]()
        self.points: list[str] = []

    def line(self, **what: Any) -> None:
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(what) + "\n")

    def point(self, kind: str) -> None:
        """A place where the process may die; the one asked for kills it."""
        self.seen[kind] = self.seen.get(kind, 0) + 1
        name = f"{kind}:{self.seen[kind]}"
        self.points.append(name)
        if name == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)


def install(folder: Path, kill: str) -> Truth:
    """Put tools, model and kill points in place."""
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types

    import roundsman.investigate.agent as agent
    import roundsman.investigate.run as run
    from roundsman.adk import current_action_id, current_loop, current_run
    from roundsman.ledger import Store

    truth = Truth(folder, kill)

    def here() -> int:
        account = current_run().account
        return int(account.loop(current_loop()).rounds)

    def ran(tool: str, **args: Any) -> dict[str, Any]:
        truth.point(f"{tool}-before")
        truth.line(ran=tool, args=args, round=here())
        truth.point(f"{tool}-after")
        return {"status": "ok", "excerpts": [f"{tool} {args}"], "evidence_id": current_action_id()}

    async def look(place: str) -> dict[str, Any]:
        """Look at a place."""
        return ran("look", place=place)

    async def progress(job: str) -> dict[str, Any]:
        """How far a job is."""
        return ran("progress", job=job)

    async def set_valve(level: str) -> dict[str, Any]:
        """Set the valve."""
        return ran("set_valve", level=level)

    async def open_gate(name: str) -> dict[str, Any]:
        """Open a gate."""
        return ran("open_gate", name=name)

    async def restart_pod(pod: str) -> dict[str, Any]:
        """Restart a pod."""
        return ran("restart_pod", pod=pod)

    def calls(*wanted: tuple[str, dict[str, Any]]) -> types.Content:
        parts = [
            types.Part(function_call=types.FunctionCall(name=name, args=args))
            for name, args in wanted
        ]
        return types.Content(role="model", parts=parts)

    def says(*findings: str, done: bool = False) -> types.Content:
        text = json.dumps({"findings": list(findings), "done": done})
        return types.Content(role="model", parts=[types.Part(text=text)])

    asking = (folder / "asking").exists()

    def think(index: int, step: int) -> types.Content:
        new = secrets.token_hex(4)
        if asking and step == 1:
            return calls(
                ("look", {"place": new}),
                ("set_valve", {"level": new}),
                ("open_gate", {"name": new}),
            )
        if asking:
            return says("the valve was shut", done=True)
        if index == 1 and step == 1:
            return calls(
                ("look", {"place": new}), ("look", {"place": "b"}), ("restart_pod", {"pod": new})
            )
        if index == 1 and step == 2:
            return calls(("progress", {"job": new}), ("set_valve", {"level": new}))
        if index == 1:
            return says("the valve was shut")
        if index in (2, 4):
            return calls(("look", {"place": new}))
        if index == 3 and step == 1:
            return calls(("set_valve", {"level": new}), ("look", {"place": new}))
        if index == 3:
            return says("the pump was off")
        return says(done=True)

    class Mind(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            texts = [p.text or "" for p in llm_request.contents[0].parts]
            index = next(int(t.split("Round: ")[1].split()[0]) for t in texts if "Round: " in t)
            step = 1 + sum(1 for c in llm_request.contents if c.role == "model")
            truth.point("model-before")
            truth.line(asked=index, step=step)
            reply = think(index, step)
            truth.point("model-after")
            yield LlmResponse(
                content=reply,
                usage_metadata=types.GenerateContentResponseUsageMetadata(
                    prompt_token_count=80, candidates_token_count=20, total_token_count=100
                ),
            )

    run.model_named = lambda *_: Mind(model="mind")
    run.make_tools = lambda incident: [look, progress, set_valve, open_gate, restart_pod]
    run.threaded = lambda tools: tools
    agent.DECLARED.clear()
    agent.DECLARED.update(DECLARED)
    for name in (*COMMITS, "finish", "save_report"):
        setattr(Store, name, _watched(truth, name, getattr(Store, name)))
    return truth


COMMITS = ("commit", "begin_unless_stopped")


def _watched(truth: Truth, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, run_id: str, *args: Any) -> Any:
        kinds = "+".join(row[2] for row in self._waiting.get(run_id, ()))
        label = f"commit({kinds})" if name in COMMITS else name
        if name in COMMITS and not kinds:
            return inner(self, run_id, *args)
        truth.point(f"{label}-before")
        result = inner(self, run_id, *args)
        truth.point(f"{label}-after")
        return result

    return call


def main(folder: str, kill: str, *args: str) -> None:
    """Run the command line in this process; leave the points it passed in `points.json`."""
    truth = install(Path(folder), kill)
    from roundsman.cli import main as command_line

    try:
        command_line(list(args))
    finally:
        (Path(folder) / "points.json").write_text(json.dumps(truth.points), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
