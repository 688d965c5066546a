"""Every part of the window is asked for, and nothing is said of what was not looked at."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.investigate import investigate
from roundsman.investigate.windows import MINUTES, OVERLAP, earlier_minutes, offsets, unasked
from roundsman.ledger import Store
from roundsman.policy import load_policy
from roundsman.sources import Window
from roundsman.sources.times import iso

BEGIN = 1_769_850_000.0


def incident(
    folder: Path,
    hours: float,
    outage: float | None,
    *,
    window: bool = True,
    errors_from: float = -1,
) -> Path:
    """A folder of `hours`; an outage from that minute on, with the deploy half a minute before it."""
    (folder / "metrics").mkdir(parents=True)
    (folder / "logs").mkdir()
    minutes = int(hours * 60)
    rows, lines = ["timestamp,service,metric,value"], []
    for tick in range(minutes * 2):
        at = BEGIN + tick * 30
        bad = outage is not None and tick / 2 >= outage
        rows.append(f"{iso(at)},api,error_rate,{50 + tick % 3 if bad else 1 + tick % 2 * 0.1}")
        rows.append(f"{iso(at)},api,load,{100 + tick % 5}")
        lines.append(f"{iso(at)} INFO request served in {tick % 7} ms")
        if bad or 0 <= errors_from <= tick / 2:
            lines.append(f"{iso(at)} ERROR upstream refused the connection, attempt {tick}")
    (folder / "metrics" / "api.csv").write_text("\n".join(rows) + "\n")
    (folder / "logs" / "api.log").write_text("\n".join(lines) + "\n")
    if outage is not None:
        change = {
            "at": iso(BEGIN + outage * 60 - 30),
            "service": "api",
            "version": "v7",
            "env": {"UPSTREAM": "b"},
            "previous_env": {"UPSTREAM": "a"},
        }
        (folder / "deploys.json").write_text(json.dumps([change]))
    if window:
        end = iso(BEGIN + minutes * 60)
        (folder / "incident.yaml").write_text(f"window: {{start: {iso(BEGIN)}, end: {end}}}\n")
    return folder


def report_of(folder: Path, tmp_path: Path, policy: str = "default") -> dict[str, Any]:
    return investigate(folder, load_policy(policy), store=Store(tmp_path / "s.sqlite"))[0]


@pytest.mark.parametrize("outage", [20, 60, 120, 122.5, 165, 255, 300, 345])
@pytest.mark.parametrize("window", [True, False])
def test_an_outage_anywhere_in_six_hours_is_found(
    tmp_path: Path, outage: float, window: bool
) -> None:
    report = report_of(incident(tmp_path / "case", 6, outage, window=window), tmp_path)
    cause = report["cause"]
    assert not cause["abstained"], cause["because"]
    assert "v7" in cause["change"]
    assert cause["since"] == iso(BEGIN + outage * 60)
    assert not [one for one in report["unseen"] if "no question" in one["why"]]
    assert report["stop"]["reason"] == "done"


@pytest.mark.parametrize("policy", ["default", "strict", "baseline"])
def test_the_longest_walk_fits_every_preset(tmp_path: Path, policy: str) -> None:
    report = report_of(incident(tmp_path / "case", 14, 13.5 * 60), tmp_path, policy)
    assert report["stop"]["reason"] == "done"
    assert "v7" in report["cause"]["change"]
    left = [one["what"] for one in report["unseen"] if "no question" in one["why"]]
    assert any("logs" in one and iso(BEGIN) in one for one in left)


def test_what_was_not_asked_is_said_beside_an_abstention(tmp_path: Path) -> None:
    report = report_of(incident(tmp_path / "case", 14, 30), tmp_path)
    assert report["cause"]["abstained"]
    assert "part of the window was not looked at" in report["cause"]["because"]


def test_errors_all_through_the_window_are_not_called_none(tmp_path: Path) -> None:
    report = report_of(incident(tmp_path / "case", 1, None, errors_from=0), tmp_path)
    assert report["cause"]["abstained"]
    because = report["cause"]["because"]
    assert "no error appeared" not in because
    assert "120 lines" in because


def test_a_quiet_window_that_was_looked_at_is_called_quiet(tmp_path: Path) -> None:
    because = report_of(incident(tmp_path / "case", 3, None), tmp_path)["cause"]["because"]
    assert because == "no metric moved for good and no error appeared in the logs"


def test_of_what_is_not_there_nothing_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    deploy = [{"at": iso(BEGIN), "service": "api", "version": "v7"}]
    (folder / "deploys.json").write_text(json.dumps(deploy))
    cause = report_of(folder, tmp_path)["cause"]
    assert cause["abstained"]
    assert cause["because"] == "there is no metric and no log line in what was looked at"


def test_a_window_beside_the_data_says_so(tmp_path: Path) -> None:
    folder = incident(tmp_path / "case", 2, 60)
    late = f"window: {{start: {iso(BEGIN + 90_000)}, end: {iso(BEGIN + 93_600)}}}\n"
    (folder / "incident.yaml").write_text(late)
    cause = report_of(folder, tmp_path)["cause"]
    assert cause["abstained"]
    assert "there is no metric and no log line" in cause["because"]


def test_telemetry_before_a_window_that_was_guessed_is_named(tmp_path: Path) -> None:
    report = report_of(incident(tmp_path / "case", 8, None, window=False), tmp_path)
    assert any(iso(BEGIN) in one["what"] for one in report["unseen"])


@settings(deadline=None)
@given(length=st.integers(1, 9 * 60))
def test_pieces_cover_the_window_and_overlap(length: int) -> None:
    whole = Window(BEGIN, BEGIN + length * 60)
    newest = Window(whole.end - MINUTES * 60, whole.end)
    ends = [0, *offsets(earlier_minutes(whole, newest))]
    rows = [
        {
            "tool": "query_logs",
            "status": "ok",
            "query": {
                "from": iso(whole.end - (ago + MINUTES) * 60),
                "to": iso(whole.end - ago * 60),
            },
        }
        for ago in ends
    ]
    assert unasked(whole, ["logs"], rows) == []
    assert all(b - a == MINUTES - OVERLAP for a, b in pairwise(ends))


@settings(deadline=None)
@given(spans=st.lists(st.tuples(st.integers(0, 500), st.integers(1, 120)), max_size=6))
def test_what_was_not_asked_is_the_window_without_what_was(spans: list[tuple[int, int]]) -> None:
    whole = Window(BEGIN, BEGIN + 500 * 60)
    rows = [
        {
            "tool": "query_metrics",
            "status": "ok",
            "query": {"from": iso(BEGIN + a * 60), "to": iso(BEGIN + (a + n) * 60)},
        }
        for a, n in spans
    ]
    told = unasked(whole, ["metrics"], rows)
    free = {m for m in range(500) if not any(a <= m < a + n for a, n in spans)}
    named = set()
    for one in told:
        start, end = one["what"].removeprefix("metrics from ").split(" to ")
        named |= {m for m in range(500) if start <= iso(BEGIN + m * 60) < end}
    assert named <= free
    assert all({m - 1, m + 1} & named == set() for m in free - named)  # only lone minutes are left
