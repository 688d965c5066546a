"""The SQLite store: every run's journal in one file.

Append-only, one chain of hashes a run. Write-ahead log: a commit survives the death of the process
(`synchronous=NORMAL`); with `durability="power"` also the loss of power (`FULL`).
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from roundsman.errors import JournalDamaged, LedgerError
from roundsman.ledger.database import connect, way_out
from roundsman.ledger.lease import lease_state
from roundsman.ledger.records import (
    FORGET,
    Record,
    RunInfo,
    chain,
    default_home,
    no_such_run,
    record_of,
)
from roundsman.ledger.schema import prepare

_INSERT = "insert into records values(?,?,?,?,?,?)"


class Store:
    """Journals of all runs, in one file; may be used from several threads.

    Raises:
        LedgerError: the folder is not writable, the file is no journal or is of a newer version.
    """

    def __init__(self, path: Path, durability: str = "process") -> None:
        self.path = path
        self._waiting: dict[str, list[tuple[str, int, str, float, str, str]]] = {}
        self._lock = threading.RLock()
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._db = connect(path)
            prepare(self._db, str(path), durability)
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(
                f"the journal {path} cannot be opened: {error}; {way_out(error)}"
            ) from error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                with suppress(sqlite3.Error):
                    self._db.rollback()
                raise LedgerError(
                    f"the journal {self.path} cannot be used: {error}; {way_out(error)}"
                ) from error

    def begin(self, run_id: str, started: float, question: str, policy: str, model: str) -> None:
        """Enter a new run; durable with its first record.

        Raises:
            LedgerError: the id is taken.
        """
        with self._errors():
            self._db.execute(
                "insert into runs(run_id, started, question, policy, model, status) "
                "values(?,?,?,?,?,'running')",
                (run_id, started, _clean(question), policy, model),
            )

    def append(self, run_id: str, seq: int, kind: str, at: float, body: str, digest: str) -> None:
        """Append a record; durable with the next `commit`.

        It waits in memory: an open transaction would keep every other process from writing for as
        long as the next tool takes.
        """
        with self._lock:
            waiting = self._waiting.setdefault(run_id, [])
            waiting.append((run_id, seq, kind, at, body, digest))

    def commit(self, run_id: str) -> None:
        """Make everything appended to this run so far durable.

        Raises:
            LedgerError: it could not be; what waited is given up, and other runs go on.
        """
        with self._errors():
            self._db.executemany(_INSERT, self._waiting.pop(run_id, ()))
            self._db.commit()

    def finish(self, run_id: str, status: str, rounds: int, usage: dict[str, Any]) -> None:
        """Note how the run stands; `status` is running, waiting, interrupted, done or stopped.

        One transaction with what was appended and not committed yet, and the lease is given up: a
        run is never half ended.
        """
        with self._errors():
            waiting = self._waiting.pop(run_id, [])
            self._db.executemany(_INSERT, waiting)
            if waiting:
                seal = f"{waiting[-1][1]} {waiting[-1][5]}"
                self._db.execute("update runs set tail=? where run_id=?", (seal, run_id))
            for table in ("leases", "stops"):
                self._db.execute(f"delete from {table} where run_id=?", (run_id,))
            self._db.execute(
                "update runs set status=?, ended=?, rounds=?, usage=? where run_id=?",
                (status, time.time(), rounds, json.dumps(usage), run_id),
            )
            self._db.commit()

    def request_stop(self, run_id: str, who: str) -> None:
        """Ask the process that has this run to end it; the first who asks is on record."""
        with self._errors():
            self._db.execute(
                "insert into stops(run_id, at, who) values(?,?,?) on conflict do nothing",
                (run_id, time.time(), who),
            )
            self._db.commit()

    def stop_request(self, run_id: str) -> tuple[float, str] | None:
        """When the run was asked to end, and by whom. Looked at before every call of the run."""
        with self._errors():
            row = self._db.execute("select at, who from stops where run_id=?", (run_id,)).fetchone()
        return None if row is None else (float(row[0]), str(row[1]))

    def save_report(self, run_id: str, report: dict[str, Any]) -> None:
        """Keep the report beside the journal."""
        with self._errors():
            self._db.execute(
                "update runs set report=? where run_id=?",
                (_clean(json.dumps(report, default=str)), run_id),
            )
            self._db.commit()

    def runs(self) -> list[RunInfo]:
        """All runs, newest first. Unfinished without a live lease is `interrupted`."""
        rows = self._db.execute(
            "select run_id, status, started, question, rounds, usage from runs "
            "order by started desc, rowid desc"
        ).fetchall()
        return [self._info(row) for row in rows]

    def ids(self) -> list[str]:
        """Ids of all runs, newest first; no journal is read for it."""
        rows = self._db.execute("select run_id from runs order by started desc, rowid desc")
        return [run_id for (run_id,) in rows]

    def _info(self, row: tuple[Any, ...]) -> RunInfo:
        run_id, status, started, question, rounds, usage = row
        if status != "running":
            return RunInfo(run_id, status, started, question, rounds, json.loads(usage))
        status = self._standing(run_id, status)
        try:
            usage, rounds = self._counted(run_id)
        except JournalDamaged as error:
            return RunInfo(run_id, status, started, question, rounds, {}, str(error))
        return RunInfo(run_id, status, started, question, rounds, usage)

    def _standing(self, run_id: str, status: str) -> str:
        """A run that says it is running and whose process is gone is interrupted."""
        if status != "running":
            return status
        lease = self._db.execute(
            "select pid, host, beat, start from leases where run_id=?", (run_id,)
        ).fetchone()
        return "running" if lease and lease_state(*lease) == "live" else "interrupted"

    def _counted(self, run_id: str) -> tuple[dict[str, Any], int]:
        from roundsman.ledger.fold import fold, usage_of

        account = fold(self.records(run_id))
        return usage_of(account), account.rounds

    def info(self, run_id: str) -> RunInfo:
        """One run.

        Raises:
            RunNotFound: there is none of that id.
        """
        row = self._db.execute(
            "select run_id, status, started, question, rounds, usage from runs where run_id=?",
            (run_id,),
        ).fetchone()
        if row is None:
            raise no_such_run(run_id, self.ids(), self.path)
        return self._info(row)

    def records(self, run_id: str) -> list[Record]:
        """The journal of a run, oldest first.

        Raises:
            JournalDamaged: a record is not JSON.
        """
        self.commit(run_id)
        with self._errors():
            rows = self._db.execute(
                "select seq, kind, at, body, hash from records where run_id=? order by seq",
                (run_id,),
            ).fetchall()
        return [record_of(run_id, row) for row in rows]

    def report(self, run_id: str) -> dict[str, Any] | None:
        """The saved report, or None when the run left none."""
        row = self._db.execute("select report from runs where run_id=?", (run_id,)).fetchone()
        if row is None:
            raise no_such_run(run_id, self.ids(), self.path)
        return json.loads(row[0]) if row[0] else None

    def verify(self, run_id: str) -> None:
        """Follow the chain of hashes.

        Raises:
            JournalDamaged: naming the first record that does not fit, or that the end is missing.
        """
        self.commit(run_id)
        with self._errors():
            rows = self._db.execute(
                "select seq, kind, at, body, hash from records where run_id=? order by seq",
                (run_id,),
            ).fetchall()
            tail = self._db.execute("select tail from runs where run_id=?", (run_id,)).fetchone()
        previous, expected = "", 1
        for seq, kind, at, body, digest in rows:
            if seq != expected or chain(previous, kind, at, body) != digest:
                raise JournalDamaged(
                    f"run {run_id}: record {seq} ({kind}) does not fit the chain; the records "
                    f"before it are whole; {FORGET}"
                )
            previous, expected = digest, expected + 1
        if tail and tail[0] and tail[0] != f"{expected - 1} {previous}":
            last = tail[0].split(" ")[0]
            raise JournalDamaged(
                f"run {run_id}: it ended with record {last}, the journal ends with record "
                f"{expected - 1}; what is there is whole, the rest is missing; {FORGET}"
            )

    def delete(self, run_id: str) -> None:
        """Forget a run and its journal.

        Raises:
            RunNotFound: there is none of that id.
        """
        row = self._db.execute("select status from runs where run_id=?", (run_id,)).fetchone()
        if row is None:
            raise no_such_run(run_id, self.ids(), self.path)
        if self._standing(run_id, row[0]) == "running":
            raise LedgerError(f"run {run_id} is running; stop it first (Ctrl-C in its terminal)")
        with self._errors():
            for table in ("records", "leases", "stops", "runs"):
                self._db.execute(f"delete from {table} where run_id=?", (run_id,))
            self._db.commit()

    @property
    def connection(self) -> sqlite3.Connection:
        """For the lease, which lives in the same file; use it holding `lock`."""
        return self._db

    @property
    def lock(self) -> threading.RLock:
        """Held by whoever uses the connection: tools run in threads."""
        return self._lock

    def close(self) -> None:
        """Commit and close."""
        for run_id in list(self._waiting):
            self.commit(run_id)
        with self._errors():
            self._db.close()


def _clean(text: str) -> str:
    """SQLite stores UTF-8: a lone surrogate (from a broken log line) becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def open_store(home: Path | None = None, durability: str = "process") -> Store:
    """The store under `home` (default: `default_home()`).

    Raises:
        LedgerError: it cannot be opened.
    """
    return Store((home or default_home()) / "runs.sqlite", durability)
