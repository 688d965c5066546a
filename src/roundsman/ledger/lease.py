"""A run belongs to one process: a lease with a heartbeat."""

from __future__ import annotations

import os
import socket
import sqlite3
import time
import uuid

from roundsman.errors import LeaseHeld, LedgerError

TTL = 60.0
"""Seconds without a heartbeat after which a lease of another host counts as dead."""


def lease_state(pid: int, host: str, beat: float) -> str:
    """`live` or `dead`. On this host the process is looked for; elsewhere only the beat tells."""
    if host == socket.gethostname():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return "dead"
        except PermissionError:
            return "live"
        return "live"
    return "live" if time.time() - beat < TTL else "dead"


class Lease:
    """Held from `take` (or `enter`) until the run is over; `beat` keeps it alive.

    Raises:
        LeaseHeld: on `take`, when another live process holds it, naming it and since when.
    """

    def __init__(self, db: sqlite3.Connection, run_id: str) -> None:
        self._db, self._run = db, run_id
        self._holder = uuid.uuid4().hex
        self._last = 0.0

    def take(self) -> None:
        """Take the lease, or say who holds it."""
        try:
            self._take()
        except sqlite3.Error as error:
            raise LedgerError(f"the lease of run {self._run} cannot be taken: {error}") from error

    def _take(self) -> None:
        self._db.commit()
        self._db.execute("begin immediate")
        row = self._db.execute(
            "select pid, host, since, beat from leases where run_id=?", (self._run,)
        ).fetchone()
        if row is not None:
            pid, host, since, beat = row
            if lease_state(pid, host, beat) == "live":
                self._db.rollback()
                when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since))
                raise LeaseHeld(f"run {self._run} is held by process {pid} on {host} since {when}")
        self.enter()
        self._db.commit()

    def enter(self) -> None:
        """Take the lease of a run nobody else can know yet; durable with the next commit."""
        now = time.time()
        self._db.execute(
            "insert or replace into leases values(?,?,?,?,?,?)",
            (self._run, self._holder, os.getpid(), socket.gethostname(), now, now),
        )
        self._last = now

    def beat(self) -> None:
        """Renew, at most once in a third of the lease's time; rides with the next commit."""
        now = time.time()
        if now - self._last > TTL / 3:
            self._db.execute(
                "update leases set beat=? where run_id=? and holder=?",
                (now, self._run, self._holder),
            )
            self._last = now

    def release(self) -> None:
        """Let go of a run that is not over, for another process to take up."""
        self._db.execute(
            "delete from leases where run_id=? and holder=?", (self._run, self._holder)
        )
        self._db.commit()
