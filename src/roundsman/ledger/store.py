"""The store: every run's journal in one database, a file or PostgreSQL.

Append-only, one chain of hashes a run. What differs between the databases is in `database.py`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roundsman.errors import LedgerError
from roundsman.ledger.database import Database, RecordRow
from roundsman.ledger.lease import Lease
from roundsman.ledger.reading import Reads
from roundsman.ledger.records import storable
from roundsman.ledger.schema import prepare
from roundsman.ledger.sqlite import SqliteDatabase

_INSERT = "insert into records values(?,?,?,?,?,?)"


class Store(Reads):
    """Journals of all runs, in one database; may be used from several threads.

    Args:
        where: a file, or a database that is open.
        durability: of a file: `process` (a commit survives the process) or `power`.

    Raises:
        LedgerError: the folder is not writable, the file is no journal, the server cannot be
            reached, or it is of a newer version.
    """

    def __init__(self, where: Path | Database, durability: str = "process") -> None:
        self.db = SqliteDatabase(where, durability) if isinstance(where, Path) else where
        self.name = self.db.name
        self._waiting: dict[str, list[RecordRow]] = {}
        self._opening: dict[str, list[tuple[str, Sequence[object]]]] = {}
        self._entering: dict[str, Lease] = {}
        self._holders: dict[str, str] = {}
        prepare(self.db)

    def begin(
        self,
        run_id: str,
        started: float,
        question: str,
        policy: str,
        model: str,
        lease: Lease | None = None,
    ) -> None:
        """Enter a new run and its lease; durable with its first record, whose `commit` raises
        LedgerError when the id is taken."""
        row = (run_id, started, storable(question), policy, storable(model))
        with self.db.lock:
            self._opening[run_id] = [
                (
                    "insert into runs(run_id, started, question, policy, model, status) "
                    "values(?,?,?,?,?,'running')",
                    row,
                )
            ]
            gone = ("delete from expected where run_id=?", (run_id,))
            self._opening[run_id].append(gone)
            if lease is not None:
                self._opening[run_id].append(lease.entry())
                self._entering[run_id] = lease
                self.held(run_id, lease.holder)

    def held(self, run_id: str, holder: str) -> None:
        """From now on this run's records are appended only while this holder has its lease."""
        self._holders[run_id] = holder

    def append(self, run_id: str, seq: int, kind: str, at: float, body: str, digest: str) -> None:
        """Append a record; durable with the next `commit`.

        It waits in memory: an open transaction would keep every other process from writing for as
        long as the next tool takes.
        """
        with self.db.lock:
            waiting = self._waiting.setdefault(run_id, [])
            waiting.append((run_id, seq, kind, at, body, digest))

    def begin_unless_stopped(self, run_id: str) -> bool:
        """As `commit`, if nobody has asked the run to stop. Otherwise the record appended last is taken
        back, and False is said: what it was the intent of must not begin.

        Raises:
            LedgerError: as `commit`.
        """
        with self.db.lock:
            rows = self._waiting.pop(run_id, [])
            if run_id in self._opening or not rows:
                self._waiting[run_id] = rows
                self.commit(run_id)
                return True
            if self.db.journal(rows, self._holders.get(run_id), unless_stopped=True):
                return True
            if self.stop_request(run_id) is None:
                raise LedgerError(taken(run_id))
            self._waiting[run_id] = rows[:-1]
            return False

    def commit(self, run_id: str) -> None:
        """Make everything appended to this run so far durable.

        Raises:
            LedgerError: it could not be, or another process has the run now; what waited is given
                up, and other runs go on.
        """
        if not self._write(run_id):
            raise LedgerError(taken(run_id))

    def _write(self, run_id: str) -> bool:
        """False: somebody else has the run."""
        with self.db.lock:
            rows = self._waiting.pop(run_id, ())
            opening = self._opening.pop(run_id, ())
            lease = self._entering.pop(run_id, None)
            if not opening:
                return not rows or self.db.journal(rows, self._holders.get(run_id))
            with self.db.transaction():
                for sql, args in opening:
                    self.db.execute(sql, args)
                for row in rows:
                    self.db.execute(_INSERT, row)
            if lease is not None:
                lease.keep()
            return True

    def finish(self, run_id: str, status: str, rounds: int, usage: dict[str, Any]) -> None:
        """Note how the run stands; `status` is running, waiting, interrupted, done or stopped.

        One transaction with what was appended and not committed yet, and the lease is given up: a
        run is never half ended.

        Raises:
            LedgerError: as `commit`.
        """
        with self.db.lock:
            waiting = self._waiting.pop(run_id, [])
            holder = self._holders.get(run_id)
            with self.db.transaction():
                self.db.execute(  # first, as whoever takes a run or asks it to stop: see `Lease.take`
                    "update runs set status=?, ended=?, rounds=?, usage=? where run_id=?",
                    (status, time.time(), rounds, json.dumps(usage), run_id),
                )
                held = "select 1 from leases where run_id=? and holder=?" + self.db.holding
                if holder is not None and not self.db.query(held, (run_id, holder)):
                    raise LedgerError(taken(run_id))
                for row in waiting:
                    self.db.execute(_INSERT, row)
                if waiting:
                    seal = f"{waiting[-1][1]} {waiting[-1][5]}"
                    self.db.execute("update runs set tail=? where run_id=?", (seal, run_id))
                for table in ("leases", "stops"):
                    self.db.execute(f"delete from {table} where run_id=?", (run_id,))
            self._holders.pop(run_id, None)

    def request_stop(self, run_id: str, who: str) -> None:
        """Ask the process that has this run to end it; the first who asks is on record.

        From its return on no intent of the run is entered: what is being entered meanwhile is waited for.
        """
        with self.db.transaction():
            for table in ("expected", "runs"):  # who begins or takes the run at this moment
                self.db.execute(f"update {table} set run_id=run_id where run_id=?", (run_id,))
            self.db.execute("update leases set stop=1 where run_id=?", (run_id,))
            self.db.execute(
                "insert into stops(run_id, at, who) values(?,?,?) on conflict do nothing",
                (run_id, time.time(), storable(who)),
            )

    def withdraw_stop(self, run_id: str) -> None:
        """The run has ended: nobody asks it to any more."""
        with self.db.transaction():
            self.db.execute("update leases set stop=0 where run_id=?", (run_id,))
            self.db.execute("delete from stops where run_id=?", (run_id,))

    def stop_request(self, run_id: str) -> tuple[float, str] | None:
        """When the run was asked to end, and by whom. Looked at before every call of the run."""
        rows = self.db.query("select at, who from stops where run_id=?", (run_id,))
        return (float(rows[0][0]), str(rows[0][1])) if rows else None

    def save_report(self, run_id: str, report: dict[str, Any]) -> None:
        """Keep the report beside the journal."""
        text = storable(json.dumps(report, default=str))
        self.db.execute("update runs set report=? where run_id=?", (text, run_id))

    def delete(self, run_id: str) -> None:
        """Forget a run and its journal.

        Raises:
            RunNotFound: there is none of that id.
        """
        with self.db.transaction():
            (status,) = self._row("select status from runs where run_id=?", run_id)
            if self._standing(run_id, status) == "running":
                raise LedgerError(
                    f"run {run_id} is running; stop it first (Ctrl-C in its terminal)"
                )
            for table in ("runs", "records", "leases", "stops"):
                self.db.execute(f"delete from {table} where run_id=?", (run_id,))

    @property
    def lock(self) -> threading.RLock:
        """Held by whoever does several things with the store that belong together."""
        return self.db.lock

    def close(self) -> None:
        """Commit and close. What waits of a run that another process has now is given up."""
        try:
            for run_id in {**self._opening, **self._waiting}:
                self._write(run_id)
        finally:
            self.db.close()


def taken(run_id: str) -> str:
    """What a process is told that lost its run."""
    return f"run {run_id} has been taken up by another process; this one does nothing more"
