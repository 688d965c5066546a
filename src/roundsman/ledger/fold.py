"""From a journal back to the account."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from roundsman.guard import Account, apply
from roundsman.guard.events import from_body

if TYPE_CHECKING:
    from roundsman.ledger.records import Record


def fold(records: Iterable[Record]) -> Account:
    """The account these records make."""
    account = Account()
    for record in records:
        account = apply(account, from_body(record.kind, record.at, record.body))
    return account


def overruns(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Replies a provider made (and billed) longer than they were allowed to be: {step, agent,
    model, allowed, produced} in tokens of output."""
    begun = {r.body["id"]: r.body for r in records if r.kind == "step_begins"}
    rows: dict[str, dict[str, Any]] = {}
    for body in (r.body for r in records if r.kind == "step_ends" and r.body.get("over")):
        step = begun.get(body["id"], {})
        allowed = step.get("max_output_tokens") or 0
        row = rows.setdefault(
            body["id"],
            {
                "step": body["id"],
                "agent": body.get("agent", ""),
                "model": step.get("model", ""),
                "allowed": allowed,
                "produced": allowed,
            },
        )
        row["produced"] += body["over"]
    return list(rows.values())


def usage_of(account: Account) -> dict[str, Any]:
    """Counters as reports and listings show them."""
    return {
        "steps": account.steps,
        "actions": account.actions,
        "tokens": account.tokens,
        "tokens_estimated": account.tokens_estimated,
        "usd": round(account.usd, 6),
    }
