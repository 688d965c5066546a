"""A real PostgreSQL server for the tests that need one, and a journal in each kind of store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from journals import Journal

from roundsman.drill.database_server import DatabaseServer, database_server
from roundsman.errors import DrillFailed, MissingDependency

# The same examples on every machine, and no clock: a busy one is no fault of the code. To look for new
# ones: pytest --hypothesis-profile=explore
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", settings.get_profile("explore"), derandomize=True)
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def _nothing_of_the_users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whoever runs the tests has a journal, an incident or a model server of their own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("ROUNDSMAN_") and name != "ROUNDSMAN_DRILLS":
                patch.delenv(name)
        patch.setenv("ROUNDSMAN_HOME", str(tmp_path_factory.mktemp("home")))
        yield


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
