"""Telemetry as it comes: stopped, skewed, written in two ways, elsewhere, far too much."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.investigate.test_incident_outage import EXAMPLES, answer

from roundsman.errors import SourceError
from roundsman.investigate import metric_tool
from roundsman.investigate.incident import load_incident
from roundsman.investigate.tools import make_tools
from roundsman.sources.times import iso, parse_time

SLOTS = EXAMPLES / "connection-slots"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SLOTS, tmp_path / "incident"))


def ask_metrics(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    incident = load_incident(folder)
    return make_tools(incident)[0](), incident.unseen


def test_logs_whose_clock_is_three_minutes_late_hide_no_change(folder: Path) -> None:
    for file in (folder / "logs").glob("*.ndjson"):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        for row in rows:
            row["ts"] = iso((parse_time(row["ts"]) or 0) + timedelta(minutes=3).total_seconds())
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, cause = answer(folder)
    assert "POOL_SIZE from 4 to 20" in cause["change"]


def test_metrics_that_stop_are_named_and_the_logs_still_tell(folder: Path) -> None:
    for file in (folder / "metrics").glob("*.csv"):
        head, *rows = file.read_text().splitlines()
        file.write_text("\n".join([head, *(r for r in rows if r < "2026-11-30T08:57:45")]) + "\n")
    _, unseen = ask_metrics(folder)
    assert any(one["why"] == "no series has a sample there" for one in unseen)
    _, cause = answer(folder)
    assert "POOL_SIZE from 4 to 20" in cause["change"]


def test_metrics_up_to_the_end_are_not_called_stopped(folder: Path) -> None:
    _, unseen = ask_metrics(folder)
    assert not any(one["why"] == "no series has a sample there" for one in unseen)


def test_a_service_written_in_two_ways_does_not_suffer_from_itself(folder: Path) -> None:
    for file in (folder / "metrics").glob("http*.csv"):
        file.write_text(file.read_text().replace(",ticket-api,", ",Ticket-API,"))
    _, cause = answer(folder)
    assert cause["service"] == "ticket-api"
    assert "ticket-api" not in [name.lower() for name in cause["affected"]]


def test_a_window_without_data_says_where_the_data_is(folder: Path) -> None:
    window = "{start: 2026-11-29T08:00:00Z, end: 2026-11-29T09:00:00Z}"
    (folder / "incident.yaml").write_text(f"window: {window}\n")
    incident = load_incident(folder)
    assert any("outside the window" in one["why"] for one in incident.unseen)
    _, cause = answer(folder)
    assert cause["abstained"]
    assert cause["because"] == "there is no metric and no log line in what was looked at"


def test_of_too_many_series_the_one_that_moved_is_found_and_the_rest_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, _ = ask_metrics(folder)
    monkeypatch.setattr(metric_tool, "_MOST_FITTED", 20)
    result, unseen = ask_metrics(folder)
    assert result["counts"]["series"] == whole["counts"]["series"] > 20
    assert any(one["count"] == whole["counts"]["series"] - 20 for one in unseen)
    furthest = {one["metric"] for one in whole["series"] if one.get("far", 0) > 5}
    assert furthest & {one["metric"] for one in result["series"]}


def test_what_could_not_be_read_is_told_before_what_follows_from_it(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "api.log").write_bytes(b"no time in here\n")
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "a.csv").write_text("this,is,no\nmetric,at,all\n")
    with pytest.raises(SourceError) as told:
        load_incident(tmp_path)
    cause, _, rest = str(told.value).partition("; so no time can be read in it; ")
    assert "a.csv" in cause
    assert rest.startswith("mend that, or give a window in incident.yaml")
