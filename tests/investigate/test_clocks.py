"""Sources that go by different clocks: it is said, and no change is convicted whose order depends on it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.invented.stories import rate_limit
from benchmarks.invented.styles import style
from benchmarks.invented.world import World
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.investigate.test_competing_causes import can, change, facts, line, metric
from tests.investigate.test_incident_outage import EXAMPLES, answer

from roundsman.analysis.clocks import agreed, shifted, span
from roundsman.investigate.causes import judge
from roundsman.investigate.clocks import skews
from roundsman.investigate.incident import load_incident
from roundsman.report import to_html, to_markdown, to_terminal
from roundsman.sources import Window
from roundsman.sources.times import iso, parse_time

HOUR = 3600.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = World(np.random.default_rng(8), style(0), 1_790_000_000.0)
    rate_limit(world)
    folder = tmp_path_factory.mktemp("made") / "incident"
    world.write(folder)
    return folder


def later(folder: Path, target: Path, seconds: float, *names: str) -> Path:
    """A copy in which the times of these files are so many seconds later."""
    target.mkdir()
    for file in folder.iterdir():
        if not file.is_file() or file.name not in names:
            (target / file.name).write_bytes(file.read_bytes())
            continue
        text = file.read_text()
        rows = json.loads(text) if file.suffix == ".json" else map(json.loads, text.splitlines())
        moved = [
            {k: iso((parse_time(v) or 0) + seconds) if k in ("ts", "start", "timestamp") else v
             for k, v in row.items()}
            for row in rows
        ]  # fmt: skip
        whole = json.dumps(moved) if file.suffix == ".json" else "\n".join(map(json.dumps, moved))
        (target / file.name).write_text(whole)
    return target


def test_equal_clocks_are_not_suspected(made: Path) -> None:
    _, cause = answer(made)
    assert "caution" not in cause
    assert "RATE_LIMIT_RPS" in cause["change"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(HOUR, "1 h ahead of"), (-2 * HOUR, "2 h behind"), (5.5 * HOUR, "5 h 30 min ahead of")],
)
def test_logs_of_another_zone_are_told_with_their_shift(
    made: Path, tmp_path: Path, seconds: float, said: str
) -> None:
    _, cause = answer(later(made, tmp_path / "x", seconds, "logs.ndjson"))
    assert cause["caution"].startswith(f"clocks differ: logs are {said} metrics")
    assert "times were not corrected" in cause["caution"]
    assert any("one clock for logs and metrics" in one["what"] for one in cause["broken"])
    assert cause["confidence"] == "low"


def test_the_first_screen_says_it() -> None:
    said = "clocks differ: logs are 1 h ahead of metrics (x); times were not corrected"
    out = io.StringIO()
    report = {"cause": {"statement": "v2", "service": "api", "because": "y", "caution": said}}
    to_terminal(report, Console(file=out, width=200))
    screen, _, _ = out.getvalue().partition("How  ")
    assert f"Caution  {said}" in screen
    assert said in to_markdown(report)
    assert said in to_html(report)


def test_traces_of_another_zone_are_told(made: Path, tmp_path: Path) -> None:
    _, cause = answer(later(made, tmp_path / "x", 3 * HOUR, "traces.ndjson"))
    assert "traces are 3 h ahead of metrics" in cause["caution"]


def test_logs_some_minutes_off_are_told_by_errors_counted_and_logged() -> None:
    counted = [metric("errors_per_second", 0, 9, name) for name in ("api", "web")]
    at = "2026-01-01T10:12:00Z"
    (found,) = skews(facts(counted, [line("boom", name, at) for name in ("api", "web")]))
    assert found.said == "logs are 7 min ahead of metrics"
    assert not skews(facts(counted, [line("boom", "api", at)]))  # one service is no evidence
    uneven = [line("boom", "api", at), line("boom", "web", "2026-01-01T10:16:00Z")]
    assert not skews(facts(counted, uneven))


def test_a_deploy_whose_setting_was_measured_hours_before_it_is_of_another_clock() -> None:
    size = metric("pool_max", 4, 20, setting=True)
    late = change("v2", "2026-01-01T12:04:50Z", diff={"POOL": [4, 20]})
    (found,) = skews(facts([size], changes=[late]))
    assert found.said == "changes are 2 h ahead of metrics"
    assert not skews(facts([size], changes=[change("v2", diff={"POOL": [4, 20]})]))


def test_a_change_that_came_first_by_one_clock_only_is_not_convicted() -> None:
    guilty = change("v1", "2026-01-01T10:04:00Z", **can("only ever grows", "memory"))
    errors = [metric("errors", 0, 9, "api", "2026-01-01T10:05:00Z")]
    found = facts(errors, [line("killed: out of memory")], [guilty])
    assert judge(found).best is not None
    found.clocks = [{"of": "logs", "against": "metrics", "seconds": 3600.0, "by": "x"}]
    judged = judge(found)  # were the logs' clock right for changes, it came after the harm
    assert judged.best is None
    assert "logs are 1 h ahead of metrics" in judged.why_none
    early = change("v0", "2026-01-01T09:58:00Z", **can("only ever grows", "memory"))
    found = facts(errors, [line("killed: out of memory")], [early])
    found.clocks = [{"of": "logs", "against": "metrics", "seconds": 180.0, "by": "x"}]
    judged = judge(found)
    assert judged.best is not None  # before it by every clock
    assert judged.confidence(judged.best, found) == "low"


def test_an_alert_far_from_all_telemetry_is_said(tmp_path: Path, made: Path) -> None:
    folder = later(made, tmp_path / "x", 0)
    alert = json.loads((folder / "alert.json").read_text())
    alert["timestamp"] = iso((parse_time(alert["timestamp"]) or 0) + 9 * HOUR)
    (folder / "alert.json").write_text(json.dumps(alert))
    assert any("outside of the telemetry" in one["what"] for one in load_incident(folder).unseen)


@pytest.mark.parametrize("name", sorted(one.name for one in EXAMPLES.iterdir() if one.is_dir()))
def test_the_shipped_recordings_have_one_clock(name: str) -> None:
    _, cause = answer(EXAMPLES / name)
    assert "caution" not in cause


@given(st.integers(-28, 28), st.floats(-100, 100), st.floats(400, 90_000))
def test_shifts_of_half_hours_are_found_and_no_others(
    halves: int, off: float, length: float
) -> None:
    lag = halves * 1800 + off
    found = shifted({"metrics": Window(0, length), "logs": Window(lag, length + lag)})
    assert [one.seconds for one in found] == ([halves * 1800] if halves else [])
    assert not shifted({"metrics": Window(0, length), "logs": Window(lag, 3 * length + lag + 900)})
    assert not shifted({"logs": Window(0, length)})


@given(st.lists(st.floats(-1e5, 1e5), max_size=6))
def test_a_lag_is_agreed_on_or_there_is_none(lags: list[float]) -> None:
    found: Any = agreed(lags)
    if found is not None:
        assert max(abs(lag - found) for lag in lags) <= 90
        assert abs(found) >= 240
        assert span(abs(found))
