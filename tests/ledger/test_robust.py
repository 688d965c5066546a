"""One run's trouble is its own: failed commits, threads, lost leases, missing ends, old files."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from journals import Journal

from roundsman.errors import JournalDamaged, LeaseHeld, LedgerError
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, Store, fold, new_run_id
from roundsman.ledger.lease import TTL, beat_all, lease_state, process_start


@pytest.fixture
def store(journal: Journal) -> Iterator[Store]:
    opened = journal.open()
    yield opened
    opened.close()


def _step(run: LiveRun) -> None:
    step = run.next_step_id()
    run.propose(ev.StepBegins(id=step, agent="a", reserved_tokens=3))
    run.settle(ev.StepEnds(id=step, agent="a", tokens=2))


def test_a_failed_append_breaks_its_run_and_no_other(store: Store, journal: Journal) -> None:
    first, second = (LiveRun.start(store, (), policy="p", run_id=name) for name in ("r1", "r2"))
    journal.damage("insert into records values('r1', 2, 'k', 0, '{}', 'h')")
    with pytest.raises(LedgerError, match="another process"):
        first.propose(ev.StepBegins(id="s1"))
    with pytest.raises(LedgerError):  # what cannot be recorded does not happen
        first.propose(ev.StepBegins(id="s2"))
    first.end("failed")
    _step(second)
    second.end("done")
    store.verify("r2")
    other = journal.open()  # it is not left locked
    LiveRun.start(other, (), policy="p", run_id="r3").end("done")
    other.close()


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


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("beats", [True, False])
def test_a_run_taken_up_elsewhere_does_nothing_more(
    store: Store, journal: Journal, beats: bool
) -> None:
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    beat_all(store.db)
    _step(run)
    journal.damage("update leases set holder='another'")
    if beats:
        beat_all(store.db)
    else:  # the journal itself takes nothing from who has lost the run
        with pytest.raises(LedgerError, match="taken up by another process"):
            run.end("done")
        assert [r.kind for r in store.records("r1")][-1] == "step_begins"
    with pytest.raises(LedgerError, match="taken up by another process"):
        run.propose(ev.StepBegins(id="s2"))


def test_a_pid_used_again_is_no_live_lease(store: Store) -> None:
    me = os.getpid()
    here = os.uname().nodename
    assert lease_state(me, here, 0.0, process_start(me)) == "live"
    assert lease_state(me, here, 0.0, "another boot:1") == "dead"
    assert lease_state(me, "elsewhere", 0.0) == "live"
    assert lease_state(me, "elsewhere", TTL, process_start(me)) == "dead"


def test_a_machine_of_our_name_is_told_by_its_heartbeat() -> None:
    here, me = os.uname().nodename, os.getpid()
    elsewhere = "another boot:4026531836:1"
    assert lease_state(me, here, 0.0, elsewhere, shared=True) == "live"
    assert lease_state(me, here, TTL, elsewhere, shared=True) == "dead"
    ended = process_start(me) + "0"  # of this system, and no longer there
    assert lease_state(me, here, 0.0, ended, shared=True) == "dead"
    assert lease_state(me, here, TTL, process_start(me), shared=True) == "live"


def test_missing_last_records_of_a_finished_run_are_noticed(store: Store, journal: Journal) -> None:
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    _step(run)
    run.end("done")
    store.verify("r1")
    journal.damage("delete from records where seq >= 3")
    with pytest.raises(JournalDamaged, match="ended with record 4"):
        store.verify("r1")


def test_a_finished_run_is_not_taken_up_again_and_its_lease_is_free(store: Store) -> None:
    LiveRun.start(store, (), policy="p", run_id="r1").end("done")
    for _ in range(2):
        with pytest.raises(LedgerError, match="is over"):
            LiveRun.reopen(store, (), "r1")


def test_a_damaged_run_is_not_held_by_who_looked_at_it(store: Store, journal: Journal) -> None:
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    _step(run)
    run._lease.release()
    journal.damage("update records set body='{}' where seq=2")
    for _ in range(2):
        with pytest.raises(JournalDamaged):
            LiveRun.reopen(store, (), "r1")


def test_a_live_run_names_its_holder(store: Store, journal: Journal) -> None:
    LiveRun.start(store, (), policy="p", run_id="r1")
    other = journal.open()
    with pytest.raises(LeaseHeld, match=f"process {os.getpid()} on {os.uname().nodename} since"):
        LiveRun.reopen(other, (), "r1")
    other.close()


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
