"""The replay of recorded runs: same rules, honest counts, and input that cannot be trusted."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def recorded(
    calls: list[tuple[str, str]], success: bool | None = False, exhausted: bool = True
) -> dict[str, Any]:
    events: list[dict[str, Any]] = [{"type": "user", "text": "go"}]
    for words, text in calls:
        events.append({"type": "tool_call", "name": "search", "args": {"q": words}})
        events.append({"type": "tool_result", "text": text, "sha": text})
    labels = {"success": success, "budget_exhausted": exhausted}
    return {"run_id": "r", "source": "made_up", "labels": labels, "events": events}


def measured(folder: Path, *more: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.stuck", str(folder), "--json", *more],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_counts_of_a_stuck_run_and_of_one_that_succeeds(tmp_path: Path) -> None:
    stuck = recorded([("a", "same")] * 10)
    busy = recorded([(f"q{'x' * n}", f"r{'y' * n}") for n in range(10)], True, False)
    late = recorded([("a", "same")] * 8 + [("b", "found")], True, False)
    lines = [json.dumps(r) for r in (stuck, busy, late)]
    with gzip.open(tmp_path / "runs.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    row = measured(tmp_path)["sources"]["made_up"]
    assert (row["runs"], row["successes"], row["stuck"], row["hard_cap"]) == (3, 2, 1, True)
    simple, ours = row["rules"]["simple"], row["rules"]["ours"]
    assert (simple["false_stops"], simple["recall"], simple["median_step"]) == (1, 1.0, 3)
    assert (simple["calls_saved"], ours["false_stops"], ours["recall"]) == (8, 1, 1.0)
    assert (
        row["rules"]["ours, warned"]["median_step"] <= row["rules"]["ours, withheld"]["median_step"]
    )
    assert row["rules"]["ours, withheld"]["median_step"] < ours["median_step"]


def test_a_fire_on_the_last_permitted_call_counts_for_nothing(tmp_path: Path) -> None:
    run = recorded([("a", "same")] * 3)
    (tmp_path / "runs.jsonl").write_text(json.dumps(run), encoding="utf-8")
    assert measured(tmp_path)["sources"]["made_up"]["rules"]["simple"]["caught"] == 0


@pytest.mark.parametrize(
    "line",
    [
        "{", "[]", "null", '{"events": 3}', "\x00\x01", "[" * 100_000,
        '{"events": [{"type": "tool_result"}, 7, {"type": "dance"}, {"type": "tool_call"}]}',
        '{"labels": [], "events": [{"type": "tool_call", "args": [1]}, {"type": "tool_result"}]}',
        '{"source": 5, "labels": {"success": "yes"}, "events": [{"type": "model"}]}',
    ],
)  # fmt: skip
def test_lines_that_cannot_be_used_are_counted_and_the_rest_is_read(
    tmp_path: Path, line: str
) -> None:
    good = json.dumps(recorded([("a", "same")] * 10))
    (tmp_path / "runs.jsonl").write_bytes(f"{good}\n{line}\n\n{good}\n".encode() + b"\xff\xfe\n")
    read = measured(tmp_path)
    assert read["lines"] == 4
    assert read["bad"]
    assert read["sources"]["made_up"]["stuck"] == 2


def test_a_file_that_was_cut_off_gives_what_it_holds(tmp_path: Path) -> None:
    good = json.dumps(recorded([("a", "same")] * 10)) + "\n"
    whole = gzip.compress((good * 500).encode())
    (tmp_path / "runs.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    read = measured(tmp_path)
    assert "file ends too early or is no gzip" in read["bad"]


def test_a_path_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.stuck", str(tmp_path / "none.jsonl")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
