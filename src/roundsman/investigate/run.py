"""One investigation from a folder to a report, whatever happens in between."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from roundsman.guard import rules_for
from roundsman.guard.events import Event
from roundsman.investigate.agent import build_app, declared
from roundsman.investigate.assemble import base_report
from roundsman.investigate.execute import execute
from roundsman.investigate.incident import Incident, load_incident
from roundsman.investigate.models import model_named
from roundsman.investigate.picture import charts, timeline
from roundsman.investigate.tools import make_tools
from roundsman.investigate.verdict import settle
from roundsman.ledger import LiveRun, Store, open_store
from roundsman.policy import Policy

Watcher = Callable[[Event, LiveRun], None]


def investigate(
    path: Path,
    policy: Policy,
    *,
    question: str | None = None,
    model: str = "analyst",
    store: Store | None = None,
    watch: Watcher | None = None,
) -> tuple[dict[str, Any], bool]:
    """Investigate an incident folder.

    Args:
        path: the folder.
        policy: bounds; the investigator's tools are declared here.
        question: overrides the folder's own.
        model: `analyst`, or a name ADK takes.
        watch: called with every record of the run, for progress.

    Returns:
        The report, and whether it was broken off by Ctrl-C.

    Raises:
        SourceError, MissingDependency, PolicyError, LedgerError: before a run begins.
    """
    chosen = model_named(model)
    incident = load_incident(path, question)
    policy = declared(policy)
    store = store or open_store()
    app = build_app(threaded(make_tools(incident)), chosen, policy, store=store)
    run = LiveRun.start(
        store, rules_for(policy), policy=policy.digest, question=incident.question, model=model
    )
    if watch is not None:
        run.listeners.append(lambda event: watch(event, run))
    broken_off = False
    try:
        asyncio.run(execute(app, run, incident.describe()))
    except KeyboardInterrupt:
        broken_off = True
        run.end("aborted", detail="interrupted by Ctrl-C")
    report = finish_report(run, policy, model, incident)
    store.save_report(run.run_id, report)
    return report, broken_off


def finish_report(run: LiveRun, policy: Policy, model: str, incident: Incident) -> dict[str, Any]:
    """The report with the verdict code settles from grounded findings."""
    report = base_report(run, policy, model, incident.question)
    cause = settle(report["findings"], report["evidence"])
    report["alternatives"] = cause.pop("alternatives", [])
    named = (f for f in report["findings"] if f["statement"] == cause.get("statement"))
    cause.setdefault("evidence", next((f["evidence"] for f in named), []))
    report["cause"] = _only_what_was_seen(cause, report)
    report["timeline"] = timeline(incident, cause)
    report["charts"] = charts(incident, cause.get("since"))
    report["unseen"] = incident.unseen
    for row in report["evidence"]:
        del row["result"]  # whole results stay in the journal: runs show RUN --evidence ID
    return report


def _only_what_was_seen(cause: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    """An abstention says "nothing moved" only when somebody looked."""
    if not cause.get("abstained"):
        return cause
    stop = report["stop"]
    if stop["reason"] in ("aborted", "failed"):
        because = f"the investigation ended before it could say: {stop['detail']}"
    elif not any(e["status"] in ("ok", "empty") for e in report["evidence"]):
        because = "nothing was asked of the telemetry, so nothing can be said of it"
    else:
        return cause
    return cause | {"because": because, "next_action": "run the investigation again"}


def threaded(tools: list[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """The tools off the event loop, one at a time, so that a round's time limit can end a round
    whose tool is slow."""
    lock = asyncio.Lock()

    def wrap(tool: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(tool)
        async def run(*args: Any, **kwargs: Any) -> Any:
            async with lock:
                return await asyncio.to_thread(tool, *args, **kwargs)

        return run

    return [wrap(tool) for tool in tools]
