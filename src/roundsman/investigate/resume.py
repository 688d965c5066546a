"""Go on with an investigation whose process died: same account, nothing done twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roundsman.adk import plugin_of
from roundsman.adk.effects_once import ask_the_tools
from roundsman.errors import LedgerError, RunOver, SetupChanged, SourceError
from roundsman.guard import rules_for
from roundsman.guard.events import RunBegins, RunResumes
from roundsman.investigate.endpoint import Endpoint
from roundsman.investigate.request import Request
from roundsman.investigate.run import Case, Watcher, carry_out, finish_report, prepare
from roundsman.ledger import LiveRun, Record, Store
from roundsman.ledger.fold import event_of
from roundsman.ledger.stop import OVER
from roundsman.ledger.view import INVESTIGATION, kind_of_run
from roundsman.policy import Policy, load_policy


def resume(
    run_id: str,
    store: Store,
    *,
    policy_source: str | None = None,
    accept_change: bool = False,
    watch: Watcher | None = None,
) -> tuple[dict[str, Any], bool]:
    """Take an interrupted investigation to its end.

    A run that is over gives its report again; one whose report was lost with the process gets it
    from the journal.

    Args:
        policy_source: preset or file to go on under; by default the one the run began with.
        accept_change: go on although policy, agent or telemetry changed, and record that.

    Returns:
        The report, and whether it was broken off by Ctrl-C.

    Raises:
        SetupChanged: something changed and was not accepted.
        WaitsForPerson: a write may or may not have been carried out.
        LeaseHeld: another process is at it.
        JournalDamaged: the journal is not whole.
    """
    saved = store.report(run_id)
    final = saved is not None and saved["stop"]["reason"] != "asked"  # else of when it waited
    if saved is not None and final and store.info(run_id).status in OVER:
        return saved, False
    records = store.whole(run_id)
    begun = _begun(run_id, records)
    case = _case(run_id, begun, store, policy_source)
    if any(r.kind == "run_ends" for r in records):
        return _report_of(case, store, run_id), False
    changes = _changes(begun, case, _policy_now(begun, records))
    if changes and not accept_change:
        told = "; ".join(f"{name} was {was!r}, is {now!r}" for name, (was, now) in changes.items())
        raise SetupChanged(
            f"run {run_id} began otherwise: {told}; undo the change, or accept it with "
            f"--accept-change"
        )
    resumes = RunResumes(policy=case.policy.digest if changes else "", accepted=changes)
    ask_the_tools(store, run_id, plugin_of(case.app).checks)
    try:
        run = LiveRun.reopen(store, rules_for(case.policy), run_id, resumes=resumes)
    except RunOver:  # another process took it to its end since the records were read
        return _report_of(case, store, run_id), False
    return carry_out(case, run, watch)


def _report_of(case: Case, store: Store, run_id: str) -> dict[str, Any]:
    run = LiveRun.reopen_ended(store, run_id)
    return finish_report(run, case.policy, case.model, case.incident)


def recorded_policy(store: Store, run_id: str, policy_source: str | None) -> Policy:
    """The policy the run goes on under: the one given, else the one it began with."""
    records = store.records(run_id)
    begun = _begun(run_id, records)
    return load_policy(policy_source or str(begun.setup.get("policy") or "default"))


def _begun(run_id: str, records: Sequence[Record]) -> RunBegins:
    first = event_of(records[0]) if records else None
    if not isinstance(first, RunBegins) or kind_of_run(records) != INVESTIGATION:
        if records and records[-1].kind == "run_ends":
            raise RunOver(f"run {run_id} is over; see: roundsman runs show {run_id}")
        raise LedgerError(
            f"run {run_id} is no investigation; only those can be taken up from here, an app of "
            f"your own by roundsman.adk.resume"
        )
    return first


def _case(run_id: str, begun: RunBegins, store: Store, policy_source: str | None) -> Case:
    setup = begun.setup
    source = policy_source or str(setup.get("policy") or "default")
    request = Request.from_setup(setup)
    path = request.folder
    if path is not None and not path.exists():
        raise SourceError(f"the telemetry of run {run_id} is gone: {path}; put it back to go on")
    model = str(setup.get("model"))
    endpoint = Endpoint.from_setup(setup.get("endpoint"), request.sources.headers)
    policy = load_policy(source)
    return prepare(request, policy, model, store, policy_source=source, endpoint=endpoint)


def _policy_now(begun: RunBegins, records: Sequence[Record]) -> str:
    accepted = [r.body.get("policy") for r in records if r.kind == "run_resumes"]
    return next((str(p) for p in reversed(accepted) if p), begun.policy)


def _changes(begun: RunBegins, case: Case, policy: str) -> dict[str, list[str]]:
    changes = {}
    if policy != case.policy.digest:
        changes["policy"] = [policy[:12], case.policy.digest[:12]]
    for what in ("agent", "telemetry"):
        was, now = str(begun.setup.get(what)), str(case.setup[what])
        if was != now:
            changes[what] = [was, now]
    return changes
