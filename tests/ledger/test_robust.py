"""One run's trouble is its own: failed commits, threads, lost leases, missing ends, old files."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from roundsman.errors import JournalDamaged, LeaseHeld, LedgerError
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, Store, fold, new_run_id
from roundsman.ledger.lease import beat_all, lease_state, process_start


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs.sqlite")


def _step(run: LiveRun) -> None:
    step = run.next_step_id()
    run.propose(ev.StepBegins(id=step, agent="a", reserved_tokens=3))
    run.settle(ev.StepEnds(id=step, agent="a", tokens=2))


def test_a_failed_append_breaks_its_run_and_no_other(store: Store) -> None:
    first, second = (LiveRun.start(store, (), policy="p", run_id=name) for name in ("r1", "r2"))
    store.connection.execute("insert into records values('r1', 2, 'k', 0, '{}', 'h')")
    store.connection.commit()
    with pytest.raises(LedgerError, match="another process"):
        first.propose(ev.StepBegins(id="s1"))
    with pytest.raises(LedgerError):  # what cannot be recorded does not happen
        first.propose(ev.StepBegins(id="s2"))
    first.end("failed")
    _step(second)
    second.end("done")
    store.verify("r2")
    other = Store(store.path)  # the file is not left locked
    LiveRun.start(other, (), policy="p", run_id="r3").end("done")


def test_threads_of_one_run_keep_its_chain_whole(store: Store) -> None:
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    errors: list[Exception] = []
    ready = threading.Barrier(6)

    def work() -> None:
        ready.wait()
        try:
            for _ in range(30):
                _step(run)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    run.end("done")
    store.verify("r1")
    assert (run.account.steps, run.account.tokens) == (180, 360)
    assert fold(store.records("r1")) == run.account


def test_a_run_taken_up_elsewhere_does_nothing_more(store: Store) -> None:
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    beat_all(store.path)
    _step(run)
    store.connection.execute("update leases set holder='another'")
    store.connection.commit()
    beat_all(store.path)
    with pytest.raises(LedgerError, match="taken up by another process"):
        run.propose(ev.StepBegins(id="s2"))


def test_a_pid_used_again_is_no_live_lease(store: Store) -> None:
    me = os.getpid()
    here = os.uname().nodename
    now = 10**12  # a beat that is never stale
    assert lease_state(me, here, now, process_start(me)) == "live"
    assert lease_state(me, here, now, "another boot:1") == "dead"
    assert lease_state(me, "elsewhere", now) == "live"
    assert lease_state(me, "elsewhere", 0.0, process_start(me)) == "dead"


def test_missing_last_records_of_a_finished_run_are_noticed(store: Store) -> None:
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    _step(run)
    run.end("done")
    store.verify("r1")
    store.connection.execute("delete from records where seq >= 3")
    store.connection.commit()
    with pytest.raises(JournalDamaged, match="ended with record 4"):
        store.verify("r1")


def test_a_finished_run_is_not_taken_up_again_and_its_lease_is_free(store: Store) -> None:
    LiveRun.start(store, (), policy="p", run_id="r1").end("done")
    for _ in range(2):
        with pytest.raises(LedgerError, match="is over"):
            LiveRun.reopen(store, (), "r1")


def test_a_damaged_run_is_not_held_by_who_looked_at_it(store: Store) -> None:
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    _step(run)
    run._lease.release()
    store.connection.execute("update records set body='{}' where seq=2")
    store.connection.commit()
    for _ in range(2):
        with pytest.raises(JournalDamaged):
            LiveRun.reopen(store, (), "r1")


def test_a_live_run_names_its_holder(store: Store) -> None:
    LiveRun.start(store, (), policy="p", run_id="r1")
    with pytest.raises(LeaseHeld, match=f"process {os.getpid()} .* since .*; wait"):
        LiveRun.reopen(Store(store.path), (), "r1")


def test_a_file_of_the_first_version_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    old = sqlite3.connect(path)
    old.executescript(
        "create table runs(run_id text primary key, started real not null, question text not null "
        "default '', policy text not null default '', model text not null default '', status text "
        "not null, ended real, rounds integer not null default 0, usage text not null default "
        "'{}', report text);"
        "create table records(run_id text not null, seq integer not null, kind text not null, at "
        "real not null, body text not null, hash text not null, primary key(run_id, seq)) without "
        "rowid;"
        "create table leases(run_id text primary key, holder text not null, pid integer not null, "
        "host text not null, since real not null, beat real not null);"
        "insert into runs(run_id, started, status) values('old', 1, 'done');"
        "pragma user_version=1;"
    )
    old.close()
    store = Store(path)
    assert [r.run_id for r in store.runs()] == ["old"]
    LiveRun.start(store, (), policy="p", run_id="new").end("done")
    store.verify("new")


def test_run_ids_do_not_clash() -> None:
    assert len({new_run_id() for _ in range(5000)}) == 5000
