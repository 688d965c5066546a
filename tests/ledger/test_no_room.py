"""A full disk: one clear line, nothing happens that cannot be recorded, the record stays readable."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from roundsman.cli.runs import runs
from roundsman.errors import LedgerError
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, Store, fold, open_store
from roundsman.ledger.lease import beat_all

Room = Callable[[Store, bool], None]


@pytest.fixture(params=["mount", "pages"])
def room(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Room]:
    """Sets the journal's home on a small disk; called with True it gives it room."""
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path))
    if request.param == "pages":
        yield lambda store, more: _pages(store, 100_000 if more else 24)
        return
    small = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(small, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk is for root; the other case limits the file's pages")
    try:
        yield lambda store, more: _remount(tmp_path, "20m" if more else "400k")
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def _pages(store: Store, most: int) -> None:
    store.db.query(f"pragma max_page_count={most}")


def _remount(folder: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True)


def _until_full(run: LiveRun) -> None:
    for _ in range(10_000):
        action = run.next_action_id()
        run.propose(ev.ActionBegins(id=action, tool="dig", effect="read"))
        run.settle(ev.ActionEnds(id=action, tool="dig", effect="read", result="z" * 500))
    raise AssertionError("never full")


def test_a_full_disk_is_one_clear_line_and_the_record_stays_readable(room: Room) -> None:
    store = open_store()
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    room(store, False)
    with pytest.raises(LedgerError, match=r"disk is full; set ROUNDSMAN_HOME to a folder") as told:
        _until_full(run)
    assert "\n" not in str(told.value)
    with pytest.raises(LedgerError):  # what cannot be recorded does not happen
        run.propose(ev.ActionBegins(id="a0", tool="dig"))
    run.end("failed")  # raises nothing more
    store.close()
    for command in (["list"], ["show", "r1"]):
        shown = CliRunner().invoke(runs, command)
        assert (shown.exit_code, "r1" in shown.output) == (0, True), shown.output
    store = open_store()
    store.verify("r1")
    records = store.records("r1")
    assert len(records) > 10
    room(store, True)
    beat_all(store.db)  # a lease that could not be given back is, by the heart
    again = LiveRun.reopen(store, (), "r1")
    assert again.account.actions == fold(records).actions
    again.end("done")
    assert store.info("r1").status == "done"
    store.close()


@pytest.mark.usefixtures("by_hand")
def test_a_journal_that_is_locked_is_one_clear_line_and_can_be_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    store.db.query("pragma busy_timeout=20")
    other = sqlite3.connect(tmp_path / "runs.sqlite", isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(LedgerError, match=r"database is locked; another process is writing to it"):
        run.propose(ev.ActionBegins(id="a1", tool="dig"))
    assert [one.run_id for one in store.runs()] == ["r1"]
    store.verify("r1")
    with pytest.raises(LedgerError, match="locked"):
        store.request_stop("r1", "eve")
    other.execute("rollback")
    store.request_stop("r1", "eve")
    store.close()
