"""Two tries of one task: which pairs are counted, and as what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.second_try import main


def run(series: str, task: str, success: bool, calls: list[str]) -> dict[str, Any]:
    events: list[dict[str, Any]] = [{"type": "user", "text": f"do {task}"}]
    for asked in calls:
        events.append({"type": "tool_call", "name": "search", "args": {"q": asked}})
        events.append({"type": "tool_result", "text": f"of {asked}", "sha": asked})
    labels = {"success": success, "budget_exhausted": not success}
    return {"run_id": f"{series}/{task}", "source": "s", "labels": labels, "events": events}


STUCK, BUSY = ["a"] * 8, ["abc", "klmno", "uvwxyz"]


def test_pairs_are_counted_by_what_the_next_try_was_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        run("sql/m", "1", False, STUCK), run("sql/m_handicap", "1", True, BUSY),
        run("sql/m", "2", False, BUSY), run("sql/m_handicap", "2", False, STUCK),
        run("sql/other", "1", True, BUSY),
        run("qa/base/t1", "1", False, STUCK), run("qa/base/t2", "1", True, BUSY),
        run("qa/base/t4", "1", True, BUSY),
        run("qa/reflexion/t1", "1", False, STUCK), run("qa/reflexion/t2", "1", False, BUSY),
    ]  # fmt: skip
    file = tmp_path / "runs.jsonl"
    file.write_text("\n".join(["{", *map(json.dumps, rows)]))
    assert main([str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {what: tuple(row.values()) for what, row in found.items()} == {
        "more": (2, 1, 1, 1),
        "of its failure": (1, 0, 1, 0),
        "the same": (1, 1, 1, 1),
        "less": (2, 0, 1, 0),
    }
    assert main([str(file)]) == 0
    assert "1 of 2" in capsys.readouterr().out


def test_a_path_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert main([str(tmp_path / "none.jsonl")]) == 2
