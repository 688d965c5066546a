"""Investigations at once in one process, and a crew of workers that are killed."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.journal import OUTAGE
from roundsman.adk import ScriptedModel, call
from roundsman.investigate import investigate
from roundsman.ledger import Store
from roundsman.policy import load_policy

_STORES = Path(__file__).parents[1] / "tests" / "stores"
LATENCY_S = 1.0


def _together(count: int, work: Callable[[], Any]) -> float:
    threads = [threading.Thread(target=work) for _ in range(count)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


class _Slow(ScriptedModel):
    """Answers after a second, as a provider does."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        import asyncio

        await asyncio.sleep(LATENCY_S)
        async for reply in super().generate_content_async(llm_request, stream):
            yield reply


def at_once(counts: tuple[int, ...], waiting: bool) -> dict[int, tuple[float, int]]:
    """By how many at once: (investigations a minute, resident MB at most so far).

    `waiting`: by a model that takes a second a call, else by the analyst, which only computes.
    """
    import roundsman.investigate.run as run

    script = [
        [call("query_logs"), call("list_deploys")],
        [call("query_metrics")],
        '{"findings": [], "done": false}',
    ]
    named = run.model_named
    found = {}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "runs.sqlite"
        if waiting:
            run.model_named = lambda *_: _Slow(script * 2)

        def work() -> None:
            store = Store(path)
            investigate(OUTAGE, load_policy("default"), store=store)
            store.close()

        try:
            work()  # imports and caches
            for count in counts:
                span = _together(count, work)
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                found[count] = (count / span * 60, peak)
        finally:
            run.model_named = named
    return found


def crew_cost(jobs: int, workers: int, kills: int, url: str = "") -> dict[str, float]:
    """Workers that are killed in the middle of what they do, all promises checked."""
    sys.path.insert(0, str(_STORES))
    from crew import Crew, check  # type: ignore[import-not-found]
    from journals import Journal  # type: ignore[import-not-found]

    with tempfile.TemporaryDirectory() as name:
        crew = Crew(Journal(Path(name), url))
        os.environ |= crew.journal.env
        try:
            begun = time.perf_counter()
            asked = crew.submit(jobs)
            crew.work(workers, 60, kills, "--at-once", "6", "--per-worker", "2")
            answered = 0
            while more := crew.answer():
                answered += more
                crew.work(1, 10**9, 0)
            span = time.perf_counter() - begun
            check(crew, asked)
            most = crew.at_once()
        finally:
            crew.end()
            os.environ.pop("ROUNDSMAN_HOME", None)
            os.environ.pop("ROUNDSMAN_DB", None)
    return {
        "jobs": jobs, "killed": len(crew.killed), "asked a person": answered,
        "at once": most, "seconds": span,
    }  # fmt: skip
