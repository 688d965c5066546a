"""A bare ADK agent and the same agent guarded: CPU time of a step, and where it goes."""

from __future__ import annotations

import asyncio
import cProfile
import logging
import pstats
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from roundsman import guarded, load_policy
from roundsman.adk import ScriptedModel, call
from roundsman.ledger import Store, open_store
from roundsman.policy import Policy

OUT_OF_REACH = """\
version: 1
extends: default
run: {tokens: 1000000000, usd: null, wall_clock: 24h, steps: 1000000}
round: {steps: 100000, timeout: 24h}
repetition: {warn: 1000000, withhold: 1000000, stop: 1000000}
"""


def out_of_reach(folder: Path) -> Policy:
    """The default policy, every rule on, every ceiling too high to be met."""
    file = folder / "bench.yaml"
    file.write_text(OUT_OF_REACH, encoding="utf-8")
    return load_policy(file)


def _app(steps: int, name: str) -> App:
    def look(place: int) -> dict[str, Any]:
        """Look at a place."""
        return {"status": "ok", "excerpts": [f"nothing at {place}"]}

    def script(request: Any, number: int) -> Any:
        return "done" if number >= steps - 1 else call("look", place=number)

    agent = LlmAgent(name="walker", model=ScriptedModel(script), tools=[look], instruction="Walk.")
    return App(name=name, root_agent=agent)


async def _run(app: App, service: Any) -> float:
    runner = Runner(app=app, session_service=service)
    session = await service.create_session(app_name=app.name, user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="walk")])
    before = time.process_time()
    async for _ in runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message=message,
        run_config=RunConfig(max_llm_calls=0),
    ):
        pass
    return time.process_time() - before


def _once(steps: int, guard: bool, durable: bool, store: Store | None = None) -> float:
    """CPU seconds of one run. A process has one journal, so runs that are compared share it."""
    logging.getLogger("google_adk").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        app = _app(steps, "bench")
        if guard:
            app = guarded(app, out_of_reach(folder), store=store or open_store(folder))
        service: Any = InMemorySessionService()
        if durable:
            service = SqliteSessionService(str(folder / "sessions.db"))
        return asyncio.run(_run(app, service))


def step_cost(steps: int, durable: bool, repeat: int) -> tuple[float, float]:
    """(bare, guarded) CPU seconds of a run, medians of interleaved repetitions. The bare ones are of a
    process of their own, in which the guard never put its hooks into the engine."""
    bare, guard = list[float](), list[float]()
    alone = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
    with tempfile.TemporaryDirectory() as name, closing(open_store(Path(name))) as store, alone:
        for turn in range(repeat + 1):
            one = alone.submit(_once, steps, False, durable).result()
            two = _once(steps, True, durable, store)
            if turn:  # the first of each warms up
                bare.append(one)
                guard.append(two)
    return median(bare), median(guard)


def profile(steps: int = 200, lines: int = 14) -> str:
    """Where a guarded run spends its time: functions of Roundsman by cumulative time."""
    _once(10, True, False)
    profiler = cProfile.Profile()
    profiler.runcall(_once, steps, True, False)
    stats: Any = pstats.Stats(profiler)
    rows: list[tuple[float, float, int, str]] = []
    for (file, _, function), (calls, _, own, whole, _) in stats.stats.items():
        place = _place(file)
        if place or "sqlite3" in function:
            rows.append((whole, own, calls, f"{place} {function}".strip()))
    rows.sort(reverse=True)
    head = (
        f"{'cumulative s':>12} {'own s':>8} {'calls':>7}  function ({stats.total_tt:.2f} s in all)"
    )
    body = [f"{w:12.3f} {o:8.3f} {c:7d}  {name}" for w, o, c, name in rows[:lines]]
    return "\n".join([head, *body])


def _place(file: str) -> str:
    _, mark, rest = file.partition("/roundsman/")
    return rest if mark else ""
