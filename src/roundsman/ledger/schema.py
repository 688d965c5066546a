"""The tables of the journal's file: made, brought up to date, or refused when they are newer."""

from __future__ import annotations

import sqlite3
import time

from roundsman.errors import LedgerError

SCHEMA_VERSION = 3
_TABLES = (
    """create table if not exists runs(
  run_id text primary key, started real not null, question text not null default '',
  policy text not null default '', model text not null default '', status text not null,
  ended real, rounds integer not null default 0, usage text not null default '{}', report text,
  tail text not null default '')""",
    """create table if not exists records(
  run_id text not null, seq integer not null, kind text not null, at real not null,
  body text not null, hash text not null, primary key(run_id, seq)) without rowid""",
    """create table if not exists leases(
  run_id text primary key, holder text not null, pid integer not null, host text not null,
  start text not null, since real not null, beat real not null)""",
    """create table if not exists stops(
  run_id text primary key, at real not null, who text not null)""",
)
_FROM_1 = (  # leases had no start of the process, runs no seal at the end
    "drop table leases",
    "alter table runs add column tail text not null default ''",
)
_PATIENCE_S = 10.0


def prepare(db: sqlite3.Connection, name: str, durability: str) -> None:
    """Make the file a journal of this version, in one transaction; several processes may begin.

    Raises:
        LedgerError: it is of a newer version.
        sqlite3.Error: it is no database, or cannot be written.
    """
    _write_ahead(db)
    db.execute(f"pragma synchronous={'full' if durability == 'power' else 'normal'}")
    if _version(db, name) == SCHEMA_VERSION:
        return
    db.execute("begin immediate")
    try:
        # Asked again: another process may have made the tables while this one waited to begin.
        if _version(db, name) == 1:
            for statement in _FROM_1:
                db.execute(statement)
        for statement in _TABLES:
            db.execute(statement)
        db.execute(f"pragma user_version={SCHEMA_VERSION}")
        db.commit()
    except BaseException:
        db.rollback()
        raise


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


def _version(db: sqlite3.Connection, name: str) -> int:
    (version,) = db.execute("pragma user_version").fetchone()
    if version > SCHEMA_VERSION:
        raise LedgerError(
            f"the journal {name} is of version {version}, this Roundsman reads "
            f"{SCHEMA_VERSION}; update Roundsman or set ROUNDSMAN_HOME to another folder"
        )
    return int(version)
