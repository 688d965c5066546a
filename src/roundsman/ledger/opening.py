"""Which store a process uses."""

from __future__ import annotations

import os
from pathlib import Path

from roundsman.ledger.records import default_home
from roundsman.ledger.store import Store


def open_store(home: Path | None = None, durability: str = "process") -> Store:
    """The store under `home`; without it what `$ROUNDSMAN_DB` names, else under `default_home()`.

    Raises:
        LedgerError: it cannot be opened.
        UsageError: `$ROUNDSMAN_DB` is no URL of a PostgreSQL database.
        MissingDependency: the driver is not installed.
    """
    url = os.environ.get("ROUNDSMAN_DB", "").strip()
    if home is None and url:
        from roundsman.ledger.postgres import PostgresDatabase
        from roundsman.ledger.postgres_url import address_of

        return Store(PostgresDatabase(address_of(url)))
    return Store((home or default_home()) / "runs.sqlite", durability)
