"""From a run's journal to report.json: everything but the verdict on the cause."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from roundsman.guard.states import Stopped
from roundsman.investigate.answers import EXCERPT
from roundsman.ledger import LiveRun, Record, overruns, usage_of
from roundsman.ledger.answering import as_data as question_data
from roundsman.ledger.asking import asked_in
from roundsman.ledger.view import evidence as evidence_of
from roundsman.ledger.view import guard_actions
from roundsman.loop import Held, read_answer
from roundsman.policy import Policy
from roundsman.sources.times import iso


def base_report(run: LiveRun, policy: Policy, model: str, question: str) -> dict[str, Any]:
    """What the journal shows, in the form of report.json."""
    records = run.store.records(run.run_id)
    account, stopped = run.account, run.account.stopped
    evidence = evidence_of(records, EXCERPT)
    held, unsupported = _findings(records, policy, evidence)
    return {
        "schema_version": 1,
        "run_id": run.run_id,
        "question": question,
        "model": model,
        "policy": {"name": policy.name, "digest": policy.digest},
        "stop": _stop(stopped or _waiting(run)),
        "rounds": account.rounds,
        "usage": usage_of(account),
        "findings": held,
        "unsupported": unsupported,
        "evidence": evidence,
        **guard_actions(records),
        "asked": [question_data(run.run_id, *one) for one in asked_in(records).values()],
        "overruns": overruns(records),
        "unseen": [],
        "timeline": [],
        "charts": [],
        "alternatives": [],
        "started": iso(int(records[0].at)) if records else "",
        "finished": iso(int(records[-1].at)) if records else "",
    }


def _waiting(run: LiveRun) -> Stopped | None:
    question = run.account.asks.blocking
    if run.account.ended:
        return None
    if question is None:  # it could not even be written that it is over
        return Stopped("failed", "", "", run.broken) if run.broken else None
    detail = f"{question.id}: {question.reason}"
    return Stopped("asked", question.limits[0] if question.limits else "approval", "", detail)


def _stop(stopped: Stopped | None) -> dict[str, str]:
    stopped = stopped or Stopped("")
    return {
        "reason": stopped.reason,
        "rule": stopped.rule,
        "layer": stopped.layer,
        "detail": stopped.detail,
    }


def _findings(
    records: Sequence[Record], policy: Policy, evidence: Sequence[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Fold the answers again: the same rule on the same records gives the same findings."""
    texts = {e["id"]: json.dumps(e["result"], default=str, ensure_ascii=False) for e in evidence}
    held = Held(policy.loop.progress)
    for record in records:
        if record.kind == "round_ends":
            answer = read_answer(dict(record.body["answer"]))
            held.take(answer.claims, record.body["index"], texts)
    return [f.to_json() for f in held.held], [f.to_json() for f in held.unsupported]
