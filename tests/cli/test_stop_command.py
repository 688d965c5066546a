from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from roundsman.cli.stop import stop
from roundsman.errors import RunNotFound, UsageError
from roundsman.ledger import LiveRun, open_store


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path))


def call(*args: str) -> tuple[Result, Any]:
    done = CliRunner().invoke(stop, [*args, "--json", "--wait", "0"], standalone_mode=False)
    return done, json.loads(done.output) if done.exception is None else None


def test_all_that_is_not_over_is_asked_to_end() -> None:
    store = open_store()
    going = LiveRun.start(store, (), policy="p", run_id="going")
    LiveRun.start(store, (), policy="p", run_id="left")._lease.release()
    LiveRun.start(store, (), policy="p", run_id="over").end("done")
    done, rows = call("--all")
    assert {row["run_id"]: row["status"] for row in rows} == {
        "going": "stopping",
        "left": "stopped",
    }
    assert done.return_value == 3  # one has not ended yet
    going.heed()
    assert going.account.stopped is not None
    going.end("aborted")
    done, rows = call("--all")
    assert (done.return_value, rows) == (0, [])


def test_what_cannot_be_stopped_is_one_clear_line() -> None:
    LiveRun.start(open_store(), (), policy="p", run_id="over-1").end("done")
    assert isinstance(call("over-2")[0].exception, RunNotFound)
    assert "did you mean over-1?" in str(call("over-2")[0].exception)
    assert "is over (done)" in str(call("over-1")[0].exception)
    for wrong in ((), ("over-1", "--all")):
        assert isinstance(call(*wrong)[0].exception, UsageError)
