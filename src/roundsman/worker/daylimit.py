"""Tokens a day, over all workers: reserved before an investigation begins, settled when it ended.

The day is of UTC and of the database's clock. A run is charged, whole, to the day it was taken up
last: what it spent before midnight counts again, so that no day is ever overdrawn.
"""

from __future__ import annotations

from roundsman.errors import UsageError
from roundsman.ledger import Store

_NAME = "tokens_a_day"
_DAY_S = 86_400
_KEPT_DAYS = 8


def set_limit(store: Store, tokens: int | None) -> None:
    """Set the limit for all workers; None: there is none."""
    with store.db.transaction():
        store.db.execute("delete from settings where name=?", (_NAME,))
        if tokens is not None:
            store.db.execute("insert into settings values(?,?)", (_NAME, str(tokens)))


def limit_of(store: Store) -> int | None:
    """Tokens all workers together may spend a day."""
    rows = store.db.query("select value from settings where name=?", (_NAME,))
    return int(rows[0][0]) if rows else None


def tokens_today(store: Store) -> int:
    """What is spent or reserved of today."""
    return _spent(store, _today(store))


def admit(store: Store, run_id: str, most: int | None) -> bool:
    """Reserve what a run may spend at most; False: not today, or not while others hold so much.

    A run that holds as much today keeps its reservation. One that was settled (it failed, and is
    asked for again), was granted more since, or goes on on a later day, has to be admitted anew.

    Raises:
        UsageError: the run could never be admitted.
    """
    limit = limit_of(store)
    with store.db.transaction():
        store.db.alone()
        today = _today(store)
        rows = store.db.query("select day, tokens from spent where run_id=?", (run_id,))
        held = int(rows[0][1]) if rows and rows[0][0] == today else 0
        if held and most is not None and held >= most:
            return True
        if limit is not None:
            _refuse_for_good(most, limit)
            if _spent(store, today) - held + (most or 0) > limit:
                return False
        store.db.execute("delete from spent where day<?", (today - _KEPT_DAYS,))
        store.db.execute("delete from spent where run_id=?", (run_id,))
        store.db.execute("insert into spent values(?,?,?)", (run_id, today, most or 0))
    return True


def _refuse_for_good(most: int | None, limit: int) -> None:
    if most is None:
        raise UsageError(
            f"its policy has no run.tokens, and the workers may spend {limit:,} tokens a day: what "
            f"is not bounded cannot be reserved; set run.tokens"
        )
    if most > limit:
        raise UsageError(
            f"its policy allows {most:,} tokens, and the workers may spend {limit:,} a day in all; "
            f"lower run.tokens, or raise the limit: roundsman worker --tokens-a-day N"
        )


def settle(store: Store, run_id: str, tokens: int) -> None:
    """The run is over and spent this much."""
    store.db.execute("update spent set tokens=? where run_id=?", (tokens, run_id))


def _today(store: Store) -> int:
    ((now,),) = store.db.query(f"select {store.db.clock}")
    return int(now // _DAY_S)


def _spent(store: Store, day: int) -> int:
    ((tokens,),) = store.db.query("select sum(tokens) from spent where day=?", (day,))
    return int(tokens or 0)
