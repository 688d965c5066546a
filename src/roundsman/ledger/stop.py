"""The kill switch: end a run from another process."""

from __future__ import annotations

import getpass
import os
import socket
import time
from contextlib import suppress

from roundsman.errors import LeaseHeld, UsageError
from roundsman.ledger.run import LiveRun
from roundsman.ledger.store import Store

STOPPING, STOPPED = "stopping", "stopped"
OVER = ("done", "stopped")
"""Statuses of runs that have ended."""


def person() -> str:
    """Who is at this terminal, for the record: `user@host`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run under an id nobody named
        user = f"uid {os.getuid()}" if hasattr(os, "getuid") else "somebody"
    return f"{user}@{socket.gethostname()}"


def stop_run(store: Store, run_id: str, who: str) -> str:
    """End a run: `stopped` when no process had it, `stopping` when one has.

    The request is durable first. A process that has the run sees it before its next call; one
    that takes the run up later stops at once.

    Raises:
        RunNotFound: there is none of that id.
        UsageError: it is over.
        JournalDamaged: its journal is not whole, and no process has it.
    """
    status = store.info(run_id).status
    if status in OVER:
        raise UsageError(f"run {run_id} is over ({status}); there is nothing to stop")
    store.request_stop(run_id, who)
    try:
        with LiveRun.borrow(store, run_id) as run:
            run.heed()
            stopped = run.account.stopped
            assert stopped is not None
            run.end(stopped.reason, stopped.rule, stopped.layer, stopped.detail)
    except LeaseHeld:
        return STOPPING
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
    if store.info(run_id).status in OVER:
        return True
    with suppress(LeaseHeld, UsageError):
        return stop_run(store, run_id, "") == STOPPED
    return store.info(run_id).status in OVER
