"""The line below each piece of evidence shows what the evidence claims."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.investigate.test_competing_causes import facts, line, metric
from tests.investigate.test_long_windows import incident, report_of

from roundsman.investigate.claims import with_queries, with_words
from roundsman.investigate.incident import load_incident
from roundsman.investigate.run import investigate
from roundsman.ledger import Store
from roundsman.policy import load_policy
from roundsman.report.view import build
from roundsman.testing import ScriptedModel, call

QUERY = {"from": "2026-01-01T09:30:00Z", "to": "2026-01-01T10:30:00Z"}


def queries(folder: Path, statement: str, **query: Any) -> dict[str, str]:
    found = facts([metric("errors", 0, 9), metric("errors_total", 0, 9)], [line("lost <n> items")])
    finding: dict[str, Any] = {"statement": statement, "evidence": ["a1", "a2"]}
    rows = [
        {"id": "a1", "tool": "query_metrics", "query": QUERY | query},
        {"id": "a2", "tool": "query_logs", "query": QUERY | query},
    ]
    with_queries([finding], rows, found, load_incident(folder))
    return finding.get("queries", {})


def test_a_claim_from_a_wide_question_gets_the_line_of_its_series(tmp_path: Path) -> None:
    folder = incident(tmp_path / "case", 1, 30)
    made = queries(folder, 'api errors_total went up; then api first logged "lost <n> items"')
    assert made["a1"].endswith("| grep -iF -- errors_total")
    assert "-- 'lost'" in made["a2"] or "items" in made["a2"]
    assert queries(folder, "something went wrong") == {}
    assert queries(folder, "api errors went up", metric="errors") == {}


def test_every_line_on_the_first_screen_finds_what_stands_above_it(tmp_path: Path) -> None:
    folder = incident(tmp_path / "case", 1, 30)
    (folder / "deploys.json").unlink()
    top = build(report_of(folder, tmp_path)).top
    assert len(top) >= 2
    for one in top:
        assert "head -n" not in one.query, one
        found = subprocess.run(one.query, shell=True, capture_output=True, text=True, check=True)
        word = "error_rate" if "error_rate" in one.statement else "upstream refused"
        assert word in found.stdout, one


def test_what_a_model_did_not_word_is_worded_from_what_was_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = incident(tmp_path / "case", 1, 30)
    asked = [
        call("query_metrics", window_minutes=60),
        call("query_logs", window_minutes=60),
        call("list_deploys", window_minutes=60),
    ]
    claim = {"statement": "api fails since a deploy", "evidence": ["a1", "a2", "a3"]}
    script = [asked, json.dumps({"findings": [claim], "done": True})]
    monkeypatch.setattr("roundsman.investigate.run.model_named", lambda *_: ScriptedModel(script))
    store = Store(tmp_path / "s.sqlite")
    report, _ = investigate(folder, load_policy("default"), model="scripted", store=store)
    store.close()
    shows = {row["id"]: row["shows"] for row in report["evidence"]}
    assert "error_rate went from" in shows["a1"]
    assert 'first logged [ERROR] "ERROR upstream refused the connection' in shows["a2"]
    assert shows["a3"].startswith("deploy v7 of ")
    lines = [row.get("shows_query", "") for row in report["evidence"]]
    for query, word in zip(lines, ("error_rate", "upstream refused"), strict=False):
        found = subprocess.run(query, shell=True, capture_output=True, text=True, check=True)
        assert word in found.stdout
    assert lines[2] == ""  # it is the whole list already
    for one in build(report).top:
        assert "points:" not in one.statement
        assert "kind:" not in one.statement


def test_a_result_that_shows_nothing_is_left_without_words(tmp_path: Path) -> None:
    folder = incident(tmp_path / "case", 1, 30)
    results: list[Any] = [{"status": "empty"}, "text", None, {"changes": "x"}]
    whole = [{"id": f"a{n}", "tool": "t", "result": one} for n, one in enumerate(results)]
    rows = [{"id": one["id"]} for one in whole]
    with_words(rows, whole, load_incident(folder))
    assert rows == [{"id": f"a{n}"} for n in range(len(results))]
