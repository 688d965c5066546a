"""The line below each piece of evidence shows what the evidence claims."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from tests.investigate.test_competing_causes import facts, line, metric
from tests.investigate.test_long_windows import incident, report_of

from roundsman.investigate.claims import with_queries
from roundsman.investigate.incident import load_incident
from roundsman.report.view import build

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
