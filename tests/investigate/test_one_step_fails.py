"""A step of the analysis that raises is named in the report, and the others still give a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.investigate.test_incident_outage import OUTAGE, answer

from roundsman.investigate import causes, conditions, metric_tool, suspects, tools, verdict
from roundsman.investigate.incident import load_incident
from roundsman.investigate.run import investigate
from roundsman.ledger import open_store
from roundsman.policy import load_policy


def fails(*args: Any, **kwargs: Any) -> Any:
    raise ZeroDivisionError("float division by zero")


def test_without_a_failure_nothing_is_named() -> None:
    _, cause = answer(OUTAGE)
    assert not cause["broken"]
    assert cause["confidence"] == "high"
    assert "failed" not in cause["because"]


@pytest.mark.parametrize(
    ("room", "step", "named", "accuses"),
    [
        (verdict, "rank", "ranking the services", True),
        (verdict, "_rest", "the alternatives", True),
        (causes, "place_of", "where it began", True),
        (conditions, "_traffic", "weighing more traffic", True),
        (causes, "harm_of", "what users suffered", False),
        (causes, "suspects", "weighing the changes", False),
        (suspects, "_weigh_effects", "weighing deploy", False),
    ],
)
def test_a_failing_step_of_the_verdict_is_named_and_makes_it_less_sure(
    room: Any, step: str, named: str, accuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, step, fails)
    _, cause = answer(OUTAGE)
    told = [one for one in cause["broken"] if one["what"].startswith(named)]
    assert told
    assert "ZeroDivisionError" in told[0]["why"]
    assert "a part of the analysis failed" in cause["because"]
    assert cause["abstained"] is not accuses
    if accuses and room is causes:
        assert cause["confidence"] == "low"


@pytest.mark.parametrize(
    ("room", "step", "named"),
    [
        (metric_tool, "_furthest", "services that moved"),
        (metric_tool, "_trends", "since when metrics grow"),
        (metric_tool, "_note_gaps", "where metrics stop"),
        (tools, "makeups", "what services log now and before"),
    ],
)
def test_a_failing_step_of_a_tool_leaves_the_rest_of_its_answer(
    room: Any, step: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, step, fails)
    incident = load_incident(OUTAGE)
    found = [tool() for tool in tools.make_tools(incident)[:2]]
    assert [one["status"] for one in found] == ["ok", "ok"]
    assert any(row.get("moved") for row in found[0]["series"])
    assert found[1]["templates"]
    assert any(one["what"] == named and "ZeroDivision" in one["why"] for one in incident.unseen)


def test_one_series_that_cannot_be_fitted_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = tools.make_tools(load_incident(OUTAGE))[0]()
    fit = metric_tool.find_onset

    def picky(series: Any, extent: Any) -> Any:
        return fails() if series.metric == whole["series"][0]["metric"] else fit(series, extent)

    monkeypatch.setattr(metric_tool, "find_onset", picky)
    incident = load_incident(OUTAGE)
    rest = tools.make_tools(incident)[0]()
    assert 0 < len(rest["series"]) < len(whole["series"])
    assert any(one["what"] == "when a metric moved" for one in incident.unseen)


def test_the_report_says_what_failed_beside_the_cause_it_still_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict, "rank", fails)
    report, _ = investigate(OUTAGE, load_policy("default"), store=open_store(tmp_path))
    assert report["services"] == []
    assert not report["cause"]["abstained"]
    assert report["cause"]["change"]
    assert "broken" not in report
    assert [one["what"] for one in report["unseen"]].count("ranking the services") == 1
