"""A run belongs to one process: a lease with a heartbeat.

On the same host a process is told by its pid and when it started (a pid is used again after a
restart, and is always small in a container); on another host only the heartbeat tells. The heart
beats in a thread of its own: a model call may take longer than the lease lives.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from roundsman.errors import LeaseHeld, LedgerError
from roundsman.ledger.database import Database

TTL = 60.0
"""Seconds without a heartbeat after which a lease of another host counts as dead."""
BEAT = TTL / 4
"""Seconds between two heartbeats."""


def process_start(pid: int) -> str:
    """When a process of this host started, as the system says it; empty when it does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    return f"{boot}:{_process_ids()}{stat.rpartition(')')[2].split()[19]}"


def _process_ids() -> str:
    """Whose process ids these are: two containers of one machine each have their own."""
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]") + ":"
    except OSError:
        return ""


def lease_state(pid: int, host: str, age: float, start: str = "", *, shared: bool = False) -> str:
    """`live` or `dead`: whether the process that took the lease still runs.

    Args:
        age: seconds since its last heartbeat, by the clock of the database.
        start: what `process_start` said of it.
        shared: other machines use the database, and one of them may have our name. Only a process
            of this very system (its boot, its process ids) is looked for then.
    """
    fresh = age < TTL
    if host != socket.gethostname() or (shared and not _here(start)):
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


def _here(start: str) -> bool:
    """Whether a process that started so is of the system this one is of."""
    own = process_start(os.getpid())
    return bool(own) and own.rpartition(":")[0] == start.rpartition(":")[0]


class Lease:
    """Held from `take` (or `entry`) until the run is over or it is released.

    Heartbeats are of the database's clock, so that machines whose clocks differ agree.

    Args:
        lost: called from the heart's thread when another process has the lease now.
    """

    def __init__(self, db: Database, run_id: str, lost: Callable[[], None]) -> None:
        self._db, self._run = db, run_id
        self._lost = weakref.WeakMethod(lost) if hasattr(lost, "__self__") else lambda: lost
        self.holder = uuid.uuid4().hex

    def take(self) -> None:
        """Take the lease.

        Raises:
            LeaseHeld: another live process holds it; names it, its host and since when.
            LedgerError: the database cannot be used.
        """
        db = self._db
        with db.transaction():
            # changes nothing; of two that take the run at once the second waits here
            db.execute("update runs set status=status where run_id=?", (self._run,))
            rows = db.query(
                f"select pid, host, {db.clock} - beat, start, since from leases where run_id=?",
                (self._run,),
            )
            if rows:
                *process, since = rows[0]
                if lease_state(*process, shared=db.shared) == "live":
                    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since))
                    raise LeaseHeld(
                        f"run {self._run} is held by process {process[0]} on {process[1]} since "
                        f"{when}; wait for it, or end that process"
                    )
            db.execute(*self.entry())
        self.keep()

    def entry(self) -> tuple[str, Sequence[object]]:
        """The statement that enters the lease, for a run nobody else can know yet; `keep` it then."""
        pid = os.getpid()
        start = _STARTS.get(pid)  # a child of fork is another process
        if start is None:
            start = _STARTS[pid] = process_start(pid)
        return (
            "insert into leases(run_id, holder, pid, host, start, since, beat) "
            f"values(?,?,?,?,?,{self._db.clock},{self._db.clock}) "
            "on conflict(run_id) do update set holder=excluded.holder, pid=excluded.pid, "
            "host=excluded.host, start=excluded.start, since=excluded.since, beat=excluded.beat",
            (self._run, self.holder, pid, socket.gethostname(), start),
        )

    def keep(self) -> None:
        """From now on the heart beats for it. Once it is entered for all to see, not before: a heart that
        does not find it takes it for one that another process has taken."""
        with _HEARTS_LOCK:
            _heart(self._db.name).leases.add(self)

    def beat(self, db: Database) -> None:
        """Renew; tell the run when another process has taken it."""
        found = db.execute(
            f"update leases set beat={db.clock} where run_id=? and holder=?",
            (self._run, self.holder),
        )
        if found == 0 and (lost := self._lost()) is not None and self._is_kept():
            lost()

    def _is_kept(self) -> bool:
        with _HEARTS_LOCK:
            heart = _HEARTS.get(self._db.name)
            return heart is not None and self in heart.leases

    def let_go(self) -> None:
        """The run is over or somebody else's: no more heartbeats."""
        with _HEARTS_LOCK:
            if (heart := _HEARTS.get(self._db.name)) is not None:
                heart.leases.discard(self)

    def release(self) -> None:
        """Let go of a run that is not over, for another process to take up."""
        self.let_go()
        self._db.execute(_RELEASE, (self._run, self.holder))

    def abandon(self) -> None:
        """As `release`, when the database may be out of reach: then by the heart, once it is back."""
        try:
            self.release()
        except LedgerError:
            with _HEARTS_LOCK:
                _heart(self._db.name).abandoned.append((self._db, self._run, self.holder))


def is_held(db: Database, name: str) -> bool:
    """Whether a live process has the lease of this name."""
    rows = db.query(
        f"select pid, host, {db.clock} - beat, start from leases where run_id=?", (name,)
    )
    return bool(rows) and lease_state(*rows[0], shared=db.shared) == "live"


class _Heart(threading.Thread):
    """Beats for the leases of one database, and ends with the last of them.

    It keeps no database itself, only its leases do: one that its user drops is closed.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name="roundsman-heart", daemon=True)
        self.leases: weakref.WeakSet[Lease] = weakref.WeakSet()
        self.abandoned: list[tuple[Database, str, str]] = []
        """Database, run and holder of what could not be given back yet."""
        self._database = name

    def run(self) -> None:
        while True:
            time.sleep(BEAT)
            self.beat()
            with _HEARTS_LOCK:
                if not self.leases and not self.abandoned:
                    if _HEARTS.get(self._database) is self:
                        del _HEARTS[self._database]
                    return

    def beat(self) -> None:
        """One heartbeat of every lease, and another try for what was abandoned."""
        with _HEARTS_LOCK:
            leases, left = list(self.leases), list(self.abandoned)
        of = [one._db for one in leases] or [db for db, _, _ in left]
        if not of:
            return
        try:
            own = of[0].another()
        except LedgerError:
            return  # the next beat may find it; the lease outlives several
        try:
            for one in left:
                own.execute(_RELEASE, one[1:])
                with suppress(ValueError):  # by another beat
                    self.abandoned.remove(one)
            for lease in leases:
                lease.beat(own)
        except LedgerError:
            pass
        finally:
            with suppress(LedgerError):
                own.close()


def beat_all(db: Database) -> None:
    """One heartbeat of every lease this process holds in this database."""
    with _HEARTS_LOCK:
        heart = _HEARTS.get(db.name)
    if heart is not None:
        heart.beat()


_RELEASE = "delete from leases where run_id=? and holder=?"
_STARTS: dict[int, str] = {}
"""When this process started, by its id."""
_HEARTS: dict[str, _Heart] = {}
_HEARTS_LOCK = threading.Lock()
"""Held for a moment by whoever looks at the hearts, and by a heart that may end."""


def _heart(name: str) -> _Heart:
    """The heart of a database; a new one where there is none. For whoever holds the lock."""
    heart = _HEARTS.get(name)
    if heart is None:
        heart = _HEARTS[name] = _Heart(name)
        heart.start()
    return heart


def _afresh() -> None:
    """Threads do not come along in a fork, and no more do their leases; the lock may have been held."""
    global _HEARTS_LOCK
    _HEARTS_LOCK = threading.Lock()
    _HEARTS.clear()
    _STARTS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_afresh)
