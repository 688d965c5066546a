"""A request to stop and the intent of a call meet at the database: one of them is first."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from journals import Journal

from roundsman.drill.database_server import DatabaseServer
from roundsman.guard import Kind, Verdict
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, Store

OLD = """
create table runs(run_id text primary key, started double precision not null,
  question text not null default '', policy text not null default '',
  model text not null default '', status text not null, ended double precision,
  rounds integer not null default 0, usage text not null default '{}', report text,
  tail text not null default '');
create table leases(run_id text primary key, holder text not null, pid integer not null,
  host text not null, start text not null, since double precision not null,
  beat double precision not null);
pragma user_version=5;
"""


@pytest.fixture
def stores(postgres: DatabaseServer, tmp_path: Path) -> Iterator[tuple[Store, Store, Store]]:
    """Three processes at one database: who runs, who asks, and who looks on."""
    journal = Journal(tmp_path, postgres.new_database())
    opened = journal.open(), journal.open(), journal.open()
    yield opened
    for store in opened:
        store.close()


def _step(run: LiveRun) -> Verdict:
    return run.propose(ev.StepBegins(id=run.next_step_id(), agent="a"))[0]


def _waiting(looks_on: Store, count: int, unless: Callable[[], bool]) -> bool:
    """Look until so many statements of this database wait for a lock; False: it came to be otherwise."""
    until = time.monotonic() + 60
    sql = (
        "select count(*) from pg_stat_activity "
        "where datname = current_database() and wait_event_type = 'Lock'"
    )
    while looks_on.db.query(sql) != [(count,)]:
        if unless():
            return False
        assert time.monotonic() < until
    return True


def _entered(store: Store) -> list[str]:
    return [r.kind for r in store.whole("r1") if r.kind in ("step_begins", "ruled")]


def test_an_intent_that_waits_for_a_request_to_stop_is_not_entered(
    stores: tuple[Store, Store, Store],
) -> None:
    store, asks, looks_on = stores
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    with ThreadPoolExecutor() as pool:
        with asks.db.transaction():
            asks.request_stop("r1", "eve")
            step = pool.submit(_step, run)
            _waiting(looks_on, 1, unless=step.done)
        verdict = step.result(60)
    assert (verdict.kind, verdict.stop) == (Kind.STOP, "aborted")
    assert _entered(looks_on) == ["ruled"]


def test_a_request_to_stop_waits_for_an_intent_that_is_being_entered(
    stores: tuple[Store, Store, Store],
) -> None:
    store, asks, looks_on = stores
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    other = looks_on.db.another()
    with ThreadPoolExecutor() as pool:
        with other.transaction():  # as a heart that beats does
            other.execute("update leases set beat=beat where run_id='r1'")
            step = pool.submit(_step, run)
            assert _waiting(looks_on, 1, unless=step.done)
            asked: Future[None] = pool.submit(asks.request_stop, "r1", "eve")
            waited = _waiting(looks_on, 2, unless=asked.done)
        assert step.result(60).kind is (Kind.ALLOW if waited else Kind.STOP)
        asked.result(60)
    assert _step(run).kind is Kind.STOP
    assert _entered(looks_on) == ["step_begins"] * waited + ["ruled"]
    other.close()


def test_a_request_for_a_run_that_is_being_taken_is_found_by_whoever_takes_it(
    stores: tuple[Store, Store, Store],
) -> None:
    store, asks, looks_on = stores
    LiveRun.start(store, (), policy="p", run_id="r1")._lease.release()
    with ThreadPoolExecutor() as pool:
        with asks.db.transaction():
            asks.request_stop("r1", "eve")
            again = pool.submit(LiveRun.reopen, store, (), "r1")
            assert _waiting(looks_on, 1, unless=again.done)
        assert _step(again.result(60)).kind is Kind.STOP
    assert _entered(looks_on) == ["ruled"]


def test_a_journal_made_before_has_the_word_to_stop_in_its_leases(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    db = sqlite3.connect(path)
    db.executescript(OLD)
    db.execute("insert into runs(run_id, started, status) values('r0', 1, 'running')")
    db.execute("insert into leases values('r0', 'h', 1, 'far-away', '', 1, 1)")
    db.commit()
    store = Store(path)
    assert db.execute("select run_id, holder, stop from leases").fetchall() == [("r0", "h", 0)]
    store.request_stop("r0", "eve")
    assert db.execute("select stop from leases").fetchall() == [(1,)]
    store.withdraw_stop("r0")
    assert db.execute("select stop from leases").fetchall() == [(0,)]
