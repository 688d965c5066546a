"""What to do next when no cause is found: users who suffer are no reason to keep watching."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.investigate.test_competing_causes import facts, line, metric
from tests.investigate.test_long_windows import BEGIN, incident, report_of

from roundsman.errors import SourceError
from roundsman.investigate.advice import WATCH, without_cause
from roundsman.investigate.causes import judge
from roundsman.investigate.incident import load_incident
from roundsman.investigate.lost import with_lost
from roundsman.report.terminal import to_terminal
from roundsman.sources.times import iso

ERRORS = metric("errors", 0.1, 9)


def advice(*rows: Any) -> str:
    found = facts([one for one in rows if "metric" in one], [one for one in rows if "level" in one])
    assert judge(found).best is None
    return without_cause(found, judge(found))


def test_an_outage_without_a_cause_is_handed_on_with_what_is_known() -> None:
    line_of = line("cannot book seat <n>") | {"example": "x ERROR cannot book seat 12"}
    said = advice(ERRORS, metric("errors", 0.1, 9, "web"), line_of)
    assert said.startswith("escalate, do not wait: failing since 2026-01-01T10:05:00Z, in ")
    assert "api" in said
    assert "web" in said
    assert 'errors say "cannot book seat 12"' in said
    assert "keep watching" not in said


def test_without_errors_in_the_logs_the_metric_speaks() -> None:
    assert "api errors went from 0.1 to 9" in advice(ERRORS)


def test_what_nobody_feels_is_watched() -> None:
    assert advice(metric("load_average", 1, 1.2)) == WATCH
    assert advice() == WATCH


def test_what_is_over_is_not_handed_on() -> None:
    assert "escalate if it comes back" in advice(line("lost it", last="2026-01-01T10:05:02Z"))


def test_the_first_screen_of_an_outage_without_a_cause(tmp_path: Path) -> None:
    folder = incident(tmp_path / "case", 1, 30)
    (folder / "deploys.json").write_text(json.dumps([{"service": "api", "version": "v7"}]))
    report = report_of(folder, tmp_path)
    cause = report["cause"]
    assert cause["abstained"]
    assert cause["because"].startswith("not seen: deploys.json (no record has a time;")
    assert f"failing since {iso(BEGIN + 1800)}, in api" in cause["next_action"]
    assert "upstream refused the connection" in cause["next_action"]
    page = io.StringIO()
    to_terminal(report, Console(file=page, width=80))
    shown = page.getvalue()
    assert "\nAffected  api" in shown
    assert "Also affected" not in shown


def test_a_log_of_which_nothing_could_be_used_stands_in_the_because(tmp_path: Path) -> None:
    folder = incident(tmp_path / "case", 1, 30)
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "logs" / "noise.log").write_bytes(b"\x8f\xf1\n\x9c\xfe" * 500)
    cause = report_of(folder, tmp_path)["cause"]
    assert "not seen: log file noise.log (no line with a readable time)" in cause["because"]


@pytest.mark.parametrize(
    "what", ["deploys.json", "context/flags.json", "metrics", "logs/a/b.log", "log file b.log"]
)
def test_files_that_were_not_used_stand_where_the_verdict_says_why(what: str) -> None:
    unseen = [{"what": what, "why": "cannot be read", "count": 1}]
    none = with_lost({"abstained": True, "because": "nothing moved"}, unseen)
    assert none["because"] == f"not seen: {what} (cannot be read); nothing moved"
    found = with_lost({"abstained": False, "because": "it fits"}, unseen)
    assert found["because"] == f"it fits; not seen: {what} (cannot be read)"


@pytest.mark.parametrize("what", ["api.log", "telemetry from 10:00 to 11:00", "metrics.api"])
def test_lines_that_were_not_read_do_not(what: str) -> None:
    unseen = [{"what": what, "why": "over the budget", "count": 7}]
    assert with_lost({"because": "x"}, unseen) == {"because": "x"}


def test_a_window_beside_the_telemetry_is_answered_with_where_that_lies(tmp_path: Path) -> None:
    folder = incident(tmp_path / "case", 1, 30)
    late = f"window: {{start: {iso(BEGIN + 90_000)}, end: {iso(BEGIN + 93_600)}}}\n"
    (folder / "incident.yaml").write_text(late)
    cause = report_of(folder, tmp_path)["cause"]
    where = f"{iso(BEGIN)} to {iso(BEGIN + 3570)}"
    assert cause["because"].startswith(
        f"all telemetry lies outside the window asked for: it is from {where}"
    )
    assert where in cause["next_action"]
    assert "keep watching" not in cause["next_action"]


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("apj", "nothing in the telemetry is of it; did you mean 'api'?"),
        ("warehouse", "nothing in the telemetry is of it"),
        ("API", ""),
        ("biller", ""),
    ],
)
def test_a_service_nothing_is_of_is_told(tmp_path: Path, named: str, why: str) -> None:
    folder = incident(tmp_path / "case", 1, None)
    record = {"ts": iso(BEGIN + 60), "level": "info", "service": "biller", "msg": "sent"}
    (folder / "logs" / "all.ndjson").write_text(json.dumps(record))
    with (folder / "incident.yaml").open("a") as file:
        file.write(f"services: [{named}]\n")
    report = report_of(folder, tmp_path)
    told = [one["why"] for one in report["unseen"] if one["what"] == f"service {named!r}"]
    assert [one.partition("and ")[2] for one in told] == ([why] if why else [])
    assert (f"not seen: service {named!r}" in report["cause"]["because"]) is bool(why)


@pytest.mark.parametrize("given", ["5", "true", "[a]", "2026-01-01"])
def test_a_question_that_is_no_text_is_refused(tmp_path: Path, given: str) -> None:
    folder = incident(tmp_path / "case", 1, None)
    (folder / "incident.yaml").write_text(f"question: {given}\n")
    with pytest.raises(SourceError, match=r"incident\.yaml: question must be a text, got "):
        load_incident(folder)
