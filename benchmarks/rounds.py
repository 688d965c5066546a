"""What the 10th and the 300th round cost, in one run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable
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
from roundsman.ledger import LiveRun, Store, open_store
from roundsman.policy import Policy, load_policy


def round_cost(durable: bool, rounds: int = 300, repeat: int = 3) -> tuple[float, float]:
    """CPU seconds of a round: medians of rounds 5-24 and of the last twenty, of `repeat` runs.

    `durable`: the engine's session is in SQLite, else in memory."""
    early, late = list[float](), list[float]()
    for _ in range(repeat):
        spans = _spans(rounds, durable)
        early += spans[4:24]
        late += spans[-20:]
    return median(early), median(late)


def long_run(rounds: int) -> tuple[float, float, float]:
    """(CPU seconds of an early and of a late round, MB the process grew from the 20th round on), the
    engine's session in SQLite."""
    resident: list[float] = []
    spans = _spans(rounds, True, lambda: resident.append(_resident_mb()))
    return median(spans[4:24]), median(spans[-20:]), resident[-1] - resident[19]


def late_resume(rounds: int) -> tuple[float, float]:
    """CPU seconds to the first model call: of a run taken up after so many rounds, and of a
    new run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policy, store = _policy(folder, rounds + 10), open_store(folder)
        run = _started(store, policy)
        seen: list[int] = []

        def listen(event: Any) -> None:
            if isinstance(event, RoundEnds):
                seen.append(event.index)
                if len(seen) == rounds:
                    raise _Enough

        run.listeners.append(listen)
        with contextlib.suppress(_Enough):
            asyncio.run(execute(_app(policy, store, _script), run, "What is wrong?"))
        run._lease.release()
        store.close()
        first = _first_call(
            policy, folder, lambda s: LiveRun.reopen(s, rules_for(policy), run.run_id)
        )
        bare = _first_call(policy, folder, lambda s: _started(s, policy))
        return first, bare


def _first_call(policy: Policy, folder: Path, begin: Callable[[Store], LiveRun]) -> float:
    asked: list[float] = []

    def script(request: Any, number: int) -> Any:
        asked.append(time.process_time())
        return json.dumps({"findings": [], "done": False})

    store = open_store(folder)
    app = _app(policy, store, script)
    begun = time.process_time()
    run = begin(store)
    run.listeners.append(lambda event: run.stop("aborted", "enough") if asked else None)
    asyncio.run(execute(app, run, "What is wrong?"))
    store.close()
    return asked[0] - begun


class _Enough(BaseException):
    """Leaves the engine as the end of a process would."""


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _policy(folder: Path, rounds: int) -> Policy:
    file = folder / "bench.yaml"
    loop = f"loop: {{max_rounds: {rounds}, stop_after_idle_rounds: null}}\n"
    file.write_text(OUT_OF_REACH + loop, encoding="utf-8")
    return load_policy(file)


def _script(request: Any, number: int) -> Any:
    if number % 2 == 0:
        return call("look", place=number)
    return json.dumps({"findings": [], "done": False})


def _app(policy: Policy, store: Store, script: Any) -> Any:
    def look(place: int) -> dict[str, Any]:
        """Look at a place."""
        return {"status": "ok", "excerpts": ["nothing"], "evidence_id": current_action_id()}

    return build_app([look], ScriptedModel(script), policy, store=store)


def _started(store: Store, policy: Policy) -> LiveRun:
    rules = rules_for(policy)
    return LiveRun.start(store, rules, policy=policy.digest, question="q", model="scripted")


def _spans(rounds: int, durable: bool, each: Callable[[], None] = lambda: None) -> list[float]:
    with tempfile.TemporaryDirectory() as name:
        policy, store = _policy(Path(name), rounds), open_store(Path(name))
        app, run = _app(policy, store, _script), _started(store, policy)
        marks = [time.process_time()]

        def listen(event: Any) -> None:
            if isinstance(event, RoundEnds):
                marks.append(time.process_time())
                each()

        run.listeners.append(listen)
        sessions = SqliteSessionService(str(Path(name) / "sessions.db")) if durable else None
        asyncio.run(execute(app, run, "What is wrong?", sessions))
        store.close()
    spans = [after - before for before, after in pairwise(marks)]
    if len(spans) != rounds:
        raise RuntimeError(f"{len(spans)} rounds ran instead of {rounds}")
    return spans
