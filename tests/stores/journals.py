"""Where a journal is: a file or a PostgreSQL database, for tests that hold for both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from roundsman.ledger import Store
from roundsman.ledger.postgres import PostgresDatabase
from roundsman.ledger.postgres_url import address_of


@dataclass(frozen=True)
class Journal:
    """One place; opened as often as a test likes. `url` is empty for a file."""

    home: Path
    url: str = ""

    def open(self) -> Store:
        """A store with a connection of its own."""
        if self.url:
            return Store(PostgresDatabase(address_of(self.url)))
        return Store(self.home / "runs.sqlite")

    @property
    def env(self) -> dict[str, str]:
        """What names it to a process."""
        return {"ROUNDSMAN_HOME": str(self.home), "ROUNDSMAN_DB": self.url}

    def damage(self, sql: str) -> int:
        """Change it behind everybody's back."""
        store = self.open()
        try:
            return store.db.execute(sql)
        finally:
            store.close()
