"""A run belongs to one process: a lease with a heartbeat.

On the same host a process is told by its pid and when it started (a pid is used again after a
restart, and is always small in a container); on another host only the heartbeat tells. The heart
beats in a thread of its own: a model call may take longer than the lease lives.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from pathlib import Path

from roundsman.errors import LeaseHeld, LedgerError

TTL = 60.0
"""Seconds without a heartbeat after which a lease of another host counts as dead."""


def process_start(pid: int) -> str:
    """When a process of this host started, as the system says it; empty when it does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    return f"{boot}:{stat.rpartition(')')[2].split()[19]}"


def lease_state(pid: int, host: str, beat: float, start: str = "") -> str:
    """`live` or `dead`: whether the process that took the lease still runs."""
    fresh = time.time() - beat < TTL
    if host != socket.gethostname():
        return "live" if fresh else "dead"
    if start:
        return "live" if process_start(pid) == start else "dead"
    if os.name != "posix":  # there a signal of 0 is no question
        return "live" if fresh else "dead"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "dead"
    except PermissionError:
        pass
    return "live" if fresh else "dead"


class Lease:
    """Held from `take` (or `enter`) until the run is over or it is released.

    Args:
        db: connection to the store's file.
        path: that file, for the heart's own connection.
        lost: called from the heart's thread when another process has the lease now.

    Raises:
        LeaseHeld: on `take`, when another live process holds it, naming it and since when.
    """

    def __init__(
        self, db: sqlite3.Connection, run_id: str, path: Path, lost: Callable[[], None]
    ) -> None:
        self._db, self._run, self._path = db, run_id, path
        self._lost = weakref.WeakMethod(lost) if hasattr(lost, "__self__") else lambda: lost
        self.holder = uuid.uuid4().hex

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
            "select pid, host, since, beat, start from leases where run_id=?", (self._run,)
        ).fetchone()
        if row is not None:
            pid, host, since, beat, start = row
            if lease_state(pid, host, beat, start) == "live":
                self._db.rollback()
                when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since))
                raise LeaseHeld(
                    f"run {self._run} is held by process {pid} on {host} since {when}; wait for "
                    f"it, or end that process"
                )
        self.enter()
        self._db.commit()

    def enter(self) -> None:
        """Take the lease of a run nobody else can know yet; durable with the next commit."""
        now, pid = time.time(), os.getpid()
        self._db.execute(
            "insert or replace into leases values(?,?,?,?,?,?,?)",
            (self._run, self.holder, pid, socket.gethostname(), process_start(pid), now, now),
        )
        _heart(self._path).leases.add(self)

    def beat(self, db: sqlite3.Connection) -> None:
        """Renew; tell the run when another process has taken it."""
        found = db.execute(
            "update leases set beat=? where run_id=? and holder=?",
            (time.time(), self._run, self.holder),
        ).rowcount
        db.commit()
        if found == 0 and (lost := self._lost()) is not None and self in _heart(self._path).leases:
            lost()

    def let_go(self) -> None:
        """The run is over or somebody else's: no more heartbeats."""
        _heart(self._path).leases.discard(self)

    def release(self) -> None:
        """Let go of a run that is not over, for another process to take up."""
        self.let_go()
        self._db.execute("delete from leases where run_id=? and holder=?", (self._run, self.holder))
        self._db.commit()


class _Heart(threading.Thread):
    """Beats for the leases of one file; ends with the process."""

    def __init__(self, path: Path) -> None:
        super().__init__(name="roundsman-heart", daemon=True)
        self.leases: weakref.WeakSet[Lease] = weakref.WeakSet()
        self._path = path

    def run(self) -> None:
        while True:
            time.sleep(TTL / 4)
            beat_all(self._path)


def beat_all(path: Path) -> None:
    """One heartbeat of every lease this process holds in this file."""
    leases = list(_heart(path).leases)
    if not leases:
        return
    try:
        db = sqlite3.connect(path, timeout=10)
    except sqlite3.Error:
        return  # the next beat may find it; the lease outlives several
    try:
        for lease in leases:
            lease.beat(db)
    except sqlite3.Error:
        pass
    finally:
        db.close()


_HEARTS: dict[Path, _Heart] = {}
_HEARTS_LOCK = threading.Lock()


def _heart(path: Path) -> _Heart:
    with _HEARTS_LOCK:
        heart = _HEARTS.get(path)
        if heart is None:
            heart = _HEARTS[path] = _Heart(path)
            heart.start()
        return heart
