"""From a run's journal to report.json: everything but the verdict on the cause."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from roundsman.ledger import LiveRun, Record, overruns, usage_of
from roundsman.loop import Held, read_answer
from roundsman.policy import Policy

EXCERPT = 500


def base_report(run: LiveRun, policy: Policy, model: str, question: str) -> dict[str, Any]:
    """What the journal shows, in the form of report.json."""
    records = run.store.records(run.run_id)
    account, stopped = run.account, run.account.stopped
    evidence = _evidence(records)
    held, unsupported = _findings(records, policy, evidence)
    return {
        "schema_version": 1,
        "run_id": run.run_id,
        "question": question,
        "model": model,
        "policy": {"name": policy.name, "digest": policy.digest},
        "stop": {
            "reason": stopped.reason if stopped else "",
            "rule": stopped.rule if stopped else "",
            "layer": stopped.layer if stopped else "",
            "detail": stopped.detail if stopped else "",
        },
        "rounds": account.rounds,
        "usage": usage_of(account),
        "findings": held,
        "unsupported": unsupported,
        "evidence": evidence,
        "refused": _refused(records),
        "amended": _amended(records),
        "cuts": _cuts(records),
        "overruns": overruns(records),
        "blocks": [],
        "unseen": [],
        "timeline": [],
        "charts": [],
        "alternatives": [],
        "started": iso(records[0].at) if records else "",
        "finished": iso(records[-1].at) if records else "",
    }


def iso(at: float) -> str:
    """UTC, to the second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _evidence(records: Sequence[Record]) -> list[dict[str, Any]]:
    begun = {r.body["id"]: r.body for r in records if r.kind == "action_begins"}
    rows = []
    for record in records:
        if record.kind != "action_ends":
            continue
        body = record.body
        asked = begun.get(body["id"], {})
        result = body["result"]
        query = result.get("query") if isinstance(result, dict) else None
        rows.append(
            {
                "id": body["id"],
                "tool": body["tool"],
                "args": asked.get("args", {}),
                "query": query if query is not None else _call_text(body["tool"], asked),
                "excerpt": _excerpt(result),
                "status": body["status"],
                "result": result,
            }
        )
    return rows


def _excerpt(result: Any) -> str:
    """What was found, without the envelope around it."""
    if isinstance(result, dict):
        for key in ("excerpts", "series", "templates", "changes", "rows", "error", "reason"):
            if result.get(key):
                result = result[key]
                break
    if isinstance(result, list):
        lines = (r if isinstance(r, str) else json.dumps(r, ensure_ascii=False) for r in result)
        return "\n".join(lines)[:EXCERPT]
    text = result if isinstance(result, str) else json.dumps(result, default=str)
    return text[:EXCERPT]


def _call_text(tool: str, asked: dict[str, Any]) -> str:
    """The call for a tool that echoed no query; quoted, since others beside it can be pasted."""
    return shlex.join([tool, json.dumps(asked.get("args", {}), default=str)])


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


def _refused(records: Sequence[Record]) -> list[dict[str, Any]]:
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for r in records:
        body = r.body
        if r.kind != "ruled" or body["verdict"] not in ("refuse", "ask") or not body["applied"]:
            continue
        key = (body["subject"], body["reason"])
        row = rows.setdefault(
            key,
            {"tool": key[0], "reason": key[1], "rule": body["rule"], "count": 0},
        )
        row["count"] += 1
    return list(rows.values())


def _amended(records: Sequence[Record]) -> list[dict[str, Any]]:
    return [
        {"tool": r.body["subject"], **change}
        for r in records
        if r.kind == "ruled" and r.body["verdict"] == "amend" and r.body["applied"]
        for change in r.body["changes"]
    ]


def _cuts(records: Sequence[Record]) -> list[dict[str, Any]]:
    index, rows = 0, list[dict[str, Any]]()
    for r in records:
        if r.kind == "round_begins":
            index = r.body["index"]
        elif r.kind == "ruled" and r.body["verdict"] == "cut" and r.body["applied"]:
            rows.append({"round": index, "reason": r.body["reason"], "rule": r.body["rule"]})
    return rows
