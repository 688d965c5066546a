"""From a journal back to the account."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from roundsman.guard import Account, apply
from roundsman.guard.events import from_body

if TYPE_CHECKING:
    from roundsman.ledger.store import Record


def fold(records: Iterable[Record]) -> Account:
    """The account these records make."""
    account = Account()
    for record in records:
        account = apply(account, from_body(record.kind, record.at, record.body))
    return account


def usage_of(account: Account) -> dict[str, Any]:
    """Counters as reports and listings show them."""
    return {
        "steps": account.steps,
        "actions": account.actions,
        "tokens": account.tokens,
        "tokens_estimated": account.tokens_estimated,
        "usd": round(account.usd, 6),
    }
