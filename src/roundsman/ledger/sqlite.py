"""The journal in a file: SQLite, with a write-ahead log.

A commit survives the death of the process (`synchronous=NORMAL`); with `durability="power"` also the
loss of power (`FULL`).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from roundsman.errors import LedgerError
from roundsman.ledger.database import RecordRow, Row
from roundsman.ledger.forks import known

_PATIENCE_S = 10.0
_INSERT = "insert into records values(?,?,?,?,?,?)"
_HELD = "select 1 from leases where run_id=? and holder=?"
_STOPS = "select 1 from stops where run_id=?"
_WHILE_HELD = tuple(
    f"insert into records select * from (values {','.join(['(?,?,?,?,?,?)'] * rows)}) "
    f"where exists ({_HELD})"
    for rows in range(1, 5)
)
"""Appends as many records as its place says (from 1), while the lease is held."""
_UNLESS_STOPPED = tuple(f"{sql} and not exists ({_STOPS})" for sql in _WHILE_HELD)
"""The same, and nobody has asked the run to stop."""


class SqliteDatabase:
    """One connection to one file; see `Database`."""

    clock = "((julianday('now') - 2440587.5) * 86400.0)"
    shared = False
    holding = ""
    dialect = {"number": "", "clustered": "without rowid"}  # noqa: RUF012
    elsewhere = "set ROUNDSMAN_HOME to another folder"

    def __init__(self, path: Path, durability: str = "process") -> None:
        self.path, self.name, self._durability = path, str(path), durability
        self.lock = threading.RLock()
        known(self.lock)
        synchronous = "full" if durability == "power" else "normal"
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self.lock:
                self._db = _connect(path)
                _write_ahead(self._db)
                self._db.execute(f"pragma synchronous={synchronous}")
        except (OSError, sqlite3.Error) as error:
            raise LedgerError(
                f"the journal {path} cannot be opened: {error}; {_way_out(error)}"
            ) from error

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with self.lock:
            try:
                yield
            except sqlite3.Error as error:
                raise self._told(error) from error

    def _told(self, error: sqlite3.Error) -> LedgerError:
        return LedgerError(f"the journal {self.path} cannot be used: {error}; {_way_out(error)}")

    def query(self, sql: str, args: Sequence[object] = ()) -> list[Row]:
        """See `Database`. Without `_errors`, as `journal`: a stop is looked for with every call."""
        with self.lock:
            try:
                return self._db.execute(sql, args).fetchall()
            except sqlite3.Error as error:
                raise self._told(error) from error

    def execute(self, sql: str, args: Sequence[object] = ()) -> int:
        """See `Database`."""
        with self._errors():
            return self._db.execute(sql, args).rowcount

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """See `Database`."""
        with self._errors():
            self._db.execute("begin immediate")
            try:
                yield
                self._db.commit()
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.rollback()
                raise

    def journal(
        self, rows: Sequence[RecordRow], holder: str | None, unless_stopped: bool = False
    ) -> bool:
        """See `Database`. One statement for the usual row or two: it is a transaction by itself, and
        SQLite takes the lock for writing at its beginning."""
        if holder is None or len(rows) > len(_WHILE_HELD):
            return self._in_pieces(rows, holder, unless_stopped)
        values = [value for row in rows for value in row] + [rows[0][0], holder]
        sql = _WHILE_HELD
        if unless_stopped:
            values.append(rows[0][0])
            sql = _UNLESS_STOPPED
        with self.lock:
            try:
                done = self._db.execute(sql[len(rows) - 1], values).rowcount
            except sqlite3.Error as error:
                raise self._told(error) from error
        return done == len(rows)

    def _in_pieces(
        self, rows: Sequence[RecordRow], holder: str | None, unless_stopped: bool
    ) -> bool:
        run_id = rows[0][0]
        with self.transaction():
            may = holder is None or self._db.execute(_HELD, (run_id, holder)).fetchone()
            if may and unless_stopped:
                may = not self._db.execute(_STOPS, (run_id,)).fetchone()
            if may:
                self._db.executemany(_INSERT, rows)
        return bool(may)

    def version(self) -> int:
        """See `Database`."""
        return int(self.query("pragma user_version")[0][0])

    def set_version(self, version: int) -> None:
        """See `Database`."""
        self.execute(f"pragma user_version={version:d}")

    def alone(self) -> None:
        """Nothing: a transaction keeps every other writer waiting."""

    def begin_schema(self) -> None:
        """Nothing: a transaction keeps every other writer waiting."""

    def another(self) -> SqliteDatabase:
        """See `Database`."""
        return SqliteDatabase(self.path, self._durability)

    def shrink(self) -> None:
        """See `Database`."""
        self.execute("vacuum")
        self.execute("pragma wal_checkpoint(truncate)")

    def close(self) -> None:
        """See `Database`."""
        with self._errors():
            self._db.close()


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file, for its owner only: it holds prompts, replies and results of tools.

    SQLite gives the files beside it (-wal, -shm) the mode of the file itself. One that exists keeps
    what somebody gave it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return sqlite3.connect(path, timeout=_PATIENCE_S, check_same_thread=False, isolation_level=None)


def _write_ahead(db: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; SQLite gives up at once when two do so, without its timeout.

    Source: the documentation of `sqlite3_busy_handler`, which is not invoked where waiting could
    be a deadlock, as when a read lock has to become an exclusive one.
    """
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            db.execute("pragma journal_mode=wal")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _way_out(error: Exception) -> str:
    """What a person can do about an error of the database."""
    text = str(error)
    if "not a database" in text or "malformed" in text:
        return "move that file away, or set ROUNDSMAN_HOME to another folder"
    if "locked" in text:
        return "another process is writing to it for long; wait for it or end it"
    if "UNIQUE" in text:
        return "another process has written to this run; see: roundsman runs list"
    return "set ROUNDSMAN_HOME to a folder that can be written and has room"
