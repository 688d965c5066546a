from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from roundsman.cli.runs import runs, table
from roundsman.errors import JournalDamaged, RunNotFound, UsageError
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, RunInfo, open_store


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path))
    return tmp_path


def record(run_id: str, report: dict[str, Any] | None = None, end: bool = True) -> None:
    """A small run: one round, one action that answered, one refusal."""
    store = open_store()
    run = LiveRun.start(
        store, [], policy="p", question="why \x1b[31mred\x1b[0m?", run_id=run_id, clock=lambda: 1e9
    )
    run.write(ev.RoundBegins(index=1))
    run.write(ev.ActionBegins(id="a1", tool="query_logs", args={"service": "x"}, effect="read"))
    result = {"status": "ok", "query": {"sql": "select 1"}, "rows": ["boom \x1b[2J"]}
    run.write(ev.ActionEnds(id="a1", tool="query_logs", status="ok", effect="read", result=result))
    run.write(
        ev.Ruled(verdict="refuse", rule="allowlist", layer="tool", reason="no", subject="kill_it")
    )
    if end:
        run.end("done")
    else:
        run._lease.release()
    if report is not None:
        store.save_report(run_id, report)
    store.close()


def call(*args: str) -> Result:
    done = CliRunner().invoke(runs, list(args))
    assert "\x1b" not in done.output
    return done


def test_an_empty_journal_says_how_to_begin() -> None:
    assert "no runs yet" in call("list").output
    assert json.loads(call("list", "--json").output) == []


def test_list_gives_the_promised_keys() -> None:
    record("r-one")
    record("r-two", end=False)
    found = json.loads(call("list", "--json").output)
    assert {one["run_id"]: one["status"] for one in found} == {
        "r-one": "done",
        "r-two": "interrupted",
    }
    for one in found:
        assert {"run_id", "status", "started", "question", "rounds", "usage"} <= set(one)
        assert one["started"] == "2001-09-09T01:46:40Z"
        assert one["usage"]["actions"] == 1
    text = call("list").output
    assert "why red?" in text
    assert "interrupted" in text


def test_the_table_keeps_to_the_width() -> None:
    info = RunInfo("0131-100000-abcd", "interrupted", 1e9, "q" * 500, 12, {"tokens": 30_000})
    for width in (60, 80, 120):
        lines = table([info], width)
        assert all(len(line) <= max(width, 66) for line in lines)
    assert "..." in table([info], 120)[1]


def test_show_prints_the_saved_report() -> None:
    record("r-one", {"run_id": "r-one", "cause": {"statement": "a bad deploy"}})
    assert call("show", "r-o").output.startswith("CAUSE  a bad deploy")
    data = json.loads(call("show", "r-one", "--json").output)
    assert data["report"]["cause"]["statement"] == "a bad deploy"
    assert data["journal"] == {"ok": True, "records": 6, "error": None}
    assert [one["rule"] for one in data["decisions"]] == ["allowlist"]


def test_show_without_a_report_shows_what_the_journal_holds() -> None:
    record("r-two", end=False)
    text = call("show", "r-two").output
    for part in ("interrupted and has left no report", "select 1", "refused kill_it: no", "boom"):
        assert part in text
    assert json.loads(call("show", "r-two", "--json").output)["report"] is None


def test_show_evidence_gives_the_whole_result() -> None:
    record("r-one")
    text = call("show", "r-one", "--evidence", "a1").output
    assert "a1  query_logs  ok" in text
    assert "select 1" in text
    assert "boom" in text
    data = json.loads(call("show", "r-one", "--evidence", "a1", "--json").output)
    assert data["args"] == {"service": "x"}
    assert data["result"]["rows"] == ["boom \x1b[2J"]
    error = call("show", "r-one", "--evidence", "a9").exception
    assert isinstance(error, UsageError)
    assert "it holds a1" in str(error)


def test_evidence_only_the_report_holds_is_shown_too() -> None:
    kept = {"id": "z1", "tool": "t", "query": "q", "excerpt": "text", "status": "ok"}
    record("r-one", {"evidence": [kept]})
    assert "text" in call("show", "r-one", "--evidence", "z1").output


def test_beginnings_must_fit_one_run() -> None:
    record("r-one")
    record("r-one-b")
    assert call("show", "r-one").exit_code == 0  # whole ids come first
    error = call("show", "r-o").exception
    assert isinstance(error, UsageError)
    assert "2 runs" in str(error)
    error = call("show", "r-onf").exception
    assert isinstance(error, RunNotFound)
    assert "did you mean r-one" in str(error)
    assert isinstance(call("show", "").exception, RunNotFound)


def test_delete_forgets_one_run() -> None:
    record("r-one")
    record("s-two")
    assert call("delete", "r").output == "deleted run r-one\n"
    assert [one["run_id"] for one in json.loads(call("list", "--json").output)] == ["s-two"]
    assert isinstance(call("delete", "r").exception, RunNotFound)


def test_a_damaged_journal_is_named_and_the_report_still_shown(home: Path) -> None:
    record("r-one", {"cause": {"statement": "a bad deploy"}})
    db = sqlite3.connect(home / "runs.sqlite")
    db.execute("update records set body='not json' where seq=3")
    db.commit()
    db.close()
    done = call("show", "r-one")
    assert "a bad deploy" in done.output
    assert isinstance(done.exception, JournalDamaged)
    done = call("show", "r-one", "--json")
    assert json.loads(done.output)["journal"]["ok"] is False
    assert isinstance(call("show", "r-one", "--evidence", "a1").exception, JournalDamaged)
