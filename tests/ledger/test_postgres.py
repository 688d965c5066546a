"""PostgreSQL as the journal: what is told, what is never shown, and a connection that dies."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from journals import Journal

from roundsman.cli.doctor import doctor
from roundsman.drill.database_server import DatabaseServer
from roundsman.errors import LeaseHeld, LedgerError, MissingDependency, UsageError
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, Store, fold, open_store
from roundsman.ledger.lease import TTL
from roundsman.ledger.postgres_url import address_of

SECRET = "se/c@ret:%1"
OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"


@pytest.fixture
def store(postgres: DatabaseServer, tmp_path: Path) -> Iterator[Store]:
    opened = Journal(tmp_path, postgres.new_database()).open()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def strict(postgres: DatabaseServer) -> DatabaseServer:
    """The server, asking a user for her password and turning another away."""
    postgres.postgres.run(f"create user alice password '{SECRET}'")
    postgres.postgres.run("create user bob")
    postgres.postgres.let_in(
        "host all alice 127.0.0.1/32 scram-sha-256", "host all bob 127.0.0.1/32 reject"
    )
    return postgres


@pytest.mark.parametrize(
    ("user", "database", "way_out"),
    [
        ("alice:wrong-one@", "postgres", "set the right password"),
        ("alice@", "postgres", "set the right password"),
        ("bob:wrong-one@", "postgres", "pg_hba.conf"),
        ("carol:wrong-one@", "postgres", "make that user"),
        ("postgres:wrong-one@", "none", "createdb"),
        ("alice:se%2Fc%40ret%3A%251@", "postgres", "create schema roundsman authorization"),
        ("postgres:wrong-one@", "postgres?sslmode=require", "sslmode"),
        ("postgres:wrong-one@", "postgres?colour=red", "take that out"),
    ],
)
def test_what_is_wrong_is_one_line_with_the_way_out(
    strict: DatabaseServer, monkeypatch: pytest.MonkeyPatch, user: str, database: str, way_out: str
) -> None:
    url = f"postgresql://{user}127.0.0.1:{strict.postgres.port}/{database}"
    monkeypatch.setenv("ROUNDSMAN_DB", url)
    monkeypatch.setenv("PGPASSFILE", os.devnull)
    with pytest.raises(LedgerError, match=way_out) as caught:
        open_store()
    shown = str(caught.value) + repr(caught.value) + repr(caught.value.__cause__)
    assert "\n" not in shown
    assert "wrong-one" not in shown
    assert SECRET not in shown
    told = CliRunner().invoke(doctor)
    assert told.exit_code == 4
    assert way_out.split("/")[0] in told.output
    assert "wrong-one" not in told.output


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDSMAN_DB", "postgresql://u:wrong-one@127.0.0.1:1/d")
    with pytest.raises(LedgerError, match="unset ROUNDSMAN_DB") as caught:
        open_store()
    assert "\n" not in str(caught.value)
    assert "wrong-one" not in str(caught.value)


def test_without_the_driver_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDSMAN_DB", "postgresql://u:wrong-one@127.0.0.1:1/d")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDependency, match=r"pip install 'roundsman\[postgres\]'"):
        open_store()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hidden@h/d",
        "postgresql://u:hid@den@h/d",
        "postgresql://u:hid/den@h/d",
        "postgresql://u:hid:den@h/d",
        "postgresql://u:hidden@h:port/d",
        "postgresql://u:hidden@h:99999/d",
        "hidden",
    ],
)
def test_a_url_that_cannot_be_read_is_not_shown(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("ROUNDSMAN_DB", url)
    with pytest.raises(UsageError) as caught:
        open_store()
    assert "hid" not in str(caught.value)
    assert "den" not in str(caught.value)


@given(st.text())
def test_no_url_ends_in_another_error_and_no_password_is_kept_in_view(text: str) -> None:
    try:
        address = address_of(f"postgresql://user:hidden{text}@host/name")
    except UsageError as error:
        shown = str(error)
    else:
        password = address.parameters["password"]
        shown = address.shown + repr(address) + address.explain(Exception(f"no {password} here"))
    assert "hidden" not in shown


def _cut(store: Store) -> None:
    """End the store's connection from the server's side."""
    other = store.db.another()
    other.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() "
        "and application_name = 'roundsman' and datname = current_database()"
    )
    other.close()


def _step(run: LiveRun) -> None:
    step = run.next_step_id()
    run.propose(ev.StepBegins(id=step, agent="a", reserved_tokens=3))
    run.settle(ev.StepEnds(id=step, agent="a", tokens=2), durable=True)


def test_a_run_whose_connection_dies_does_nothing_more_and_can_be_taken_up(store: Store) -> None:
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    for _ in range(3):
        _step(run)
    _cut(store)
    with pytest.raises(LedgerError, match="see that the server runs"):
        run.propose(ev.StepBegins(id="s4", agent="a"))
    with pytest.raises(LedgerError):  # though the server is there
        run.propose(ev.StepBegins(id="s5", agent="a"))
    run.end("failed")
    other = LiveRun.start(store, (), policy="p", run_id="r2")  # on a new connection
    other.end("done")
    assert store.info("r1").status == "interrupted"
    again = LiveRun.reopen(store, (), "r1")
    assert (again.account.steps, again.account.tokens) == (3, 6)
    _step(again)
    again.end("done")
    store.verify("r1")
    assert fold(store.records("r1")).steps == 4


INVESTIGATE = """
import sys
import psycopg
from roundsman.ledger import LiveRun

inner, seen = LiveRun.propose, []

def propose(run, event):
    seen.append(event)
    if len(seen) == 4:
        with psycopg.connect(sys.argv[1], autocommit=True) as db:
            db.execute("select pg_terminate_backend(pid) from pg_stat_activity where "
                       "application_name = 'roundsman' and datname = current_database()")
    return inner(run, event)

LiveRun.propose = propose
from roundsman.cli import main
main(["investigate", sys.argv[2]])
"""


def test_an_investigation_whose_connection_dies_says_how_to_go_on(
    postgres: DatabaseServer, tmp_path: Path
) -> None:
    journal = Journal(tmp_path, postgres.new_database())
    command = [sys.executable, "-c", INVESTIGATE, journal.url, str(OUTAGE)]
    died = subprocess.run(command, env=os.environ | journal.env, capture_output=True, text=True)
    assert died.returncode == 3, died.stderr
    store = journal.open()
    (info,) = store.runs()
    store.close()
    assert info.status == "interrupted"
    assert f"roundsman resume {info.run_id}" in " ".join(died.stdout.split())
    assert "Traceback" not in died.stderr
    resume = [sys.executable, "-m", "roundsman", "resume", info.run_id]
    done = subprocess.run(resume, env=os.environ | journal.env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "No cause found" not in done.stdout


@pytest.mark.usefixtures("by_hand")
def test_another_machine_holds_its_run_until_its_heart_stops(store: Store) -> None:
    LiveRun.start(store, (), policy="p", run_id="r1")
    store.db.execute("update leases set host='machine-2', pid=1, start='boot:ns:1'")
    assert store.info("r1").status == "running"
    with pytest.raises(LeaseHeld, match="held by process 1 on machine-2 since"):
        LiveRun.reopen(store, (), "r1")
    store.db.execute("update leases set beat=beat-?", (TTL,))
    assert store.info("r1").status == "interrupted"
    LiveRun.reopen(store, (), "r1").end("done")
    assert store.info("r1").status == "done"


def test_heartbeats_are_of_the_servers_clock(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1000.0)
    LiveRun.start(store, (), policy="p", run_id="r1")
    ((age,),) = store.db.query(f"select {store.db.clock} - beat from leases")
    assert 0 <= age < TTL
