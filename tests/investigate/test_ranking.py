"""Services in the order of how likely the cause is in them, when no cause can be named."""

from __future__ import annotations

from typing import Any

from roundsman.investigate.causes import judge
from roundsman.investigate.collect import collect
from roundsman.investigate.ranking import rank

AT = "2026-01-01T10:05:00Z"


def ranked(*results: tuple[str, dict[str, Any]]) -> list[str]:
    facts = collect((f"a{n}", tool, result) for n, (tool, result) in enumerate(results))
    return [one.service for one in rank(facts, judge(facts))]


def far(service: str, far: float, at: str = AT, felt: bool = True) -> dict[str, Any]:
    metric = "latency_p99" if felt else "cpu"
    return {"service": service, "metric": metric, "onset": at, "far": far, "felt": felt}


def other(service: str, far: float) -> dict[str, Any]:
    return {"service": service, "template": "x", "far": far, "at": AT, "share": [0, 1]}


def metrics(*rows: dict[str, Any], **more: Any) -> tuple[str, dict[str, Any]]:
    return "query_metrics", {"status": "ok", "services": list(rows), **more}


GRAPH = ("query_traces", {"status": "ok", "graph": [["web", "api"], ["api", "db"]]})


def test_a_caller_of_what_moved_with_it_comes_behind() -> None:
    assert ranked(metrics(far("web", 40), far("api", 20)), GRAPH) == ["api", "web"]
    assert ranked(metrics(far("web", 40), far("other", 2)), GRAPH)[0] == "web"


def test_what_moved_at_another_time_than_the_alerted_service_does_not_count() -> None:
    early = far("db", 90, "2026-01-01T08:00:00Z")
    alert = {"alert": {"service": "web", "at": "2026-01-01T10:06:00Z"}}
    assert ranked(metrics(early, far("web", 9), far("api", 30), **alert), GRAPH)[0] == "api"


def test_what_a_service_logs_goes_before_how_far_metrics_moved() -> None:
    logs = ("query_logs", {"status": "ok", "services": [other("api", 9), other("db", 5)]})
    assert ranked(metrics(far("web", 40)), logs) == ["api", "db", "web"]


def test_a_resource_that_ran_away_in_one_service_goes_before_that_and_in_many_it_does_not() -> None:
    logs = ("query_logs", {"status": "ok", "services": [other("api", 9)]})
    assert ranked(metrics(far("db", 12, felt=False)), logs)[0] == "db"
    everywhere = [far(name, 12, felt=False) for name in ("db", "web", "cart")]
    assert ranked(metrics(*everywhere), logs)[0] == "api"


def test_requests_that_began_to_fail_go_first() -> None:
    traces = ("query_traces", {"status": "ok", "origins": [{"service": "db", "errors": 4}]})
    logs = ("query_logs", {"status": "ok", "services": [other("api", 9)]})
    assert ranked(metrics(far("web", 40)), logs, traces)[0] == "db"


def test_nonsense_ranks_nobody() -> None:
    assert ranked(("query_metrics", {"status": "ok", "services": [None, {"far": "x"}, 3]})) == []
    assert ranked(("query_metrics", {"status": "ok", "services": "x", "alert": 7})) == []
