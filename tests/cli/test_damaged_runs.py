"""One run whose journal cannot be read hinders no other, and can be forgotten."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from roundsman import __version__
from roundsman.cli import cli
from roundsman.cli.runs import runs
from roundsman.errors import JournalDamaged, LedgerError
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, Store, open_store
from roundsman.ledger.fold import event_of, fold

DAMAGE = {
    "kind": "update records set kind='teleported' where run_id='bad' and seq=2",
    "json": "update records set body='{' where run_id='bad' and seq=2",
    "list": "update records set body='[]' where run_id='bad' and seq=2",
    "type": "update records set body='{\"tokens\": \"many\"}', kind='step_ends' where run_id='bad' and seq=2",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path))
    store = open_store()
    for name in ("good", "bad"):
        setup = {"what": "investigate"}
        run = LiveRun.start(store, (), policy="p", question="why?", run_id=name, setup=setup)
        run.write(ev.RoundBegins(index=1))
        run._lease.release()
    store.close()
    return tmp_path


def call(*args: str) -> Result:
    return CliRunner().invoke(runs, list(args))


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_the_others_are_listed_shown_and_deleted(home: Path, damage: str) -> None:
    db = sqlite3.connect(home / "runs.sqlite")
    db.execute(damage)
    db.commit()
    db.close()
    rows = {one["run_id"]: one for one in json.loads(call("list", "--json").output)}
    assert rows["good"]["rounds"] == 1
    assert rows["bad"]["status"] == "interrupted"
    assert "record 2" in rows["bad"]["damaged"]
    assert "damaged" in call("list").output
    assert call("show", "good").exit_code == 0
    shown = call("show", "bad")
    assert isinstance(shown.exception, JournalDamaged)
    assert "roundsman runs delete" in str(shown.exception)
    assert call("delete", "ba").output == "deleted run bad\n"
    assert call("delete", "good").exit_code == 0


def test_a_damaged_last_record_is_told_and_the_run_stays_readable(home: Path) -> None:
    db = sqlite3.connect(home / "runs.sqlite")
    db.execute("update records set body=replace(body, '1', '2') where run_id='bad' and seq=2")
    db.commit()
    db.close()
    for command in (["resume", "bad"], ["runs", "show", "bad"], ["runs", "export", "bad"]):
        done = CliRunner().invoke(cli, command, standalone_mode=False)
        assert isinstance(done.exception, JournalDamaged), command
        assert "record 2 (round_begins) does not fit the chain" in str(done.exception)
    assert call("show", "bad", "--json").output.startswith("{")
    assert json.loads(call("show", "bad", "--json").output)["rounds"] == 1
    assert CliRunner().invoke(runs, ["show", "bad"]).output.count("status interrupted") == 1


def test_a_kind_of_a_newer_version_is_named_with_the_way_out(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    store.begin("r", 1.0, "", "", "")
    store.append("r", 1, "teleported", 1.0, "{}", "")
    with pytest.raises(JournalDamaged, match=f"'teleported'.*{__version__}.*update Roundsman"):
        fold(store.records("r"))
    with pytest.raises(JournalDamaged):
        event_of(store.records("r")[0])


def test_a_journal_is_for_its_owner_only(tmp_path: Path) -> None:
    umask = os.umask(0o022)
    try:
        store = open_store(tmp_path / "home")
        LiveRun.start(store, (), policy="p")
        files = list((tmp_path / "home").iterdir())
        assert len(files) >= 2
        for one in [tmp_path / "home", *files]:
            assert stat.S_IMODE(one.stat().st_mode) & 0o077 == 0, one
    finally:
        os.umask(umask)


def test_a_journal_that_was_opened_to_others_stays_open(tmp_path: Path) -> None:
    open_store(tmp_path / "home").close()
    (tmp_path / "home" / "runs.sqlite").chmod(0o640)
    open_store(tmp_path / "home").close()
    assert stat.S_IMODE((tmp_path / "home" / "runs.sqlite").stat().st_mode) == 0o640


def test_a_locked_journal_says_whom_to_wait_for(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    store.db.execute("pragma busy_timeout=0")
    other = sqlite3.connect(tmp_path / "s.sqlite")
    other.execute("begin immediate")
    store.begin("r", 1.0, "", "", "")
    with pytest.raises(
        LedgerError, match="locked; another process is writing to it for long; wait for it"
    ):
        store.commit("r")
    other.rollback()
    other.close()
