"""What the command line says of runs of an app of one's own, and of numbers that are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from roundsman.cli.resume import settle
from roundsman.cli.runs import runs
from roundsman.cli.stop import stop
from roundsman.errors import RunOver, SourceError
from roundsman.guard import events as ev
from roundsman.investigate.resume import recorded_policy
from roundsman.ledger import LiveRun, open_store
from roundsman.ledger.view import how_to_go_on


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("what", "way"),
    [
        ("investigate", "with: roundsman resume r1"),
        ("remedy", "with: roundsman resume r1"),
        ("", "in your app: roundsman.adk.resume(app, 'r1', session)"),
    ],
)
def test_a_settled_write_is_told_with_a_way_that_goes_on(what: str, way: str) -> None:
    store = open_store()
    run = LiveRun.start(store, (), policy="p", run_id="r1", setup={"what": what} if what else {})
    run.propose(ev.ActionBegins(id="a1", tool="dig"))
    run._lease.release()
    said = CliRunner().invoke(settle, ["r1", "a1", "done"], standalone_mode=False)
    assert said.exception is None
    assert said.output.rstrip().endswith(f"done; go on {way}")
    assert how_to_go_on("r1", store.records("r1")) == way


def test_an_apps_run_that_is_over_is_told_so() -> None:
    store = open_store()
    LiveRun.start(store, (), policy="p", run_id="r1").end("done")
    with pytest.raises(RunOver, match="roundsman runs show r1"):
        recorded_policy(store, "r1", None)
    shown = CliRunner().invoke(runs, ["show", "r1"], standalone_mode=False).output
    assert "it came to its own end" in shown
    assert "finding" not in shown


def test_no_number_of_seconds_is_no_time_to_wait() -> None:
    LiveRun.start(open_store(), (), policy="p", run_id="r1")
    said = CliRunner().invoke(stop, ["--all", "--wait", "nan"])
    assert (said.exit_code, "nan is no number of seconds" in said.output) == (2, True)


def test_a_header_of_no_host_is_refused_where_nothing_is_asked(tmp_path: Path) -> None:
    from roundsman.cli.investigate import investigate

    given = [str(tmp_path), "--header", "x"]
    said = CliRunner().invoke(investigate, given, standalone_mode=False)
    assert isinstance(said.exception, SourceError)
    assert "expected 'HOST=Name: value'" in str(said.exception)
