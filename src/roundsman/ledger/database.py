"""What the journal asks of the database that holds it. `sqlite.py` and `postgres.py` are the two.

SQL is shared: `?` stands for a value, and only what both databases understand alike is used. What
they do not is an attribute here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from threading import RLock
from typing import Any, Protocol

Row = tuple[Any, ...]
RecordRow = tuple[str, int, str, float, str, str]
"""run_id, seq, kind, at, body, hash"""


class Database(Protocol):
    """One connection; may be used from several threads.

    Every method raises LedgerError when the database cannot be used, with one line that never shows
    a password.
    """

    name: str
    """What people know it by: a file, or a URL without its password."""
    clock: str
    """SQL: seconds since the epoch, by the clock of everybody who shares this database."""
    shared: bool
    """Whether other machines may use it: a host of our name may then be another machine."""
    holding: str
    """SQL at the end of a query: keep the rows from being changed until the transaction ends."""
    dialect: dict[str, str]
    """What the words in braces in the statements of `schema.py` stand for."""
    elsewhere: str
    """How a person chooses another one."""
    lock: RLock
    """Held by whoever does several things that belong together."""

    def query(self, sql: str, args: Sequence[object] = ()) -> list[Row]:
        """The rows of a query; inside of `transaction` they are of that transaction."""
        ...

    def execute(self, sql: str, args: Sequence[object] = ()) -> int:
        """Carry out a statement, at once or as part of `transaction`; how many rows it touched."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All statements inside or none; it waits for other writers at its beginning."""
        ...

    def journal(
        self, rows: Sequence[RecordRow], holder: str | None, unless_stopped: bool = False
    ) -> bool:
        """Append records of one run, durable on return: the hot path.

        Args:
            rows: at least one, all of the same run.
            holder: append only while this holder has the run's lease. None: whoever has it.
            unless_stopped: append only while nobody has asked the run to stop.

        Returns False, and appends nothing, when that is not so.
        """
        ...

    def version(self) -> int:
        """The version of the tables, 0 when there are none."""
        ...

    def set_version(self, version: int) -> None:
        """Note the version; part of the transaction that makes the tables."""
        ...

    def alone(self) -> None:
        """Nobody else passes this until the transaction ends."""
        ...

    def begin_schema(self) -> None:
        """At the beginning of the transaction that makes the tables: keep others from it."""
        ...

    def another(self) -> Database:
        """A connection of its own to the same database, for another thread."""
        ...

    def shrink(self) -> None:
        """Give the room of what was deleted back to the disk, where that does not go by itself."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
