"""What one piece of a long window calls new is held against what the other pieces show."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roundsman.investigate import investigate
from roundsman.ledger import Store
from roundsman.policy import load_policy
from roundsman.sources.times import iso

BEGIN = 1_769_850_000.0
SILENT = range(65, 81)  # minutes in which a steady kind of line is not logged


def report_of(folder: Path, at: Callable[[int], int]) -> dict[str, Any]:
    """Three hours in which `at(minute)` error lines stand in each minute."""
    (folder / "logs").mkdir(parents=True)
    lines = []
    for minute in range(180):
        moment = BEGIN + minute * 60
        lines.append(f"{iso(moment)} INFO served {minute}")
        lines += [f"{iso(moment + i)} ERROR could not parse, byte {i}" for i in range(at(minute))]
    (folder / "logs" / "mail.log").write_text("\n".join(lines) + "\n")
    return investigate(folder, load_policy("default"), store=Store(folder / "s.sqlite"))[0]


def said(report: dict[str, Any]) -> str:
    return " ".join(str(one["statement"]) for one in report["findings"])


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_steady_line_that_is_silent_for_a_while_is_not_new(tmp_path: Path, first: int) -> None:
    report = report_of(tmp_path, lambda m: int(m % 3 == first and m not in SILENT))
    assert "logged" not in said(report)
    assert report["cause"]["since"] is None
    assert report["cause"]["affected"] == []


def test_a_rare_line_whose_first_is_late_by_chance_is_not_new(tmp_path: Path) -> None:
    report = report_of(tmp_path, lambda m: int(m > 10 and m % 7 == 0))
    assert "logged" not in said(report)


def test_a_line_that_was_there_and_comes_back_in_numbers_is_told_as_that(tmp_path: Path) -> None:
    report = report_of(tmp_path, lambda m: 20 if m >= 130 else int(m == 3))
    assert "logged again and far more often" in said(report)
    assert "first logged" not in said(report)
    assert report["cause"]["since"] == iso(BEGIN + 130 * 60)


@pytest.mark.parametrize("outage", [20, 70, 100, 150])
def test_a_line_that_is_new_stays_new(tmp_path: Path, outage: int) -> None:
    report = report_of(tmp_path, lambda m: 5 * (m >= outage))
    assert "mail first logged" in said(report)
    assert report["cause"]["since"] == iso(BEGIN + outage * 60)


def test_errors_that_go_on_in_later_pieces_have_not_stopped(tmp_path: Path) -> None:
    because = report_of(tmp_path, lambda m: int(m > 20 and m % 2))["cause"]["because"]
    assert "stopped" not in because


def test_what_a_result_says_of_unmoved_lines_may_be_anything(tmp_path: Path) -> None:
    from roundsman.investigate.recurring import recurring

    rows: list[Any] = [None, 3, {"first": "x", "count": 1}, {"first": iso(BEGIN), "count": "many"}]
    query = {"from": iso(BEGIN), "to": iso(BEGIN + 60)}
    for content in (None, "x", rows):
        assert not recurring([{"query": query, "unmoved": content}, None, 7]).unmoved
    assert json.dumps(rows)
