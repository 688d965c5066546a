"""The tables of the journal: made, brought up to date, or refused when they are newer.

Statements are shared by both databases; a word in braces stands for what they say differently.
"""

from __future__ import annotations

from roundsman.errors import LedgerError
from roundsman.ledger.database import Database

SCHEMA_VERSION = 6
_TABLES = (
    """create table if not exists runs(
  run_id text primary key, started double precision not null, question text not null default '',
  policy text not null default '', model text not null default '', status text not null,
  ended double precision, rounds integer not null default 0, usage text not null default '{{}}',
  report text, tail text not null default ''{number})""",
    """create table if not exists records(
  run_id text not null, seq integer not null, kind text not null, at double precision not null,
  body text not null, hash text not null, primary key(run_id, seq)) {clustered}""",
    """create table if not exists leases(
  run_id text primary key, holder text not null, pid integer not null, host text not null,
  start text not null, since double precision not null, beat double precision not null,
  stop integer not null default 0)""",
    """create table if not exists stops(
  run_id text primary key, at double precision not null, who text not null)""",
    """create table if not exists spent(
  run_id text primary key, day integer not null, tokens bigint not null)""",
    """create table if not exists expected(
  run_id text primary key, at double precision not null, question text not null,
  why text not null default '')""",
    """create table if not exists settings(name text primary key, value text not null)""",
)
_CHANGES: dict[int, tuple[str, ...]] = {  # by the version they lead away from
    1: (  # leases had no start of the process, runs no seal at the end
        "drop table leases",
        "create table leases(run_id text primary key, holder text not null, pid integer not null, "
        "host text not null, start text not null, since double precision not null, "
        "beat double precision not null)",
        "alter table runs add column tail text not null default ''",
    ),
    5: ("alter table leases add column stop integer not null default 0",),
}


def prepare(db: Database) -> None:
    """Make it a journal of this version, in one transaction; several processes may begin.

    Raises:
        LedgerError: it is of a newer version, or cannot be used.
    """
    if _version(db) == SCHEMA_VERSION:
        return
    with db.transaction():
        db.begin_schema()
        # Asked again: another process may have made the tables while this one waited to begin.
        found = _version(db)
        if found == SCHEMA_VERSION:
            return
        for version in range(found or SCHEMA_VERSION, SCHEMA_VERSION):
            for statement in _CHANGES.get(version, ()):
                db.execute(statement)
        for statement in _TABLES:
            db.execute(statement.format(**db.dialect))
        db.set_version(SCHEMA_VERSION)


def _version(db: Database) -> int:
    version = db.version()
    if version > SCHEMA_VERSION:
        raise LedgerError(
            f"the journal {db.name} is of version {version}, this Roundsman reads "
            f"{SCHEMA_VERSION}; update Roundsman or {db.elsewhere}"
        )
    return version
