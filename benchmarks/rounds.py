"""What the 10th and the 300th round cost, in one run."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from google.adk.sessions.sqlite_session_service import SqliteSessionService

from benchmarks.steps import OUT_OF_REACH
from roundsman.adk import ScriptedModel, call, current_action_id
from roundsman.guard import rules_for
from roundsman.guard.events import RoundEnds
from roundsman.investigate.agent import build_app
from roundsman.investigate.execute import execute
from roundsman.ledger import LiveRun, open_store
from roundsman.policy import load_policy


def round_cost(durable: bool, rounds: int = 300, repeat: int = 3) -> tuple[float, float]:
    """CPU seconds of a round: medians of rounds 5-24 and of the last twenty, of `repeat` runs.

    `durable`: the engine's session is in SQLite, else in memory."""
    early, late = list[float](), list[float]()
    for _ in range(repeat):
        spans = _spans(rounds, durable)
        early += spans[4:24]
        late += spans[-20:]
    return median(early), median(late)


def _spans(rounds: int, durable: bool) -> list[float]:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "bench.yaml"
        loop = f"loop: {{max_rounds: {rounds}, stop_after_idle_rounds: null}}\n"
        file.write_text(OUT_OF_REACH + loop, encoding="utf-8")
        policy, store = load_policy(file), open_store(Path(name))

        def look(place: int) -> dict[str, Any]:
            """Look at a place."""
            return {"status": "ok", "excerpts": ["nothing"], "evidence_id": current_action_id()}

        def script(request: Any, number: int) -> Any:
            if number % 2 == 0:
                return call("look", place=number)
            return json.dumps({"findings": [], "done": False})

        app = build_app([look], ScriptedModel(script), policy, store=store)
        run = LiveRun.start(
            store, rules_for(policy), policy=policy.digest, question="q", model="scripted"
        )
        marks = [time.process_time()]

        def listen(event: Any) -> None:
            if isinstance(event, RoundEnds):
                marks.append(time.process_time())

        run.listeners.append(listen)
        sessions = SqliteSessionService(str(Path(name) / "sessions.db")) if durable else None
        asyncio.run(execute(app, run, "What is wrong?", sessions))
        store.close()
    spans = [after - before for before, after in pairwise(marks)]
    if len(spans) != rounds:
        raise RuntimeError(f"{len(spans)} rounds ran instead of {rounds}")
    return spans
