"""The kill switch: end a run from another process."""

from __future__ import annotations

import getpass
import os
import socket
import time

from roundsman.errors import LeaseHeld, LedgerError, RunNotFound, RunOver
from roundsman.ledger.run import LiveRun
from roundsman.ledger.store import Store

STOPPING, STOPPED, ALREADY = "stopping", "stopped", "stopped already"
OVER = ("done", "stopped")
"""Statuses of runs that have ended."""
IDLE = ("interrupted", "waiting", "answered")
"""Statuses of runs that can be taken up."""


def person() -> str:
    """Who is at this terminal, for the record: `user@host`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under an id nobody named
        user = f"uid {os.getuid()}" if hasattr(os, "getuid") else "somebody"
    return f"{user}@{socket.gethostname()}"


def stop_run(store: Store, run_id: str, who: str) -> str:
    """End a run: `stopped` when no process had it, `stopping` when one has, `stopped already` when
    it was stopped before.

    The request is durable first. A process that has the run sees it before its next call; one
    that takes the run up later stops at once.

    Raises:
        RunNotFound: there is none of that id.
        RunOver: it has come to its end by itself, maybe only just now.
        JournalDamaged: its journal is not whole, and no process has it.
    """
    status = store.info(run_id).status
    if status == STOPPED:
        return ALREADY
    if status in OVER:
        raise RunOver(f"run {run_id} is over ({status}); there is nothing to stop")
    store.request_stop(run_id, who)
    try:
        with LiveRun.borrow(store, run_id) as run:
            run.heed()
            stopped = run.account.stopped
            assert stopped is not None
            run.end(stopped.reason, stopped.rule, stopped.layer, stopped.detail)
    except LeaseHeld:
        return STOPPING
    except RunNotFound:  # deleted meanwhile
        store.withdraw_stop(run_id)
        raise
    except RunOver:  # it ended between the two looks
        store.withdraw_stop(run_id)
        status = store.info(run_id).status
        if status == STOPPED:
            return ALREADY
        raise RunOver(f"run {run_id} ended by itself ({status}) before it was stopped") from None
    return STOPPED


def await_stop(store: Store, run_ids: list[str], seconds: float) -> list[str]:
    """Those of the runs that have not ended within this time."""
    until, left = time.monotonic() + seconds, list(run_ids)
    while True:
        left = [one for one in left if not _over(store, one)]
        if not left or time.monotonic() >= until:
            return left
        time.sleep(0.1)


def _over(store: Store, run_id: str) -> bool:
    """Whether it ended, or its process did before it could."""
    try:
        return stop_run(store, run_id, "") != STOPPING
    except (RunOver, RunNotFound):
        return True
    except LedgerError:  # damaged, or out of reach just now: it hinders no other
        return False
