"""A real PostgreSQL server for the tests that need one, and a journal in each kind of store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from journals import Journal

from roundsman.drill.database_server import DatabaseServer, database_server
from roundsman.errors import DrillFailed, MissingDependency


@pytest.fixture(autouse=True)
def _no_database_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may keep journals of their own in a database."""
    monkeypatch.delenv("ROUNDSMAN_DB", raising=False)


@pytest.fixture(scope="session")
def postgres() -> Iterator[DatabaseServer]:
    """One server for all tests; skips when PostgreSQL is not installed."""
    try:
        server = database_server()
        started = server.__enter__()
    except (MissingDependency, DrillFailed) as error:
        pytest.skip(str(error))
    try:
        yield started
    finally:
        server.__exit__(None, None, None)


@pytest.fixture(params=["file", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    """An empty journal, in a file and in a database."""
    if request.param == "file":
        return Journal(tmp_path)
    server: DatabaseServer = request.getfixturevalue("postgres")
    return Journal(tmp_path, server.new_database())
