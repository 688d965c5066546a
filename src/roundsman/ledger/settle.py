"""What became of a write that was under way when the process died: a person says so."""

from __future__ import annotations

import time

from roundsman.errors import LeaseHeld, UsageError
from roundsman.guard.events import ActionBegins, ActionSettled
from roundsman.guard.prints import canonical
from roundsman.ledger.answering import PATIENCE_S, when
from roundsman.ledger.history import History
from roundsman.ledger.run import LiveRun
from roundsman.ledger.store import Store


def settle_unknown(store: Store, run_id: str, action: str, decision: str, by: str) -> str:
    """Record the decision on an unknown write; returns the call as text. Of two who settle it at once
    one is first, and the other is told.

    Args:
        decision: `done`, `not_done` or `again`.
        by: who says so, for the record.

    Raises:
        UsageError: the run has no such unknown write, or it is settled already.
        LeaseHeld: the run is alive in another process.
        JournalDamaged: its journal is not whole.
    """
    store.info(run_id)  # an unknown run is told with those it may be meant for
    _unknown(store, run_id, action)
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            with LiveRun.borrow(store, run_id) as run:
                asked = _unknown(store, run_id, action)  # as it stands now that nobody else writes
                run.write(ActionSettled(id=action, decision=decision, by=by))
            return f"{asked.tool}({canonical(asked.args)})"
        except LeaseHeld:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
            _unknown(store, run_id, action)


def _unknown(store: Store, run_id: str, action: str) -> ActionBegins:
    records = store.records(run_id)
    unknown = {a.id: a for a in History(records).unknown if isinstance(a, ActionBegins)}
    if action in unknown:
        return unknown[action]
    for record in reversed(records):
        if record.kind == ActionSettled.kind and record.body.get("id") == action:
            said = str(record.body.get("decision")).replace("_", "-")
            raise UsageError(
                f"{action} of run {run_id} was settled by {record.body.get('by') or 'a person'} at "
                f"{when(record.at)}: {said}; nothing was changed"
            )
    there = ", ".join(unknown) or "none"
    raise UsageError(
        f"run {run_id} has no write {action!r} of unknown outcome (it has: {there}); see: "
        f"roundsman runs show {run_id}"
    )
