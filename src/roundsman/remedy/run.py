"""One remedy from its call to its end: begun, taken up again, and what is said of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from google.adk.apps import App

from roundsman.adk import plugin_of
from roundsman.adk.effects_once import ask_the_tools
from roundsman.errors import SetupChanged, UsageError, WaitsForPerson
from roundsman.guard import rules_for
from roundsman.guard.events import RunResumes
from roundsman.investigate.execute import execute
from roundsman.investigate.run import refuse_inside_a_loop
from roundsman.ledger import History, LiveRun, Record, Store, fold
from roundsman.ledger.stop import OVER
from roundsman.ledger.view import REMEDY, kind_of_run, setup_in
from roundsman.policy import Policy
from roundsman.remedy.base import Remedy
from roundsman.remedy.catalogue import Catalogue, digest_of, load_catalogue
from roundsman.remedy.config import Verifying
from roundsman.remedy.finding import Finding, finding_of
from roundsman.remedy.graph import build_app, policy_for
from roundsman.remedy.outcome import (
    DONE,
    NO_HELP,
    NOT_NEEDED,
    ROLLED_BACK,
    begun_in,
    outcome_of,
    report_of,
    setup_of,
)
from roundsman.remedy.proposing import proposal, watching
from roundsman.remedy.telemetry import reader, sources_of
from roundsman.remedy.verify import Tell, Verifier
from roundsman.sources.spec import SourceSpec

_CODE = "the code of the remedy"


@dataclass(frozen=True)
class Case:
    """A remedy ready to run: the call, the guarded graph, and what the journal is told of it."""

    remedy: Remedy
    args: dict[str, Any]
    finding: Finding
    verifier: Verifier
    policy: Policy
    app: App
    setup: dict[str, Any]

    @property
    def text(self) -> str:
        """What it is for, in a line."""
        where = self.remedy.resource(**self.args)
        return f"{self.remedy.name} on {where}, for run {self.finding.run_id}"[:500]


def begin(
    store: Store,
    run_id: str,
    name: str,
    catalogue: Catalogue,
    sources: SourceSpec,
    *,
    tell: Tell = lambda text: None,
    new_id: str | None = None,
) -> dict[str, Any]:
    """Start the graph of one remedy for a finished investigation; it comes to the question whether its
    call may run, and waits.

    Args:
        sources: where the metrics are read; those of the investigation when it names none.
        tell: told how it goes, a line at a time.

    Returns:
        What is to be said of it, as `resume` does; `broken_off` when Ctrl-C did so.

    Raises:
        UsageError: no such remedy, it does not fit, it could not be verified, or another one is under way
            for the same thing.
    """
    refuse_inside_a_loop()
    finding = finding_of(store, run_id)
    remedy = catalogue.named(name)
    offer = proposal(remedy, finding)
    if offer.args is None:
        raise UsageError(f"{name} does not fit run {run_id}: {offer.why_not}")
    spec = sources if sources else sources_of(store, run_id)
    seen = watching(finding, spec, catalogue.config.verify)
    if seen.why_not:
        raise UsageError(f"{name} is not begun: {seen.why_not}")
    case = _case(store, remedy, offer.args, finding, catalogue, spec, tell)
    _refuse_others(store, case, "")
    run = LiveRun.start(
        store,
        rules_for(case.policy),
        policy=case.policy.digest,
        question=case.text,
        setup=case.setup,
        run_id=new_id,
    )
    try:
        _refuse_others(store, case, run.run_id)  # of two that begin at once, neither goes on
    except UsageError as error:
        run.end("failed", detail=str(error))
        raise
    return _carry_out(case, run)


def resume(
    run_id: str,
    store: Store,
    *,
    accept_change: bool = False,
    tell: Tell = lambda text: None,
) -> dict[str, Any]:
    """Take a remedy up again: after an answer, after a crash. One that is over is told once more.

    Args:
        accept_change: go on although the code of the remedy, or how it is bounded, changed.

    Raises:
        SetupChanged: that changed, and was not accepted.
        WaitsForPerson: its question is open, or a write may or may not have been carried out.
        LeaseHeld, JournalDamaged: as for the journal.
    """
    refuse_inside_a_loop()
    records = store.whole(run_id)
    setup = setup_of(run_id, records)
    if any(one.kind == "run_ends" for one in records):
        return report_of(store, run_id)
    case = _case_again(store, setup, tell)
    begun = records[0].body
    changes: dict[str, list[str]] = {}
    accepted = [
        r.body["accepted"][_CODE][1] for r in records if _CODE in (r.body.get("accepted") or {})
    ]
    was, now = (accepted or [str(setup["code"])[:12]])[-1], str(case.setup["code"])[:12]
    if was != now:
        changes[_CODE] = [was, now]
    known = [str(r.body["policy"]) for r in records if r.body.get("policy")]
    if known[-1] != case.policy.digest:
        changes["policy"] = [str(begun.get("policy"))[:12], case.policy.digest[:12]]
    if changes and not accept_change:
        told = "; ".join(f"{name} was {old}, is {new}" for name, (old, new) in changes.items())
        raise SetupChanged(
            f"run {run_id} began otherwise: {told}; undo the change, or accept it with "
            "--accept-change"
        )
    idle = _not_needed(case, records)
    ask_the_tools(store, run_id, plugin_of(case.app).checks)
    resumes = RunResumes(policy=case.policy.digest if changes else "", accepted=changes)
    try:
        run = LiveRun.reopen(store, rules_for(case.policy), run_id, resumes=resumes)
    except WaitsForPerson as waits:
        if not History(store.records(run_id)).unknown:
            raise
        raise WaitsForPerson(f"{waits}\n{_to_look_at(case)}") from None
    if idle:
        run.end("failed", rule=NOT_NEEDED, detail=idle)
        store.save_report(run_id, report_of(store, run_id))
        return report_of(store, run_id)
    return _carry_out(case, run)


def _not_needed(case: Case, records: Sequence[Record]) -> str:
    """Why an approved call is not made any more: it may be long since it was asked for, and somebody may
    have mended it meanwhile. Empty when it is to be made, or was begun already.

    Raises:
        UsageError: whether it helps cannot be told just now.
    """
    if begun_in(case.remedy.name, records) or not fold(records).asks.approved:
        return ""
    verifying = Verifying(**case.setup["verifying"])
    seen = watching(case.finding, SourceSpec.from_json(case.setup["sources"]), verifying)
    if not seen.why_not or (all(row["back"] for row in seen.looks) and seen.looks):
        return seen.why_not
    raise UsageError(
        f"{case.remedy.name} is not applied yet: {seen.why_not}; resume when that is mended"
    )


def _to_look_at(case: Case) -> str:
    """For a person who settles a write that was cut off: what it does, and what is seen of it."""
    lines = [f"it would: {one}" for one in case.setup["dry_run"]]
    try:
        seen = case.remedy.state_now(**case.args)
    except (Exception, SystemExit) as error:  # somebody's code
        seen = f"the look at it failed: {' '.join(str(error).split()) or type(error).__name__}"
    return "\n".join([*lines, f"now: {seen[:1000]}"] if seen else lines)


def _carry_out(case: Case, run: LiveRun) -> dict[str, Any]:
    def complete(ended: LiveRun) -> None:
        said = outcome_of(case.setup, ended.store.records(ended.run_id))
        good = said["outcome"] in (DONE, ROLLED_BACK, NO_HELP)
        ended.end(
            "done" if good else "failed", detail=f"{said['outcome']}: {said['because']}"[:500]
        )

    broken_off = False
    try:
        asyncio.run(execute(case.app, run, case.text, complete=complete))
    except KeyboardInterrupt:
        broken_off = True
        run.pause()  # somebody takes it up again: what was applied must not stay untold
    report = report_of(run.store, run.run_id)
    report["last_look"] = case.verifier.seen or report["last_look"]
    run.store.save_report(run.run_id, report)
    return report | {"broken_off": broken_off}


def _refuse_others(store: Store, case: Case, own: str) -> None:
    """Two remedies for one thing would each take the other's work for the world."""
    mine = case.setup["resource"]
    for info in store.runs():
        if info.status in OVER or info.run_id == own or info.damaged:
            continue
        records = store.records(info.run_id)
        setup = setup_in(records)
        if kind_of_run(records) == REMEDY and setup["resource"] == mine:
            raise UsageError(
                f"run {info.run_id} ({setup['remedy']}, {info.status}) is for {mine}, too, and is not "
                f"over; roundsman resume {info.run_id}, or roundsman stop {info.run_id}"
            )


def _case(
    store: Store,
    remedy: Remedy,
    args: dict[str, Any],
    finding: Finding,
    catalogue: Catalogue,
    spec: SourceSpec,
    tell: Tell,
) -> Case:
    verifying = catalogue.config.verify
    verifier = Verifier(finding.broken, reader(spec), verifying, tell)
    policy = policy_for(remedy, args, verifier, catalogue.config.command_timeout)
    setup = {
        "what": REMEDY,
        "of": finding.run_id,
        "remedy": remedy.name,
        "about": remedy.about,
        "args": args,
        "resource": remedy.resource(**args),
        "undo": remedy.undoing,
        "undo_by_hand": remedy.undo_by_hand(**args),
        "afterwards": remedy.afterwards(**args),
        "verify": verifier.text,
        "dry_run": [str(line) for line in remedy.dry_run(**args)],
        "finding": finding.to_json(),
        "remedies": list(catalogue.given),
        "verifying": asdict(verifying),
        "sources": spec.absolute().to_json(),
        "code": digest_of(remedy),
    }
    app = build_app(remedy, args, verifier, policy, store)
    return Case(remedy, args, finding, verifier, policy, app, setup)


def _case_again(store: Store, setup: Mapping[str, Any], tell: Tell) -> Case:
    """The same from the journal: what was approved is what is there, not what would be proposed now."""
    catalogue = load_catalogue(setup["remedies"])
    remedy = catalogue.named(str(setup["remedy"]))
    finding = Finding.from_json(setup["finding"])
    args = dict(setup["args"])
    spec = SourceSpec.from_json(setup["sources"])
    verifier = Verifier(finding.broken, reader(spec), Verifying(**setup["verifying"]), tell)
    policy = policy_for(remedy, args, verifier, catalogue.config.command_timeout)
    app = build_app(remedy, args, verifier, policy, store)
    again = {**setup, "code": digest_of(remedy)}
    return Case(remedy, args, finding, verifier, policy, app, again)
