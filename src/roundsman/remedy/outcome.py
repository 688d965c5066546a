"""What became of a remedy, read from its journal: the journal is what counts, whatever a process thinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roundsman.errors import LedgerError
from roundsman.guard.asking import exact_digest
from roundsman.guard.events import ActionBegins
from roundsman.ledger import History, Record, Store
from roundsman.ledger.answering import as_data, when
from roundsman.ledger.asking import asked_in
from roundsman.ledger.view import REMEDY, evidence, guard_actions, kind_of_run, setup_in
from roundsman.remedy.names import VERIFY, apply_tool, look_tool, undo_tool

_TOLD = ("resource", "dry_run", "undo", "undo_by_hand", "afterwards", "verify")
NOT_NEEDED = "not_needed"
"""The rule by which a run ends when what broke is back before anything was applied."""
DONE, ROLLED_BACK, FAILED_BACK = "done", "rolled back", "roll back failed"
NO_HELP = "did not help"
NOT_APPLIED, DENIED, WAITING, UNVERIFIED, UNKNOWN, UNDER_WAY = (
    "not applied", "denied", "waiting", "applied, not verified", "unknown", "under way",
)  # fmt: skip
"""How a remedy may stand. `applied, not verified`: it was broken off before it could be told.
`did not help`: and nothing is to be undone."""


def outcome_of(
    setup: Mapping[str, Any], records: Sequence[Record], *, under_way: bool = False
) -> dict[str, Any]:
    """`outcome`, `because` in a sentence, `by_hand` when a person has to do something, and the steps as
    they are on record. `setup` is what the journal was told when the remedy began;
    `under_way`: a process is at it."""
    name = str(setup["remedy"])
    last: dict[str, dict[str, Any]] = {}
    for row in evidence(records, 0):
        last[str(row["tool"])] = row
    steps = {
        part: _step(last.get(tool))
        for part, tool in (
            ("apply", apply_tool(name)),
            ("verify", VERIFY),
            ("undo", undo_tool(name)),
            ("look_again", look_tool(name)),
        )
    }
    settled = {r.body.get("id"): r for r in records if r.kind == "action_settled"}
    for step in steps.values():
        if step is not None and step["status"] == "unknown" and step["id"] in settled:
            said = settled[step["id"]]
            step["settled"], step["settled_by"] = said.body.get("decision"), said.body.get("by", "")
            step["settled_at"] = when(said.at)
    if under_way:
        now = next((n for n in reversed(steps) if steps[n] is not None), "propose")
        return {"outcome": UNDER_WAY, "because": f"at: {now}", "by_hand": "", "steps": steps}
    outcome, because, hand = _judged(str(setup["undo_by_hand"]), steps, records)
    return {"outcome": outcome, "because": because, "by_hand": hand, "steps": steps}


def _step(row: dict[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    result = row["result"] if isinstance(row["result"], Mapping) else {}
    return {"id": row["id"], "status": row["status"] or "unknown", **result}


def _judged(hand: str, steps: Mapping[str, Any], records: Sequence[Record]) -> tuple[str, str, str]:
    apply, verify, undo, again = (steps[n] for n in ("apply", "verify", "undo", "look_again"))
    if apply is None:
        return _before(records)
    unknown = [one for one in History(records).unknown if isinstance(one, ActionBegins)]
    if unknown:
        what = "undoing it" if undo is not None else "applying it"
        return UNKNOWN, f"the process died while {what}: nobody knows whether that was done", ""
    if undo is not None:
        return _undone(apply, verify, undo, again, hand)
    if apply["status"] in ("error", "blocked") and not apply.get("changed"):
        why = apply.get("error") or apply.get("reason")
        return NOT_APPLIED, f"nothing was changed: {why}", ""
    if apply.get("settled") == "not_done":
        return NOT_APPLIED, "nothing was changed: a person has looked", ""
    if verify is not None and verify.get("back"):
        return DONE, "what broke is back", ""
    if apply["status"] == "error":
        return UNVERIFIED, "it failed on the way", hand
    return UNVERIFIED, "it was broken off before it could be told whether it helped", hand


def _before(records: Sequence[Record]) -> tuple[str, str, str]:
    """Where the call never began."""
    answers = [answered for _, answered in asked_in(records).values()]
    if any(one is None for one in answers):
        if any(one.kind == "run_ends" for one in records):
            return NOT_APPLIED, "nothing was changed: it ended before anybody had answered", ""
        return WAITING, "a person decides whether this very call runs; nothing was changed", ""
    refused = guard_actions(records)["refused"]
    if refused:
        denied = any(one is not None and one.decision == "deny" for one in answers)
        return (
            DENIED if denied else NOT_APPLIED,
            f"nothing was changed: {refused[-1]['reason']}",
            "",
        )
    for one in records:
        if one.kind == "run_ends" and one.body.get("rule") == NOT_NEEDED:
            return NOT_APPLIED, f"nothing was changed: {one.body.get('detail')}", ""
    return NOT_APPLIED, "nothing was changed", ""


def begun_in(remedy: str, records: Sequence[Record]) -> bool:
    """Whether the call of a remedy has ever begun."""
    tool = apply_tool(remedy)
    return any(r.kind == "action_begins" and r.body.get("tool") == tool for r in records)


def _undone(apply: Any, verify: Any, undo: Any, again: Any, hand: str) -> tuple[str, str, str]:
    """Where it was undone, or was to be. What failed is told by the steps, and not repeated here."""
    why = (
        "it failed on the way" if verify is None else f"it did not help: {verify.get('why') or ''}"
    )
    if undo.get("settled") == "not_done":
        return (
            FAILED_BACK,
            f"{why}; and rolling it back was not carried out: a person has looked",
            hand,
        )
    if undo["status"] == "error" and again is not None and again.get("applied") is False:
        return (
            FAILED_BACK,
            f"{why}; what it had changed is as before (looked at again), but rolling it back failed then",
            "see why the roll back failed, and have the rest of it done",
        )
    if undo["status"] == "error":
        return FAILED_BACK, f"{why}; and rolling it back failed", hand
    if again is not None and again.get("applied") is True:
        return FAILED_BACK, f"{why}; it was rolled back, but the world looks as if it was not", hand
    if again is None and undo["status"] not in ("ok", "empty"):
        return FAILED_BACK, f"{why}; rolling it back was broken off", hand
    if undo.get("did") == "":
        return NO_HELP, f"{why}; nothing is to be undone", ""
    sure = again is not None and again.get("applied") is False
    checked = "looked at again: as before" if sure else "how it is now cannot be looked at"
    return ROLLED_BACK, f"{why}; {checked}", ""


def setup_of(run_id: str, records: Sequence[Record]) -> Mapping[str, Any]:
    """What the journal was told when the remedy began. Raises LedgerError: it is no remedy's run."""
    if kind_of_run(records) != REMEDY:
        raise LedgerError(f"run {run_id} is no remedy's")
    return setup_in(records)


def report_of(store: Store, run_id: str) -> dict[str, Any]:
    """What is to be said of a remedy's run; read from its journal alone.

    Raises:
        LedgerError: it is no remedy's run.
    """
    records, info = store.records(run_id), store.info(run_id)
    setup = setup_of(run_id, records)
    finding, tool = setup["finding"], apply_tool(str(setup["remedy"]))
    ends = next((r.body for r in records if r.kind == "run_ends"), {})
    return {
        "schema_version": 1,
        "what": REMEDY,
        "run_id": run_id,
        "of": setup["of"],
        "remedy": setup["remedy"],
        "about": setup["about"],
        "status": info.status,
        "question": info.question,
        "cause": {key: finding[key] for key in ("service", "change", "kind", "confidence")},
        "call": {"tool": tool, "args": setup["args"]},
        "digest": exact_digest(tool, setup["args"]),
        **{key: setup[key] for key in _TOLD},
        **outcome_of(setup, records, under_way=info.status == "running"),
        "asked": [as_data(run_id, *one) for one in asked_in(records).values()],
        "last_look": list((store.report(run_id) or {}).get("last_look") or ()),
        "stop": {key: str(ends.get(key, "")) for key in ("reason", "rule", "detail")},
    }
