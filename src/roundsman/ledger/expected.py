"""Runs that are asked for and have not begun: listed from the moment they are submitted."""

from __future__ import annotations

from roundsman.errors import UsageError
from roundsman.guard import Account
from roundsman.ledger.fold import usage_of
from roundsman.ledger.records import RunInfo, storable
from roundsman.ledger.store import Store

_KEPT_S = 8 * 86_400
"""How long it is known why one never began."""


def expect(store: Store, run_id: str, question: str) -> None:
    """A run of this id will begin; nothing changes when it has already."""
    with store.db.transaction():
        ((now,),) = store.db.query(f"select {store.db.clock}")
        store.db.execute("delete from expected where why<>'' and at<?", (now - _KEPT_S,))
        store.db.execute(
            "insert into expected(run_id, at, question) select ?,?,? "
            "where not exists(select 1 from runs where run_id=?) on conflict do nothing",
            (run_id, now, storable(question), run_id),
        )


def expected(store: Store) -> list[RunInfo]:
    """Runs that have not begun yet, newest first; their status is `queued`."""
    rows = store.db.query(
        "select run_id, at, question from expected where why='' and not exists"
        "(select 1 from runs where runs.run_id=expected.run_id) order by at desc, run_id desc"
    )
    nothing = usage_of(Account())
    return [RunInfo(run_id, "queued", at, question, 0, nothing) for run_id, at, question in rows]


def never_began(store: Store, run_id: str, why: str) -> None:
    """It could not begin; whoever asks for it is told why. What was said first stays; a worker may be
    quicker than whoever submitted it, who then finds it here."""
    with store.db.transaction():
        ((now,),) = store.db.query(f"select {store.db.clock}")
        store.db.execute(
            "insert into expected(run_id, at, question, why) select ?,?,'',? "
            "where not exists(select 1 from runs where run_id=?) "
            "on conflict(run_id) do update set why=excluded.why where expected.why=''",
            (run_id, now, storable(why) or "?", run_id),
        )


def refuse_expected(store: Store, given: str) -> None:
    """Tell what became of a run that was asked for and is not in the journal.

    Args:
        given: its id, or the beginning of it.

    Raises:
        UsageError: it has not begun, or never did, and why.
    """
    rows = store.db.query("select run_id, why from expected") if given else []
    fitting = [row for row in rows if row[0] == given] or [
        row for row in rows if row[0].startswith(given)
    ]
    if len(fitting) != 1:
        return
    run_id, why = fitting[0]
    if why:
        raise UsageError(f"run {run_id} never began: {why}")
    raise UsageError(
        f"run {run_id} is queued and has not begun; see: roundsman queue; roundsman stop {run_id} "
        f"keeps it from beginning"
    )
