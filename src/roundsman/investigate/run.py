"""One investigation from its sources to a report, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm

from roundsman.adk.screening import Screen
from roundsman.errors import LedgerError, UsageError
from roundsman.guard import rules_for
from roundsman.guard.events import Event
from roundsman.guard.prints import canonical, digest
from roundsman.investigate.agent import DECLARED, INSTRUCTION, build_app, declared
from roundsman.investigate.assemble import base_report
from roundsman.investigate.claims import with_queries, with_words
from roundsman.investigate.collect import collect
from roundsman.investigate.endpoint import Endpoint
from roundsman.investigate.execute import execute
from roundsman.investigate.incident import Incident, open_incident
from roundsman.investigate.interruption import INTERRUPTION
from roundsman.investigate.lost import only_what_was_seen, said_of
from roundsman.investigate.models import model_named
from roundsman.investigate.picture import charts, timeline
from roundsman.investigate.request import Request
from roundsman.investigate.steps import attempt
from roundsman.investigate.threads import threaded
from roundsman.investigate.tools import make_tools
from roundsman.investigate.verdict import settle
from roundsman.investigate.windows import unasked
from roundsman.ledger import LiveRun, Store, open_store
from roundsman.ledger.view import INVESTIGATION
from roundsman.policy import Policy
from roundsman.sources import IncidentFolder
from roundsman.sources.walking import below, regular

#: what the verdict says beside the cause
_BESIDE = ("alternatives", "services", "broken")
Watcher = Callable[[Event, LiveRun], None]


@runtime_checkable
class Closes(Protocol):
    """A model that holds connections."""

    async def aclose(self) -> None:
        """Give them back."""


@dataclass(frozen=True)
class Case:
    """An investigation ready to run: what is asked of which telemetry, by whom, within what."""

    incident: Incident
    policy: Policy
    model: str
    llm: BaseLlm
    app: App
    setup: dict[str, Any]

    def begin(self, store: Store, run_id: str | None = None) -> LiveRun:
        """A new run of it in the journal."""
        return LiveRun.start(
            store,
            rules_for(self.policy),
            policy=self.policy.digest,
            question=self.incident.question,
            model=self.model,
            setup=self.setup,
            run_id=run_id,
        )


def refuse_inside_a_loop() -> None:
    """An investigation runs an event loop of its own.

    Raises:
        UsageError: one is running in this thread already.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        "an investigation cannot be started inside a running event loop; "
        "use: await asyncio.to_thread(investigate, ...)"
    )


def prepare(
    request: Request,
    policy: Policy,
    model: str,
    store: Store,
    policy_source: str = "",
    chosen: BaseLlm | None = None,
    endpoint: Endpoint | None = None,
) -> Case:
    """Open the telemetry and build the guarded investigator over it; `chosen` stands in for the model.

    Raises:
        SourceError, MissingDependency, PolicyError: what is missing or wrong.
        UsageError: an event loop is running in this thread.
    """
    refuse_inside_a_loop()
    chosen = chosen or model_named(model, endpoint)
    incident = open_incident(request)
    policy = declared(policy)
    asks = Screen(rules_for(policy), 0).kept(incident.question)[0]
    if (
        asks != incident.question
    ):  # the model and the journal have the same question, or no resume fits
        incident.question = asks
        request = replace(request, question=asks)
    app = build_app(threaded(make_tools(incident)), chosen, policy, store=store)
    # a server's telemetry ends when it is asked: a resumed run looks at the same window and services
    alone = isinstance(incident.source, IncidentFolder)
    asked = request if alone else _as_opened(request, incident)
    setup = {
        "what": INVESTIGATION,
        **asked.to_setup(),
        "model": model,
        **({"endpoint": endpoint.to_setup()} if endpoint else {}),
        "policy": policy_source,
        # what the agent is told of the incident follows from the telemetry and what was asked
        "telemetry": digest(f"{_folder_print(request.folder)}\n{incident.describe()}"),
        "agent": digest(f"{INSTRUCTION}\n{canonical(DECLARED)}"),
    }
    return Case(incident, policy, model, chosen, app, setup)


def _as_opened(request: Request, incident: Incident) -> Request:
    services = tuple(incident.services)
    return replace(request, window=incident.window, alert=incident.alert, services=services)


def _folder_print(path: Path | None) -> str:
    """Which files the folder holds, of what size and from when: a resumed run must not mix two
    truths. Contents are not read, since they may be large."""
    if path is None:
        return ""
    found = []
    for file in below(path, lambda *_: None):
        stat = regular(file, lambda *_: None)
        if stat is None:
            continue
        found.append([str(file.relative_to(path)), stat.st_size, stat.st_mtime_ns])
    return digest(canonical(found))


def investigate(
    what: Path | Request,
    policy: Policy,
    *,
    question: str | None = None,
    model: str = "analyst",
    store: Store | None = None,
    watch: Watcher | None = None,
    policy_source: str = "default",
    run_id: str | None = None,
    endpoint: Endpoint | None = None,
) -> tuple[dict[str, Any], bool]:
    """Investigate an incident.

    Args:
        what: the incident folder, or a request that names sources, window and alert.
        policy: bounds; the investigator's tools are declared here.
        question: overrides that of the folder or the request.
        model: `analyst`, or a name ADK takes.
        watch: called with every record of the run, for progress.
        policy_source: preset or file the policy came from, for a later `resume`.
        run_id: an id nobody has used, from `ledger.new_run_id`; by default a new one.
        endpoint: the server of one's own that has the model `openai/NAME`.

    Returns:
        The report, and whether Ctrl-C or another signal broke it off.

    Raises:
        SourceError, MissingDependency, ModelServerError, PolicyError, LedgerError: before a run
            begins.
        UsageError: called inside a running event loop.
    """
    store = store or open_store()
    request = what if isinstance(what, Request) else Request.of_folder(what)
    request = replace(request, question=question or request.question)
    case = prepare(request, policy, model, store, policy_source, endpoint=endpoint)
    return carry_out(case, case.begin(store, run_id), watch)


def carry_out(case: Case, run: LiveRun, watch: Watcher | None) -> tuple[dict[str, Any], bool]:
    """Run the case to its end; the report, and whether a signal broke it off."""
    if watch is not None:
        run.listeners.append(lambda event: watch(event, run))
    broken_off = False
    try:
        asyncio.run(_carry_out(case, run))
    except KeyboardInterrupt:
        broken_off = True
        run.end("aborted", detail=INTERRUPTION.said())
    finally:
        run.end("failed", detail="it was left before it could end")  # no effect on an ended run
    return finish_report(run, case.policy, case.model, case.incident), broken_off


async def _carry_out(case: Case, run: LiveRun) -> None:
    try:
        await execute(case.app, run, case.incident.describe())
    finally:
        if isinstance(case.llm, Closes):
            with suppress(Exception):  # the run is over, whatever its connections say
                await case.llm.aclose()


def finish_report(run: LiveRun, policy: Policy, model: str, incident: Incident) -> dict[str, Any]:
    """The report with the verdict code settles from grounded findings, saved beside the journal.

    What the journal shows is saved first. Verdict, timeline and charts are added each for itself: one
    that fails is named in `unseen` and costs nothing else.
    """
    report = base_report(run, policy, model, incident.question)
    evidence = [dict(row) for row in report["evidence"]]
    for row in report["evidence"]:
        del row["result"]  # whole results stay in the journal: runs show RUN --evidence ID
    if incident.runbook:
        report["runbook"] = incident.runbook.as_dict()
    cause = settle([], [])
    report |= {key: cause.pop(key) for key in _BESIDE if key != "broken"}
    del cause["broken"]
    report["cause"] = cause | {"because": "the report was left before the verdict was settled"}
    missing: list[dict[str, Any]] = []
    _save(run, report, missing)
    facts = collect((e["id"], e["tool"], e["result"]) for e in evidence)
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "verdict": lambda: _verdict(report, evidence),
        "timeline": lambda: {"timeline": timeline(incident, report["cause"], facts)},
        "charts": lambda: {"charts": charts(incident, report["cause"].get("since"), facts)},
    }
    for name, make in parts.items():
        try:
            report.update(make())
        except Exception as error:
            why = f"could not be made: {type(error).__name__}: {error}"[:300]
            missing.append({"what": f"the {name} of this report", "why": why, "count": 1})
    lines = partial(with_queries, report["findings"], evidence, facts, incident)
    attempt(facts.broken, "lines to paste", lines)
    words = partial(with_words, report["evidence"], evidence, incident)
    attempt(facts.broken, "evidence in words", words)
    report["cause"] = said_of(report["cause"], incident)
    left = unasked(incident.window, incident.source.kinds, evidence)
    said = report["stop"]["reason"] not in ("aborted", "failed", "asked")
    if left and said and report["cause"]["abstained"]:
        note = "; part of the window was not looked at (see what was not seen)"
        report["cause"]["because"] += note
    report["unseen"] = [*incident.unseen, *left, *report.pop("broken", []), *missing]
    if run.broken and report["stop"]["reason"] != "asked":
        report["cause"]["next_action"] = (
            f"when the journal can be used: roundsman resume {run.run_id}"
        )
    _save(run, report, missing)
    return report


def _save(run: LiveRun, report: dict[str, Any], missing: list[dict[str, Any]]) -> None:
    try:
        run.store.save_report(run.run_id, report)
    except LedgerError as error:  # it can still be shown
        note = {"what": "this report in the journal", "why": str(error), "count": 1}
        missing.append(note)
        report["unseen"] = [*report["unseen"], note]


def _verdict(report: dict[str, Any], evidence: list[dict[str, Any]]) -> dict[str, Any]:
    cause = settle(report["findings"], evidence)
    beside = {key: cause.pop(key) for key in _BESIDE}
    named = (f for f in report["findings"] if f["statement"] == cause.get("statement"))
    cause.setdefault("evidence", next((f["evidence"] for f in named), []))
    seen = only_what_was_seen(cause, report)
    return {"cause": seen, **beside}
