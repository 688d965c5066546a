from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from roundsman.cli.retention import export, prune
from roundsman.errors import JournalDamaged, UsageError
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, Store, open_store
from roundsman.ledger.retention import parse_age


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path))
    store = open_store()
    for run_id, started in (("old", 1.0), ("new", 4e10)):
        run = LiveRun.start(store, (), policy="p", run_id=run_id, clock=lambda at=started: at)
        run.write(ev.ActionBegins(id="a1", tool="dig", args={"what": 'x\n"\ud800'}))
        run.end("done")
    LiveRun.start(store, (), policy="p", run_id="half", clock=lambda: 1.0)._lease.release()
    return store


def test_only_what_is_old_and_over_is_deleted(store: Store) -> None:
    LiveRun.start(store, (), policy="p", run_id="going", clock=lambda: 1.0)
    before = set(store.ids())
    told = CliRunner().invoke(prune, ["--older", "30d", "--dry-run", "--json"]).output
    assert [one["run_id"] for one in json.loads(told)["would_delete"]] == ["old"]
    assert set(store.ids()) == before
    told = CliRunner().invoke(prune, ["--older", "30d"]).output
    assert "deleted old" in told
    assert "kept 1 run that can still be taken up" in told
    assert set(store.ids()) == before - {"old"}
    CliRunner().invoke(prune, ["--older", "30d", "--unfinished"])
    assert set(store.ids()) == {"new", "going"}
    assert store.rows("old") == store.rows("half") == []


@pytest.mark.parametrize("age", ["-3d", "30", "", "d", "nan", "1y", "30d ago", "٣d", "1.5d"])
def test_what_is_no_age_is_refused(age: str) -> None:
    with pytest.raises(UsageError, match="is no age; write a number and its unit"):
        parse_age(age)
    with pytest.raises(UsageError, match="no time at all"):
        parse_age("0d")


@given(st.integers(1, 999), st.integers(0, 23), st.integers(0, 59))
def test_ages_add_up(days: int, hours: int, seconds: int) -> None:
    whole = days * 86400 + hours * 3600 + seconds
    assert parse_age(f"{days}d{hours}h{seconds}s") == whole


def chain_holds(lines: list[str]) -> bool:
    before = ""
    for line in lines:
        record = json.loads(line)
        body = line[line.index('"body":') + 7 : line.rindex(',"hash":')]
        text = "\n".join([before, record["kind"], repr(record["at"]), body])
        before = sha256(text.encode()).hexdigest()
        if before != record["hash"]:
            return False
    return True


def test_an_export_can_be_checked_without_the_store(store: Store) -> None:
    head, *lines = CliRunner().invoke(export, ["old"]).output.splitlines()
    assert json.loads(head)["run"]["status"] == "done"
    assert [json.loads(line)["kind"] for line in lines] == [
        "run_begins", "action_begins", "run_ends",
    ]  # fmt: skip
    assert chain_holds(lines)
    assert not chain_holds([line.replace("dig", "dug") for line in lines])


def test_a_damaged_run_is_exported_whole_and_told(store: Store) -> None:
    store.db.execute("update records set body=? where run_id='old' and seq=2", ("{\n",))
    done = CliRunner().invoke(export, ["old"], standalone_mode=False)
    assert isinstance(done.exception, JournalDamaged)
    lines = done.output.splitlines()
    assert len(lines) == 4
    assert json.loads(lines[2])["body"] == "{\n"
