"""What became of a write that was under way when the process died: a person says so."""

from __future__ import annotations

from roundsman.errors import UsageError
from roundsman.guard.events import ActionSettled
from roundsman.guard.prints import canonical
from roundsman.ledger.history import History
from roundsman.ledger.run import LiveRun
from roundsman.ledger.store import Store


def settle_unknown(store: Store, run_id: str, action: str, decision: str, by: str) -> str:
    """Record the decision on an unknown write; returns the call as text.

    Args:
        decision: `done`, `not_done` or `again`.
        by: who says so, for the record.

    Raises:
        UsageError: the run has no such unknown write.
        LeaseHeld: the run is alive in another process.
        JournalDamaged: its journal is not whole.
    """
    store.info(run_id)  # an unknown run is told with those it may be meant for
    unknown = {a.id: a for a in History(store.records(run_id)).unknown}
    if action not in unknown:
        there = ", ".join(unknown) or "none"
        raise UsageError(
            f"run {run_id} has no write {action!r} of unknown outcome (it has: {there}); see: "
            f"roundsman runs show {run_id}"
        )
    asked = unknown[action]
    with LiveRun.borrow(store, run_id) as run:
        run.write(ActionSettled(id=action, decision=decision, by=by))
    return f"{asked.tool}({canonical(asked.args)})"
