"""Causes weighed against each other: changes by what they can produce, conditions by what shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from roundsman.analysis import growing_since, ran_out
from roundsman.investigate.advice import next_action
from roundsman.investigate.analyst import plan
from roundsman.investigate.causes import against, judge
from roundsman.investigate.collect import collect
from roundsman.investigate.facts import Facts
from roundsman.investigate.verdict import settle
from roundsman.sources import Series

Row = dict[str, Any]

AT = "2026-01-01T10:05:00Z"
END = "2026-01-01T10:30:00Z"


def metric(
    name: str, before: Any, after: Any, service: str = "api", at: str = AT, **more: Any
) -> Row:
    return {"service": service, "metric": name, "moved": "step", "onset": at, "before": before,
            "after": after, "score": 20.0, "setting": False} | more  # fmt: skip


def line(
    text: str, service: str = "api", at: str = AT, last: str = END, level: str = "ERROR"
) -> Row:
    return {"service": service, "template": text, "moved": "appeared", "onset": at, "before": 0,
            "after": 40, "last": last, "bad": level == "ERROR", "level": level, "example": text}  # fmt: skip


def change(name: str, at: str = "2026-01-01T10:04:00Z", service: str = "api", **more: Any) -> Row:
    return {
        "at": at,
        "kind": "deploy",
        "service": service,
        "name": name,
        "diff": {},
        "text": "",
    } | more


def can(what: str, *kinds: str) -> dict[str, Any]:
    return {"read": True, "effects": [{"what": what, "can": list(kinds), "line": "x"}]}


def facts(
    metrics: Sequence[Row] = (),
    logs: Sequence[Row] = (),
    changes: Sequence[Row] = (),
    traces: Row | None = None,
) -> Facts:
    query = {"from": "2026-01-01T09:30:00Z", "to": END}
    return collect(
        [
            ("a1", "query_metrics", {"status": "ok", "series": list(metrics), "query": query}),
            ("a2", "query_logs", {"status": "ok", "templates": list(logs), "query": query}),
            ("a3", "list_deploys", {"status": "ok", "changes": list(changes), "query": query}),
            ("a4", "query_traces", traces or {"status": "empty"}),
        ]
    )


def best(found: Facts) -> str:
    one = judge(found).best
    return one.statement if one else ""


ERRORS = [metric("errors", 0.1, 9)]


def test_the_change_that_can_produce_the_error_goes_before_a_later_one_that_cannot() -> None:
    guilty = change("v1", "2026-01-01T09:50:00Z", **can("only ever grows", "memory"))
    decoys = [change("v2", read=True), change("v3", cannot="changes styles or texts only")]
    found = facts(ERRORS, [line("killed: out of memory")], [guilty, *decoys])
    assert "v1" in best(found)
    refused = {one.statement.split()[1]: one.speaks_against for one in judge(found).candidates}
    assert refused["v3"] == ("changes styles or texts only",)
    assert "nothing in it can bring about" in refused["v2"][0]


def test_another_error_and_the_same_change_is_not_accused() -> None:
    guilty = change("v1", "2026-01-01T09:50:00Z", **can("only ever grows", "memory"))
    assert "v1" not in best(facts(ERRORS, [line("relation x does not exist")], [guilty]))


def test_an_error_that_names_what_a_change_touched_decides() -> None:
    one = change("v1", read=True, names=["load_invoice"])
    other = change("v2", "2026-01-01T10:04:30Z", read=True, names=["paint_button"])
    found = facts(ERRORS, [line("boom in load_invoice line 3")], [one, other])
    assert "v1" in best(found)


def test_the_first_version_of_a_service_is_no_suspect_of_what_came_later() -> None:
    found = facts(ERRORS, [line("boom")], [change("v1", first=True)])
    assert judge(found).best is None


def test_an_expired_certificate_is_named_although_somebody_deployed() -> None:
    gauge = metric("cert_seconds_left", 900, -900, "pay", ran_out=AT)
    logs = [line("call of pay failed: certificate has expired")]
    found = facts([*ERRORS, gauge, metric("m", 1, 1, "pay")], logs, [change("v2", read=True)])
    assert best(found).startswith("the certificate of pay expired")


def test_more_requests_everywhere_and_no_capable_change_is_traffic() -> None:
    rates = [metric("requests_per_sec", 10, 60, who) for who in ("web", "api")]
    slow = metric("latency_p99", 0.1, 2.0, "web")
    found = facts(
        [*rates, slow, metric("queue_depth", 0, 90, "web")], [], [change("v2", read=True)]
    )
    assert judge(found).best is not None
    assert best(found).startswith("more requests than before")


def test_a_service_that_is_asked_more_often_by_another_is_no_traffic() -> None:
    found = facts([metric("requests_per_sec", 10, 90, "db"), metric("latency_p99", 0.1, 2.0, "api"),
                   metric("requests_per_sec", 10, 10.5, "api")],
                  [], [change("v2", **can("a call for each item of a loop", "queries", "latency"))],
                  {"status": "ok", "graph": [["api", "db"]]})  # fmt: skip
    assert "v2" in best(found)


def test_a_provider_that_fails_is_told_from_the_services_that_call_it() -> None:
    failing = {"callee": "store.example", "calls": 9, "errors": 9}
    edges = [{"caller": who, **failing} for who in ("api", "web")]
    traces = {"status": "ok", "edges": edges, "origins": [{"service": "api"}, {"service": "web"}]}
    found = facts(ERRORS, [line("503 from store"), line("503 from store", "web")],
                  [change("v2", read=True)], traces)  # fmt: skip
    assert best(found).startswith("store.example, which is outside, fails")


@pytest.mark.parametrize(
    ("last", "over"), [("2026-01-01T10:05:02Z", True), ("2026-01-01T10:29:00Z", False)]
)
def test_errors_that_stopped_by_themselves_accuse_nobody(last: str, over: bool) -> None:
    logs = [line("pool exhausted", last=last)]
    found = facts([], logs, [change("v2", **can("pool lowered", "pool"))])
    assert (judge(found).best is None) is over
    assert bool(judge(found).harm.over) is over


def test_what_hurts_nobody_accuses_nobody() -> None:
    quiet = [metric("requests_per_sec", 10, 4), metric("pool_size", 8, 6)]
    found = facts(quiet, [], [change("v2", **can("pool lowered", "pool"))])
    assert judge(found).best is None


def test_the_report_says_what_speaks_against_a_decoy() -> None:
    changes = [change("v1", "2026-01-01T09:50:00Z", **can("only ever grows", "memory")),
               change("v2", cannot="changes tests only")]  # fmt: skip
    results = [
        ("query_metrics", {}, {"status": "ok", "series": ERRORS}),
        ("query_logs", {}, {"status": "ok", "templates": [line("out of memory")]}),
        ("list_deploys", {}, {"status": "ok", "changes": changes}),
    ]
    said = plan("", results)
    while isinstance(said, list):
        results += [(c["name"], c["args"], {"status": "empty"}) for c in said]
        said = plan("", results)
    evidence = [{"id": f"a{n}", "tool": t, "result": r} for n, (t, _, r) in enumerate(results, 1)]
    cause = settle(said["findings"], evidence)
    assert "v1" in cause["change"]
    decoy = next(one for one in cause["alternatives"] if "v2" in one["statement"])
    assert decoy["why_not"] == "changes tests only"
    assert "on the service in which failures began" in decoy["speaks_for"]


def test_a_count_down_is_told_by_its_slope() -> None:
    times = 1000.0 + 10.0 * np.arange(60)
    left = 250.0 - 10.0 * np.arange(60)
    assert ran_out(Series("a", "x", times, left)) == pytest.approx(1250.0)
    assert ran_out(Series("a", "x", times, left / 3600)) == pytest.approx(1250.0)
    assert ran_out(Series("a", "x", times, left * 3)) is None
    assert ran_out(Series("a", "x", times, left + 5000)) is None


def test_growth_is_dated_to_where_it_begins() -> None:
    random = np.random.default_rng(3)
    times = 60.0 * np.arange(120)
    flat, rise = np.full(40, 200.0), 200.0 + 4.0 * np.arange(80)
    values = np.concatenate([flat, rise]) + random.normal(0, 2, 120)
    since = growing_since(Series("a", "rss", times, values))
    assert since == pytest.approx(2400.0, abs=300)
    assert growing_since(Series("a", "rss", times, random.normal(200, 2, 120))) is None
    assert growing_since(Series("a", "total", times, 10.0 * np.arange(120))) is None
    step = np.concatenate([np.full(60, 1.0), np.full(60, 9.0)])
    assert growing_since(Series("a", "step", times, step)) is None


def test_what_fits_the_chosen_change_too_is_no_reason_against_another() -> None:
    said = line("timeout calling ledger", "payments", "2026-01-01T10:05:00Z")
    found = facts(
        [metric("errors", 0.1, 9, "payments")],
        [said],
        [
            change("v2", "2026-01-01T10:04:40Z", "payments"),
            change("v7", "2026-01-01T10:04:45Z", "ledger"),
        ],
    )
    judged = judge(found)
    assert judged.best is not None
    assert "v2" in judged.best.statement
    (rival,) = (one for one in judged.candidates if one is not judged.best)
    why = against(rival, judged, judged.best)
    assert "changed setting" not in why
    assert why.partition(": ")[2] in judged.best.speaks_for
    assert why.partition(": ")[2] not in rival.speaks_for


def test_a_cause_of_low_confidence_is_checked_before_anybody_acts() -> None:
    one = judge(facts(ERRORS, [line("boom")], [change("v2")])).best
    assert one is not None
    assert next_action(one, "api", "low").startswith("check deploy v2 of api first")
    assert next_action(one, "api", "high").startswith("confirm that deploy v2 of api is live, then")
