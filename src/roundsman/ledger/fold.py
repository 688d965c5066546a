"""From a journal back to the account."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from roundsman import __version__
from roundsman.errors import JournalDamaged
from roundsman.guard import Account, apply
from roundsman.guard.events import KINDS, Answered, Event, from_body
from roundsman.ledger.records import FORGET

if TYPE_CHECKING:
    from roundsman.ledger.records import Record


def event_of(record: Record) -> Event:
    """The event a record holds.

    Raises:
        JournalDamaged: it is of a kind, or in a form, this version does not know.
    """
    if record.kind not in KINDS:
        raise JournalDamaged(
            f"record {record.seq} is of the kind {record.kind!r}, which this Roundsman "
            f"({__version__}) does not know; update Roundsman, or {FORGET}"
        )
    try:
        return from_body(record.kind, record.at, record.body)
    except (AttributeError, TypeError, ValueError) as error:
        raise _unreadable(record, error) from error


def _unreadable(record: Record, error: Exception) -> JournalDamaged:
    return JournalDamaged(
        f"record {record.seq} ({record.kind}) cannot be read: {type(error).__name__}: {error}; "
        f"{FORGET}"
    )


def fold(records: Iterable[Record]) -> Account:
    """The account these records make.

    Raises:
        JournalDamaged: one cannot be read.
    """
    account = Account()
    for record in records:
        event = event_of(record)
        try:
            account = apply(account, event)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _unreadable(record, error) from error
    return account


def idle_status(account: Account, records: Sequence[Record]) -> str:
    """How an unfinished run stands that no process has: it waits for a person, was answered by one
    and can go on, or was interrupted."""
    if account.asks.open:
        return "waiting"
    return "answered" if records and records[-1].kind == Answered.kind else "interrupted"


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
    """Counters as reports and listings show them; `usd` is None when a model's price is unknown."""
    return {
        "steps": account.steps,
        "actions": account.actions,
        "tokens": account.tokens,
        "tokens_estimated": account.tokens_estimated,
        "usd": None if account.unpriced else round(account.usd, 6),
    }
