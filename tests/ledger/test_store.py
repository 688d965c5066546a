"""The journal: whole, refused when damaged, and its counters the fold."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from journals import Journal

from roundsman.errors import JournalDamaged, LeaseHeld, LedgerError, RunNotFound
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, Store, open_store
from roundsman.ledger.fold import fold
from roundsman.testing import FakeClock


@pytest.fixture
def store(journal: Journal) -> Iterator[Store]:
    opened = journal.open()
    yield opened
    opened.close()


def started(store: Store, run_id: str = "r1") -> LiveRun:
    run = LiveRun.start(store, (), policy="p", question="why?", run_id=run_id, clock=FakeClock())
    run.propose(ev.StepBegins(id=run.next_step_id(), agent="a", reserved_tokens=50))
    run.settle(ev.StepEnds(id="s1", agent="a", tokens=40))
    run.propose(ev.ActionBegins(id=run.next_action_id(), tool="dig"))
    run.settle(ev.ActionEnds(id="a1", tool="dig", result={"status": "ok", "text": "\ud800"}))
    return run


def test_counters_are_the_fold_of_the_journal(store: Store) -> None:
    run = started(store)
    assert fold(store.records("r1")) == run.account
    run.end("done")
    assert fold(store.records("r1")) == run.account
    info = store.info("r1")
    assert (info.status, info.usage["tokens"], info.usage["actions"]) == ("done", 40, 1)


@pytest.mark.parametrize(
    ("damage", "first"),
    [
        ("update records set body=replace(body, '40', '4') where seq=3", 3),
        ("update records set at=at+1 where seq=2", 2),
        ("delete from records where seq=4", 5),
        ("update records set kind='step_begins' where seq=4", 4),
    ],
)
def test_a_changed_record_is_found(store: Store, journal: Journal, damage: str, first: int) -> None:
    started(store)
    store.verify("r1")
    assert journal.damage(damage) == 1
    with pytest.raises(JournalDamaged, match=f"record {first} "):
        store.verify("r1")


def test_a_reopened_run_goes_on_counting_and_gives_no_id_twice(store: Store) -> None:
    run = started(store)
    run._lease.release()
    again = LiveRun.reopen(store, (), "r1", clock=FakeClock())
    assert (again.account.steps, again.account.actions, again.account.tokens) == (1, 1, 40)
    assert (again.next_step_id(), again.next_action_id()) == ("s2", "a2")
    store.verify("r1")


def test_a_stop_survives_reopening(store: Store) -> None:
    run = started(store)
    run.stop("tokens", "all spent")
    run._lease.release()
    again = LiveRun.reopen(store, (), "r1")
    verdict, _ = again.propose(ev.StepBegins(id="s2"))
    assert verdict.stop == "tokens"


def test_a_run_held_here_cannot_be_taken_twice(store: Store) -> None:
    started(store)
    with pytest.raises(LeaseHeld, match="run r1 is held by process"):
        LiveRun.reopen(store, (), "r1")


@pytest.mark.usefixtures("by_hand")
def test_an_open_read_keeps_nobody_from_writing(store: Store, journal: Journal) -> None:
    started(store)  # its last outcome is not committed yet
    other = journal.open()
    other.db.execute("set lock_timeout = '1ms'" if journal.url else "pragma busy_timeout=0")
    LiveRun.start(other, (), policy="p", run_id="r2").end("done")
    other.close()
    assert {i.run_id for i in store.runs()} == {"r1", "r2"}


def test_a_home_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(LedgerError, match="set ROUNDSMAN_HOME") as caught:
        open_store(tmp_path / "file" / "home")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").write_text("no database, " * 500)
    with pytest.raises(LedgerError, match=r"runs\.sqlite cannot be opened"):
        open_store(tmp_path)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    db = sqlite3.connect(tmp_path / "runs.sqlite")
    db.execute("pragma user_version=99")
    db.close()
    with pytest.raises(LedgerError, match="is of version 99"):
        open_store(tmp_path)


def test_an_unknown_run_names_the_way_out(store: Store) -> None:
    with pytest.raises(RunNotFound, match="roundsman runs list"):
        store.info("nope")


def test_a_taken_id_is_refused(store: Store) -> None:
    started(store)
    with pytest.raises(LedgerError):
        LiveRun.start(store, (), policy="p", run_id="r1")


def test_deleting_forgets_the_run(store: Store) -> None:
    started(store).end("done")
    store.delete("r1")
    assert store.runs() == []
    assert store.records("r1") == []
