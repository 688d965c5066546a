"""What `runs show` reads out of a journal, without a model, a framework or the run's process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roundsman.errors import UsageError
from roundsman.ledger.stop import OVER
from roundsman.ledger.view import INVESTIGATION, decisions, evidence, guard_actions, kind_of_run

if TYPE_CHECKING:
    from roundsman.ledger import Record, RunInfo

EXCERPT = 1_000
"""Characters of a result shown where a run left no report."""


def evidence_of(
    run_id: str, evidence_id: str, records: list[Record], saved: dict[str, Any] | None
) -> dict[str, Any]:
    """One action whole: `id, tool, args, status, query, result, decisions`.

    The journal goes first; the saved report stands in for what the journal does not hold.

    Raises:
        UsageError: neither knows the id; the message names those there are.
    """
    actions = {one["id"]: one for one in evidence(records, EXCERPT)}
    kept = {
        str(one.get("id")): one
        for one in (saved or {}).get("evidence") or []
        if isinstance(one, dict)
    }
    if evidence_id not in actions and evidence_id not in kept:
        ids = list(dict.fromkeys([*actions, *kept]))
        shown = ", ".join(ids[:12]) + (", ..." if len(ids) > 12 else "")
        raise UsageError(
            f"run {run_id} holds no evidence {evidence_id!r}; "
            + (f"it holds {shown}" if ids else "it holds none at all")
        )
    action, known = actions.get(evidence_id, {}), kept.get(evidence_id, {})
    result = action.get("result")
    return {
        "id": evidence_id,
        "tool": action.get("tool") or known.get("tool"),
        "args": action.get("args") or known.get("args") or {},
        "status": action.get("status") or known.get("status"),
        "query": known.get("query") or action.get("query"),
        "result": known.get("excerpt") if result is None else result,
        "decisions": [one for one in decisions(records) if one.get("subject_id") == evidence_id],
    }


def interim_report(info: RunInfo, records: list[Record]) -> dict[str, Any]:
    """A report for a run that left none: what it spent, asked and was refused so far."""
    from roundsman.ledger import overruns

    report: dict[str, Any] = {
        "run_id": info.run_id,
        "question": info.question,
        "rounds": info.rounds,
        "usage": info.usage,
        "cause": {
            "abstained": True,
            "because": f"the run is {info.status} and has left no report"
            + "; a person has said their word, and nobody went on" * (info.status == "answered"),
        },
        "evidence": evidence(records, EXCERPT),
        **guard_actions(records),
        "overruns": overruns(records),
    }
    for one in records:
        if one.kind == "run_ends":
            report["stop"] = one.body
    if kind_of_run(records) != INVESTIGATION:
        # a run of somebody's app was never about a cause
        report["cause"]["instead"] = f"Run {info.status}"
        if info.status in OVER:
            why = str(report.get("stop", {}).get("detail") or "")
            report["cause"]["because"] = why or "it came to its own end"
    return report
