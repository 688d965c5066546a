"""The journal in PostgreSQL, for several machines (extra `postgres`).

Tables live in a schema of their own, `roundsman`. A commit is as durable as the server's
`synchronous_commit` makes it. A connection that died is opened anew for whatever comes next; the run
in whose middle it died is not gone on with (see `LiveRun`), since nobody knows whether its last
commit arrived.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from roundsman.errors import LedgerError, MissingDependency
from roundsman.ledger.database import RecordRow, Row
from roundsman.ledger.postgres_url import Address

if TYPE_CHECKING:
    import psycopg

_SCHEMA = "roundsman"
_SESSION = f"select set_config('search_path', '{_SCHEMA}', false), \
set_config('lock_timeout', '10s', false)"
_ALONE = 726_175_644  # any number, the same in every process: the key of an advisory lock
_DEFAULTS: dict[str, Any] = {
    "application_name": "roundsman",
    "connect_timeout": 10,
    # a network that goes away without a word is noticed in half a minute, not in hours
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
# One statement, so that a commit is one way to the server and back. The lease's row is held until
# it ends: who takes the run over waits, and then reads all that was written. The word that the run
# shall stop is in that row, too: a statement that waited for it reads it anew, and no other table.
_JOURNAL = """with held as materialized (
  select 1 from leases
  where run_id = %s and (%s::text is null or holder = %s::text){} for share)
insert into records
select * from unnest(%s::text[], %s::int[], %s::text[], %s::float8[], %s::text[], %s::text[])
where (%s::text is null or exists (select 1 from held))"""
_WHOEVER_ASKS = _JOURNAL.format("")
_UNLESS_STOPPED = (
    f"{_JOURNAL.format(' and stop = 0')} and not exists (select 1 from stops where run_id = %s)"
)


class PostgresDatabase:
    """One connection to one database; see `Database`."""

    clock = "extract(epoch from clock_timestamp())::float8"
    shared = True
    holding = " for share"
    dialect = {  # noqa: RUF012
        "number": ", rowid bigint generated always as identity",
        "clustered": "",
    }
    elsewhere = "set ROUNDSMAN_DB to another database"

    def __init__(self, address: Address) -> None:
        self._address, self.name = address, address.shown
        self.lock = threading.RLock()
        self._db: psycopg.Connection | None = None
        self._inside = False
        with self._errors("opened"):
            self._open()

    def _open(self) -> psycopg.Connection:
        if self._db is not None and not self._db.closed:
            return self._db
        self._db = None
        db: psycopg.Connection = _driver().connect(
            **(_DEFAULTS | self._address.parameters), autocommit=True
        )
        try:
            db.execute(_SESSION)
        except BaseException:
            db.close()
            raise
        self._db = db
        return db

    @contextmanager
    def _errors(self, done: str = "used") -> Iterator[None]:
        psycopg = _driver()
        with self.lock:
            try:
                yield
            except psycopg.Error as error:
                if self._db is not None and (self._db.broken or self._db.closed):
                    with suppress(psycopg.Error):
                        self._db.close()
                    self._db = None
                raise LedgerError(
                    f"the journal {self.name} cannot be {done}: {self._address.explain(error)}"
                ) from None  # the driver's own error may hold what must not be shown

    def _run(self, sql: str, args: Sequence[object]) -> psycopg.Cursor[Row]:
        db = self._db if self._inside and self._db is not None else self._open()
        return db.execute(_translated(sql), args or None)

    def query(self, sql: str, args: Sequence[object] = ()) -> list[Row]:
        """See `Database`."""
        with self._errors():
            return self._run(sql, args).fetchall()

    def execute(self, sql: str, args: Sequence[object] = ()) -> int:
        """See `Database`."""
        with self._errors():
            return self._run(sql, args).rowcount

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """See `Database`."""
        with self._errors(), self._open().transaction():
            self._inside = True
            try:
                yield
            finally:
                self._inside = False

    def journal(
        self, rows: Sequence[RecordRow], holder: str | None, unless_stopped: bool = False
    ) -> bool:
        """See `Database`."""
        columns = [list(column) for column in zip(*rows, strict=True)]
        sql, args = _WHOEVER_ASKS, [rows[0][0], holder, holder, *columns, holder]
        if unless_stopped:
            sql, args = _UNLESS_STOPPED, [*args, rows[0][0]]
        with self._errors():
            return self._open().execute(sql, args).rowcount == len(rows)

    def version(self) -> int:
        """See `Database`."""
        if self.query("select to_regclass('roundsman.version')") == [(None,)]:
            return 0
        return max((int(row[0]) for row in self.query("select version from version")), default=0)

    def may_begin(self) -> bool:
        """Whether this user may make the tables, as far as can be told without making them."""
        return self.query(
            "select case when to_regnamespace('roundsman') is null "
            "then has_database_privilege(current_database(), 'create') "
            "else has_schema_privilege('roundsman', 'create') end"
        ) == [(True,)]

    def set_version(self, version: int) -> None:
        """See `Database`."""
        self.execute("delete from version")
        self.execute("insert into version values(?)", (version,))

    def alone(self) -> None:
        """See `Database`."""
        self.query("select pg_advisory_xact_lock(?)", (_ALONE,))

    def begin_schema(self) -> None:
        """See `Database`; the schema may have been made by an administrator."""
        self.alone()
        if self.query("select to_regnamespace('roundsman')") == [(None,)]:
            self.execute(f"create schema {_SCHEMA}")
        self.execute("create table if not exists version(version integer not null)")

    def another(self) -> PostgresDatabase:
        """See `Database`."""
        return PostgresDatabase(self._address)

    def shrink(self) -> None:
        """Nothing: the server's own vacuum does it."""

    def close(self) -> None:
        """See `Database`."""
        with self._errors():
            if self._db is not None:
                self._db.close()
            self._db = None


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MissingDependency(
            "ROUNDSMAN_DB names a PostgreSQL database, which needs a driver; "
            "pip install 'roundsman[postgres]'"
        ) from error
    return psycopg


@functools.cache
def _translated(sql: str) -> bytes:
    """The driver's sign for a value is %s."""
    return sql.replace("?", "%s").encode()
