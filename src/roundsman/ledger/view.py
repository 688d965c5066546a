"""What the records of a run say, in the form reports carry: read once here, for every reader."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from roundsman.guard.events import KINDS
from roundsman.ledger.records import Record

#: where a tool's result holds what was found, the most telling first
BODIES = ("excerpts", "series", "templates", "changes", "rows", "error", "reason", "cut")

INVESTIGATION, REMEDY = "investigate", "remedy"
"""Kinds of runs, as their setups call them."""

_TOLD = ("attempts", "tools")
"""What is said of model calls, and changed none."""


def setup_in(records: Sequence[Record]) -> Mapping[str, Any]:
    """What the journal was told of a run when it began; empty where nothing was."""
    setup = records[0].body.get("setup") if records else None
    return setup if isinstance(setup, Mapping) else {}


def kind_of_run(records: Sequence[Record]) -> str:
    """`INVESTIGATION`, `REMEDY`, or empty for the run of an app of one's own."""
    return str(setup_in(records).get("what") or "")


def how_to_go_on(run_id: str, records: Sequence[Record]) -> str:
    """What a person is told who wants a run to go on: its own process, or their app."""
    if kind_of_run(records) in (INVESTIGATION, REMEDY):
        return f"with: roundsman resume {run_id}"
    return f"in your app: roundsman.adk.resume(app, {run_id!r}, session)"


def head_of(result: object) -> object:
    """The part of a result a person wants to see first; the whole when none of it is named so."""
    if isinstance(result, Mapping):
        return next((result[key] for key in BODIES if result.get(key)), result)
    return result


def excerpt_of(result: object, limit: int) -> str:
    """What was found as text, an entry a line, at most `limit` characters."""
    head = head_of(result)
    if isinstance(head, list):
        return "\n".join(map(_text, head))[:limit]
    return "" if head is None else _text(head)[:limit]


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str, ensure_ascii=False)


def evidence(records: Iterable[Record], excerpt: int) -> list[dict[str, Any]]:
    """Every action that began: `id, tool, args, query, excerpt, status, result`.

    One without an outcome (the process died, or the call was broken off) has the status `unknown`.
    """
    rows: dict[str, dict[str, Any]] = {}
    for record in records:
        body = record.body
        if record.kind == "action_begins":
            rows[_id(body)] = {
                "id": _id(body),
                "tool": body.get("tool", ""),
                "args": body.get("args") or {},
                "status": "unknown",
                "result": None,
            }
        elif record.kind == "action_ends":
            row = rows.setdefault(_id(body), {"id": _id(body), "args": {}})
            row |= {key: body.get(key) for key in ("tool", "status", "result")}
    for row in rows.values():
        echo = row["result"].get("query") if isinstance(row["result"], Mapping) else None
        row["query"] = echo if echo is not None else _call_text(row)
        row["excerpt"] = excerpt_of(row["result"], excerpt)
    return list(rows.values())


def _id(body: Mapping[str, Any]) -> str:
    return str(body.get("id", ""))


def _call_text(row: Mapping[str, Any]) -> str:
    """The call of a tool that echoed no query; quoted, since others beside it can be pasted."""
    args = json.dumps(row["args"], default=str, ensure_ascii=False)
    return shlex.join(
        [str(row["tool"]), "".join(c if c.isprintable() else _escaped(c) for c in args)]
    )


def _escaped(character: str) -> str:
    """As JSON escapes it: what has no glyph can make a line read as something it is not."""
    return json.dumps(character)[1:-1]


def tool_of(body: Mapping[str, Any]) -> str:
    """The tool a verdict was on; empty when it was on a round, a step or an agent."""
    subject = str(body.get("subject") or "")
    return "" if subject in KINDS else subject


def decisions(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Every verdict that was not Allow, in order, with the record's `seq` and `at` (seconds)."""
    return [{"seq": one.seq, "at": one.at, **one.body} for one in records if one.kind == "ruled"]


def guard_actions(records: Iterable[Record]) -> dict[str, list[dict[str, Any]]]:
    """What the guard did: `refused` (with a count), `amended`, `cuts`, as `blocks` what the
    checks of texts did, and as `notes` what was refused and is no tool (an answer that could not be
    read, an agent out of its place), model calls made again, and why tools are called as they are."""
    refused: dict[tuple[str, str], dict[str, Any]] = {}
    amended: list[dict[str, Any]] = []
    cuts: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    blocks: list[dict[str, Any]] = []
    last_cut = ""
    for index, body in _applied(records):
        tool, reason, rule = tool_of(body), body.get("reason", ""), body.get("rule", "")
        verdict = body.get("verdict")
        if (block := _block(body)) is not None:
            blocks.append(block)
        elif verdict == "cut":
            subject = body.get("subject_id") or ""
            if subject and subject == last_cut:  # one cut, for which a further rule had a reason
                cuts[-1]["reason"] += f"; {reason}"
            else:
                cuts.append({"round": index, "reason": reason, "rule": rule})
            last_cut = subject
        elif verdict == "amend":
            changes = (one for one in body.get("changes") or [] if isinstance(one, Mapping))
            amended += [{"tool": tool, **change} for change in changes]
            if rule in _TOLD:
                notes.append({"round": index, "reason": reason, "rule": rule})
        elif verdict == "refuse" and tool:
            row = {"tool": tool, "reason": reason, "rule": rule, "count": 0}
            refused.setdefault((tool, reason), row)["count"] += 1
        elif verdict == "refuse":
            notes.append({"round": index, "reason": reason, "rule": rule})
    return {
        "refused": list(refused.values()),
        "amended": amended,
        "cuts": cuts,
        "notes": notes,
        "blocks": blocks,
    }


def _block(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a check of a text did, by the place, kinds and digest that are on record of it."""
    numbers = body.get("numbers")
    if body.get("layer") != "conversation" or not isinstance(numbers, Mapping):
        return None
    if "where" not in numbers:
        return None
    rule, where = str(body.get("rule", "")), str(numbers["where"])
    tool = str(body.get("subject") or "")
    done = "blocked" if body.get("verdict") == "refuse" else "marked"
    done = "cut out" if body.get("changes") else done
    found = ", ".join(map(str, numbers.get("kinds") or ()))
    if "budget_s" in numbers:  # it did not say in time
        done = "blocked" if body.get("verdict") == "refuse" else "let pass"
        found = str(body.get("reason", "")).partition(": ")[2]
    whose = f" of {tool}" if where in ("call", "result") and tool else ""
    return {
        "rule": rule,
        "where": where,
        "kinds": list(numbers.get("kinds") or ()),
        "text": str(numbers.get("text", "")),
        "agent": str(body.get("agent", "")),
        "tool": f"{where}{whose}",
        "reason": f"{done} by {rule} ({found}), text {numbers.get('text', '')}",
    }


def _applied(records: Iterable[Record]) -> Iterator[tuple[int | None, Mapping[str, Any]]]:
    """(number of the round, verdict) of every verdict that was applied."""
    index = None
    for record in records:
        if record.kind == "round_begins":
            index = record.body.get("index")
        elif record.kind == "ruled" and record.body.get("applied", True):
            yield index, record.body
