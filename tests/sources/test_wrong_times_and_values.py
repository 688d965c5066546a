"""Times that cannot be right and values that are no numbers: left out, counted and named."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.investigate.incident import load_incident
from roundsman.sources import IncidentFolder, Unseen, metric_files
from roundsman.sources.extents import sensible_end
from roundsman.sources.times import LATEST, iso, parse_time

START = 1_769_850_000.0
HEAD = "timestamp,service,metric,value\n"


def folder(root: Path, rows: str = "", lines: str = "", name: str = "a.csv") -> Path:
    if rows:
        (root / "metrics").mkdir()
        (root / "metrics" / name).write_text(rows)
    if lines:
        (root / "logs").mkdir()
        (root / "logs" / "api.log").write_text(lines)
    return root


def samples(metric: str = "load", unit: str = "", count: int = 40) -> str:
    return "".join(f"{iso(START + i * 60)},api,{metric},{i}{unit}\n" for i in range(count))


def lines(count: int = 40) -> str:
    return "".join(f"{iso(START + i * 60)} INFO served {i}\n" for i in range(count))


@pytest.mark.parametrize("large", [False, True])
def test_a_series_whose_values_carry_a_unit_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    if large:
        monkeypatch.setattr(metric_files, "_IN_MEMORY", 0)
    text = HEAD + samples() + samples("errors", " ms")
    found = IncidentFolder(folder(tmp_path, text)).unseen
    assert Unseen("a.csv", metric_files.UNUSABLE, 40) in found
    assert Unseen("a.csv", "series without one usable sample: api errors", 1) in found


def test_a_column_without_numbers_is_named(tmp_path: Path) -> None:
    text = "timestamp,a_cpu,b_cpu\n" + "".join(
        f"{iso(START + i * 60)},{i},{i} %\n" for i in range(9)
    )
    found = IncidentFolder(folder(tmp_path, text)).unseen
    assert Unseen("a.csv", "series without one usable sample: b cpu", 1) in found


@pytest.mark.parametrize("late", ["9999-12-31T00:00:00Z", "2199-01-01T00:00:00Z"])
@pytest.mark.parametrize("large", [False, True])
def test_a_sample_dated_never_moves_no_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str, large: bool
) -> None:
    if large:
        monkeypatch.setattr(metric_files, "_IN_MEMORY", 0)
    text = HEAD + samples() + f"{late},api,load,1\n"
    incident = load_incident(folder(tmp_path, text))
    assert incident.window.end == START + 39 * 60 + 1
    assert any(one["what"] in ("a.csv", "metrics") for one in incident.unseen)


@pytest.mark.parametrize("late", ["9999-12-31T00:00:00Z", "2031-01-01T00:00:00Z"])
def test_a_line_dated_never_moves_no_window(tmp_path: Path, late: str) -> None:
    incident = load_incident(folder(tmp_path, lines=lines() + f"{late} INFO expires\n"))
    assert incident.window.end == START + 39 * 60 + 1


def test_an_alert_dated_never_is_an_alert_without_a_time(tmp_path: Path) -> None:
    folder(tmp_path, HEAD + samples())
    alert = {"startsAt": "9999-12-31T00:00:00Z", "labels": {"alertname": "High", "service": "api"}}
    (tmp_path / "alert.json").write_text(json.dumps(alert))
    incident = load_incident(tmp_path)
    assert incident.window.end == START + 39 * 60 + 1
    assert any("without a readable time" in one["why"] for one in incident.unseen)


@settings(deadline=None)
@given(
    st.integers()
    | st.floats()
    | st.text()
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC))
    | st.datetimes(min_value=datetime(1971, 1, 2)).map(lambda at: at.isoformat() + "Z")
)
def test_every_time_that_is_read_can_be_written(value: object) -> None:
    at = parse_time(value)
    if at is not None:
        assert at < LATEST
        assert iso(at + 3600)


@settings(deadline=None)
@given(
    good=st.lists(st.integers(0, 80_000), min_size=8, max_size=200).map(sorted),
    late=st.integers(200_000, 2_000_000_000),
)
def test_one_late_time_does_not_move_the_end(good: list[int], late: int) -> None:
    times = np.array([*good, late], dtype=np.float64)
    assert sensible_end(times) == (float(good[-1]), 1)
    assert sensible_end(times[:-1]) == (float(good[-1]), 0)
