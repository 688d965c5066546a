"""PostgreSQL by itself on loopback, for whoever needs a real server for a while."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from roundsman.drill.backends.postgres import Postgres
from roundsman.drill.ports import Ports
from roundsman.drill.programs import find_all
from roundsman.drill.supervisor import Process, Supervisor


@dataclass
class DatabaseServer:
    """A server that runs. `url` of a database of it."""

    postgres: Postgres
    supervisor: Supervisor
    process: Process
    made: int = 0

    def url(self, database: str = "postgres") -> str:
        """Where a client connects to; no password is asked for."""
        return f"postgresql://{self.postgres.superuser}@127.0.0.1:{self.postgres.port}/{database}"

    def new_database(self) -> str:
        """The URL of a database nobody has used."""
        self.made += 1
        self.postgres.run(f"create database d{self.made} template template0")
        return self.url(f"d{self.made}")

    def copy_of(self, url: str) -> str:
        """The URL of a new database with all that is in this one, which nobody is connected to."""
        self.made += 1
        source = url.rpartition("/")[2]
        self.postgres.run(f"create database d{self.made} template {source}")
        return self.url(f"d{self.made}")


@contextmanager
def database_server(connections: int = 100) -> Iterator[DatabaseServer]:
    """A server with a folder of its own; both are gone on the way out.

    Raises:
        MissingDependency: PostgreSQL is not installed.
        DrillFailed: it did not come up.
    """
    programs = find_all(("postgres", "initdb", "setpriv"))
    ports = Ports()
    with tempfile.TemporaryDirectory(prefix="roundsman-db-") as name, Supervisor() as supervisor:
        folder = Path(name)
        folder.chmod(0o755)  # the server runs under an account of its own
        postgres = Postgres(
            programs, folder / "postgres", ports.take(), folder / "log", connections
        )
        postgres.create()
        process = supervisor.start(postgres.spec())
        supervisor.wait_ready(process)
        ports.release()
        yield DatabaseServer(postgres, supervisor, process)
