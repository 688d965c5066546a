"""The thread that renews leases keeps no journal open, and ends when there is nothing to renew."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from pathlib import Path

import pytest
from journals import Journal

from roundsman.drill.database_server import DatabaseServer
from roundsman.ledger import LiveRun, Store, lease

WAITS = 300.0
"""Seconds after which a thread that should have ended has failed to."""


@pytest.mark.usefixtures("by_hand")
def test_a_journal_that_nobody_holds_any_more_is_closed(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    held = weakref.ref(store.db)
    run.end("done")
    del store, run
    gc.collect()
    assert held() is None


def test_a_heart_ends_with_its_last_lease_and_another_run_gets_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "BEAT", 0.01)
    store = Store(tmp_path / "runs.sqlite")
    hearts = []
    for name in ("r1", "r2"):
        run = LiveRun.start(store, (), policy="p", run_id=name)
        hearts.append(lease._HEARTS[store.name])
        assert hearts[-1].is_alive()
        run.end("done")
        hearts[-1].join(WAITS)
        assert not hearts[-1].is_alive()
        assert store.name not in lease._HEARTS
    assert hearts[0] is not hearts[1]
    store.close()


@pytest.mark.usefixtures("by_hand")
def test_a_heart_beats_as_long_as_one_run_of_several_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "runs.sqlite")
    first, second = (LiveRun.start(store, (), policy="p", run_id=n) for n in ("r1", "r2"))
    first.end("done")
    beats = "select beat from leases where run_id='r2'"
    store.db.execute("update leases set beat=0")
    lease.beat_all(store.db)
    assert store.db.query(beats)[0][0] > 0
    second.end("done")
    store.close()


def test_a_heart_that_beats_while_a_run_is_being_entered_leaves_it_alone(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It beats already, for another run, and finds nothing of the new one yet."""
    store = journal.open()
    first = LiveRun.start(store, (), policy="p", run_id="r1")
    commit = store.commit

    def beaten(run_id: str) -> None:
        lease.beat_all(store.db)
        commit(run_id)

    monkeypatch.setattr(store, "commit", beaten)
    second = LiveRun.start(store, (), policy="p", run_id="r2")
    monkeypatch.undo()
    assert second.broken == ""
    store.db.execute("update leases set beat=0")
    lease.beat_all(store.db)
    assert {beat > 0 for (beat,) in store.db.query("select beat from leases")} == {True}
    for run in (first, second):
        run.end("done")
    store.close()


def test_a_heart_that_beats_while_a_run_is_taken_up_leaves_it_alone(
    postgres: DatabaseServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another connection has not committed a server does not show."""
    store = Journal(tmp_path, postgres.new_database()).open()
    first = LiveRun.start(store, (), policy="p", run_id="r1")
    LiveRun.start(store, (), policy="p", run_id="r2")._lease.release()
    execute, beats = store.db.execute, list[str]()

    def beaten(sql: str, args: Sequence[object] = ()) -> int:
        done = execute(sql, args)
        if sql.startswith("insert into leases"):
            beats.append(sql)
            lease.beat_all(store.db)
        return done

    monkeypatch.setattr(store.db, "execute", beaten)
    again = LiveRun.reopen(store, (), "r2")
    assert (len(beats), again.broken) == (1, "")
    for run in (first, again):
        run.end("done")
    store.close()
