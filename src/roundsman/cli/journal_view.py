"""What `runs show` reads out of a journal, without a model, a framework or the run's process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from roundsman.errors import UsageError

if TYPE_CHECKING:
    from roundsman.ledger import Record, RunInfo


def decisions(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Every verdict that was not Allow, in order, with the record's `seq` and `at` (seconds)."""
    return [{"seq": one.seq, "at": one.at, **one.body} for one in records if one.kind == "ruled"]


def evidence_of(
    run_id: str, evidence_id: str, records: list[Record], saved: dict[str, Any] | None
) -> dict[str, Any]:
    """One action whole: `id, tool, args, status, query, result, decisions`.

    The journal goes first; the saved report stands in for what the journal does not hold.

    Raises:
        UsageError: neither knows the id; the message names those there are.
    """
    actions = _actions(records)
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
    echo = result.get("query") if isinstance(result, dict) else None
    return {
        "id": evidence_id,
        "tool": action.get("tool") or known.get("tool"),
        "args": action.get("args") or known.get("args") or {},
        "status": action.get("status") or known.get("status"),
        "query": known.get("query") or echo,
        "result": known.get("excerpt") if result is None else result,
        "decisions": [one for one in decisions(records) if one.get("subject_id") == evidence_id],
    }


def interim_report(info: RunInfo, records: list[Record]) -> dict[str, Any]:
    """A report for a run that left none: what it spent, asked and was refused so far."""
    from roundsman.ledger import overruns

    evidence = []
    for name, action in _actions(records).items():
        result = action.get("result")
        echo = result.get("query") if isinstance(result, dict) else None
        evidence.append({**action, "id": name, "query": echo, "excerpt": _head(result)})
    report: dict[str, Any] = {
        "run_id": info.run_id,
        "question": info.question,
        "rounds": info.rounds,
        "usage": info.usage,
        "cause": {
            "abstained": True,
            "because": f"the run is {info.status} and has left no report",
        },
        "evidence": evidence,
        "refused": [],
        "amended": [],
        "cuts": [],
        "overruns": overruns(records),
    }
    current = None
    for one in records:
        body = one.body
        if one.kind == "round_begins":
            current = body.get("index")
        elif one.kind == "run_ends":
            report["stop"] = body
        elif one.kind == "ruled" and body.get("applied", True):
            if body.get("verdict") == "refuse":
                report["refused"].append(
                    {"tool": body.get("subject"), "reason": body.get("reason")}
                )
            elif body.get("verdict") == "amend":
                changes = [
                    change for change in body.get("changes") or [] if isinstance(change, dict)
                ]
                report["amended"] += [{"tool": body.get("subject"), **change} for change in changes]
            elif body.get("verdict") == "cut":
                report["cuts"].append({"round": current, "reason": body.get("reason")})
    return report


def _actions(records: Iterable[Record]) -> dict[str, dict[str, Any]]:
    """Actions by id, each the intent and, over it, the outcome; none yet: status unknown."""
    found: dict[str, dict[str, Any]] = {}
    for one in records:
        name = str(one.body.get("id", ""))
        if one.kind == "action_begins":
            found[name] = {**one.body, "status": "unknown", "result": None}
        elif one.kind == "action_ends":
            found.setdefault(name, {}).update(
                {key: one.body.get(key) for key in ("tool", "status", "result")}
            )
    return found


def _head(result: object) -> object:
    """The part of a tool's result a person wants to see first."""
    if isinstance(result, dict):
        for key in ("excerpts", "rows", "series", "error", "reason", "cut"):
            if result.get(key):
                return result[key]
    return result
