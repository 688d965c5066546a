"""One investigation from a folder to a report, whatever happens in between."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.adk.apps import App

from roundsman.guard import rules_for
from roundsman.guard.events import Event
from roundsman.guard.prints import canonical, digest
from roundsman.investigate.agent import DECLARED, INSTRUCTION, build_app, declared
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


@dataclass(frozen=True)
class Case:
    """An investigation ready to run: what is asked of which telemetry, by whom, within what."""

    incident: Incident
    policy: Policy
    model: str
    app: App
    setup: dict[str, Any]


def prepare(
    path: Path,
    policy: Policy,
    question: str | None,
    model: str,
    store: Store,
    policy_source: str = "",
) -> Case:
    """Read the folder and build the guarded investigator over it.

    Raises:
        SourceError, MissingDependency, PolicyError: what is missing or wrong.
    """
    chosen = model_named(model)
    incident = load_incident(path, question)
    policy = declared(policy)
    app = build_app(threaded(make_tools(incident)), chosen, policy, store=store)
    setup = {
        "what": "investigate",
        "path": str(path.resolve()),
        "question": question,
        "model": model,
        "policy": policy_source,
        "agent": digest(f"{INSTRUCTION}\n{canonical(DECLARED)}\n{incident.describe()}"),
    }
    return Case(incident, policy, model, app, setup)


def investigate(
    path: Path,
    policy: Policy,
    *,
    question: str | None = None,
    model: str = "analyst",
    store: Store | None = None,
    watch: Watcher | None = None,
    policy_source: str = "default",
) -> tuple[dict[str, Any], bool]:
    """Investigate an incident folder.

    Args:
        path: the folder.
        policy: bounds; the investigator's tools are declared here.
        question: overrides the folder's own.
        model: `analyst`, or a name ADK takes.
        watch: called with every record of the run, for progress.
        policy_source: preset or file the policy came from, for a later `resume`.

    Returns:
        The report, and whether it was broken off by Ctrl-C.

    Raises:
        SourceError, MissingDependency, PolicyError, LedgerError: before a run begins.
    """
    store = store or open_store()
    case = prepare(path, policy, question, model, store, policy_source)
    run = LiveRun.start(
        store,
        rules_for(case.policy),
        policy=case.policy.digest,
        question=case.incident.question,
        model=model,
        setup=case.setup,
    )
    return carry_out(case, run, watch)


def carry_out(case: Case, run: LiveRun, watch: Watcher | None) -> tuple[dict[str, Any], bool]:
    """Run the case to its end; the report, and whether Ctrl-C broke it off."""
    if watch is not None:
        run.listeners.append(lambda event: watch(event, run))
    broken_off = False
    try:
        asyncio.run(execute(case.app, run, case.incident.describe()))
    except KeyboardInterrupt:
        broken_off = True
        run.end("aborted", detail="interrupted by Ctrl-C")
    report = finish_report(run, case.policy, case.model, case.incident)
    run.store.save_report(run.run_id, report)
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
