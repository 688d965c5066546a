"""Where DBOS keeps the queue: beside the journal, in the same database or folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from roundsman.errors import LedgerError, MissingDependency
from roundsman.ledger import default_home

if TYPE_CHECKING:
    from sqlalchemy import Engine

BUSY_MS = 30_000
"""How long a statement waits for another process that writes to the queue's file; as DBOS has it."""


def system_url() -> str:
    """The queue's database. It holds a password where there is one: never for a text."""
    need()
    import sqlalchemy

    url = os.environ.get("ROUNDSMAN_DB", "").strip()
    if not url:
        home = default_home()
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = home / "queue.sqlite"
        with suppress(FileExistsError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        made = sqlalchemy.URL.create("sqlite", database=str(file))
        return str(made.render_as_string(hide_password=False))
    from roundsman.ledger.postgres_url import address_of

    given: dict[str, Any] = dict(address_of(url).parameters)
    parts = {
        "username": given.pop("user", None),
        "password": given.pop("password", None),
        "host": given.pop("host", None),
        "port": int(given.pop("port", 0)) or None,
        "database": given.pop("dbname", None) or "postgres",
    }
    made = sqlalchemy.URL.create("postgresql+psycopg", **parts, query=given)
    return str(made.render_as_string(hide_password=False))


def engine_of(url: str) -> Engine | None:
    """What a worker reaches the queue in a file through; None on a server, where DBOS has its own.

    Of its own accord DBOS counts the jobs under way and takes the next in a file without a
    transaction around both (Python's sqlite3 begins one with the first statement that writes), so two
    workers that count at the same moment would take more than `at_once`. Here each transaction begins
    before its first statement, and for writing at once, as one that read first could not become one
    that writes when another did meanwhile.

    The queue must have been migrated: DBOS begins a transaction of its own kind to do so.
    """
    import sqlalchemy

    if not url.startswith("sqlite"):
        return None
    made = sqlalchemy.create_engine(url)

    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute(f"pragma busy_timeout={BUSY_MS}")
        connection.execute("pragma foreign_keys=on")

    def begun(connection: Any) -> None:
        connection.exec_driver_sql("begin immediate")

    sqlalchemy.event.listen(made, "connect", connected)
    sqlalchemy.event.listen(made, "begin", begun)
    return made


def need() -> Any:
    """DBOS, quiet.

    Raises:
        MissingDependency: it is not installed.
    """
    import logging

    try:
        import dbos
    except ImportError as error:
        raise MissingDependency("workers need a queue; pip install 'roundsman[worker]'") from error
    logging.getLogger("dbos").setLevel(logging.CRITICAL)  # its errors are told by whoever calls it
    return dbos


@contextmanager
def told() -> Iterator[None]:
    """Errors of the queue's database as one line of ours.

    Raises:
        LedgerError: it cannot be used.
    """
    dbos = need()
    import sqlalchemy.exc

    try:
        yield
    except (sqlalchemy.exc.SQLAlchemyError, dbos.error.DBOSException, OSError) as error:
        raise LedgerError(f"the queue cannot be used: {_explain(error)}") from None


def _explain(error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    url = os.environ.get("ROUNDSMAN_DB", "").strip()
    if url:
        from roundsman.ledger.postgres_url import address_of

        return address_of(url).explain(cause)
    text = " ".join(str(cause).split())[:300]
    return f"{text}; set ROUNDSMAN_HOME to a folder that can be written and has room"
