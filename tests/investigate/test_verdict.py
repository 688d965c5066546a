"""What the verdict accepts, and what it does not believe."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from roundsman.investigate.analyst import plan
from roundsman.investigate.verdict import settle

METRIC = {
    "service": "api",
    "metric": "errors",
    "moved": "step",
    "onset": "2026-01-01T10:05:00Z",
    "before": 0.1,
    "after": 9,
    "score": 20.0,
    "setting": False,
}
DEPLOY = {
    "at": "2026-01-01T10:04:00Z",
    "kind": "deploy",
    "service": "api",
    "name": "v2",
    "diff": {"TIMEOUT_MS": [500, 50]},
    "text": "",
}


def evidence(metrics: list[Any], changes: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "id": "a1",
            "tool": "query_metrics",
            "result": {"status": "ok", "series": metrics, "counts": {"series": 3}},
        },
        {"id": "a2", "tool": "list_deploys", "result": {"status": "ok", "changes": changes}},
    ]


def cause(statement: str, **more: Any) -> dict[str, Any]:
    return {"statement": statement, "evidence": ["a1", "a2"], "role": "cause"} | more


def test_a_grounded_change_before_a_movement_is_the_cause() -> None:
    found = settle([cause("v2 cut TIMEOUT_MS from 500 to 50")], evidence([METRIC], [DEPLOY]))
    assert not found["abstained"]
    assert found["service"] == "api"
    assert found["kind"] == "config_change"


def test_a_number_nobody_saw_is_not_believed() -> None:
    found = settle([cause("v2 cut TIMEOUT_MS from 500 to 77")], evidence([METRIC], [DEPLOY]))
    assert found["abstained"]
    assert "77" in found["alternatives"][0]["why_not"]


def test_a_change_after_the_movement_is_not_the_cause() -> None:
    late = {**DEPLOY, "at": "2026-01-01T10:06:00Z"}
    found = settle([cause("v2 of api did it", change="v2")], evidence([METRIC], [late]))
    assert found["abstained"]
    whys = [one["why_not"] for one in found["alternatives"]]
    assert "came after the first movement" in whys


def test_two_equally_likely_changes_are_not_chosen_between() -> None:
    first = {**DEPLOY, "diff": {}, "name": "v1"}
    second = {**DEPLOY, "diff": {}, "name": "v2", "at": "2026-01-01T10:03:00Z"}
    found = settle([cause("v2 of api did it", change="v2")], evidence([METRIC], [first, second]))
    assert found["abstained"]
    assert "2 changes before it are about as likely" in found["because"]


def test_what_moved_before_the_cause_is_not_told_as_its_beginning() -> None:
    warming = METRIC | {
        "service": "db",
        "metric": "process_cpu_seconds_rate",
        "onset": "2026-01-01T10:03:10Z",
        "before": 0.003,
        "after": 0.008,
        "score": 6.0,
    }
    found = evidence([warming, METRIC], [DEPLOY])
    exchanges = [(one["tool"], {}, one["result"] | {"evidence_id": one["id"]}) for one in found]
    said = plan("", exchanges)
    assert isinstance(said, dict)
    (own,) = [one for one in said["findings"] if one["role"] == "cause"]
    assert "process_cpu" not in own["statement"]
    early = cause("v2 cut TIMEOUT_MS from 500 to 50", change="v2", since=warming["onset"])
    for proposal in (own, early, early | {"since": None}):
        settled = settle([proposal], found)
        assert (settled["abstained"], settled["since"]) == (False, METRIC["onset"])


def test_without_a_movement_there_is_no_cause() -> None:
    found = settle([cause("v2 of api did it", change="v2")], evidence([], [DEPLOY]))
    assert found["abstained"]
    assert found["because"] == "no metric moved for good"


def test_a_finding_that_cites_nothing_is_not_believed() -> None:
    proposal = cause("v2 of api did it") | {"evidence": ["a9"]}
    found = settle([proposal], evidence([METRIC], [DEPLOY]))
    assert found["abstained"]
    assert found["alternatives"][0]["why_not"] == "it cites no result of this run"


def test_a_run_without_results_abstains() -> None:
    assert settle([], [])["because"] == "no tool gave a result to judge by"


def test_blocked_and_broken_results_do_not_stop_the_analyst() -> None:
    said = plan("", [("query_logs", {}, {"status": "blocked"}), ("query_metrics", {}, "nonsense")])
    assert said == {"findings": [], "done": True}


def test_nothing_moved_is_said_with_what_was_looked_at() -> None:
    result = {"status": "ok", "series": [], "counts": {"series": 7, "moved": 0}}
    said = plan("", [("query_metrics", {}, result)])
    assert isinstance(said, dict)
    assert "7 series" in said["findings"][0]["statement"]


def test_the_verdict_needs_nothing_of_the_suspect_it_judges() -> None:
    code = (
        "import sys, roundsman.investigate.verdict; "
        "assert not [m for m in sys.modules if 'analyst' in m or m.startswith('google.adk')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_who_only_got_faster_is_not_affected() -> None:
    faster = METRIC | {"service": "cart", "metric": "latency_p95", "before": 140, "after": 60}
    slower = METRIC | {"service": "web", "metric": "latency_p95", "before": 60, "after": 140}
    found = settle([], evidence([METRIC, faster, slower], []))
    assert found["affected"] == ["api", "web"]


def test_a_weaker_cause_says_what_speaks_for_it_and_how_little() -> None:
    strong = DEPLOY | {"diff": {"errors_timeout": [500, 50]}, "name": "v3"}
    could = [{"what": "a new query", "can": ["error"], "line": "x"}]
    weak = DEPLOY | {"diff": {}, "effects": could, "read": True, "at": "2026-01-01T09:30:00Z"}
    found = settle([cause("v3 of api did it", change="v3")], evidence([METRIC], [strong, weak]))
    assert not found["abstained"]
    (other,) = found["alternatives"]
    assert other["why_not"].startswith("less speaks for it (3.79: on the service in which")
    assert other["why_not"].endswith(
        ") than for the cause (4.5: timeout lowered, which can bring about what was seen (error): "
        "errors_timeout from 500 to 50)"
    )
