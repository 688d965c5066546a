"""Causes in what services share: each needs its own sign and the harm it would bring."""

from __future__ import annotations

import numpy as np
from tests.investigate.test_competing_causes import AT, Row, change, facts, line, metric

from roundsman.analysis.onset import emptied
from roundsman.investigate.causes import judge
from roundsman.investigate.wording import say_moved
from roundsman.sources import Series

SLOW = metric("request_latency_p99", 0.1, 2.0, "web")


def kind(*metrics: Row, logs: tuple[Row, ...] = (), changes: tuple[Row, ...] = ()) -> str:
    """`kind of service` of the cause that stands out; empty when none does."""
    best = judge(facts(metrics, logs, changes)).best
    if best is None:
        return ""
    return f"{best.condition.kind} of {best.condition.service}" if best.condition else "a change"


def gone(service: str, text: str = "message <n> done") -> Row:
    return line(text, service, level="INFO") | {"moved": "vanished", "before": 900, "after": 0}


def test_names_that_several_services_cannot_resolve_are_the_resolvers() -> None:
    lost = "dial tcp: lookup db.internal on names-1: server misbehaving"
    logs = (line(lost, "web"), line(lost, "cart"))
    assert kind(SLOW, logs=logs) == "dns of web"
    assert kind(SLOW, metric("load", 1, 1, "names-1"), logs=logs) == "dns of names-1"
    failed = metric("dns_servfail_rate", 0.0, 6.0, "bind")
    assert kind(SLOW, failed, logs=logs) == "dns of bind"


def test_one_service_that_asks_for_one_name_has_a_wrong_name() -> None:
    lost = "getaddrinfo ENOTFOUND db.internal"
    assert "dns" not in kind(SLOW, logs=(line(lost, "web"),))


def test_a_consumer_that_stands_still_while_its_queue_grows() -> None:
    queue = metric("queue_messages_ready", 5, 9000, "bus", "2026-01-01T10:10:00Z")
    still = metric("messages_processed_rate", 12, 0.01, "mailer")
    assert kind(queue, still, logs=(gone("mailer"),)) == "stalled of mailer"
    assert kind(queue) == ""
    assert kind(still) == ""
    assert kind(queue, metric("messages_processed_rate", 12, 9, "mailer")) == ""


def test_a_neighbour_that_takes_the_processor() -> None:
    stolen, busy = metric("cpu_steal", 0.01, 0.4, "web"), metric("cpu_usage", 0.2, 0.9, "report")
    assert kind(SLOW, stolen, busy) == "neighbour of report"
    assert kind(SLOW, busy) == ""
    assert kind(SLOW, stolen) == ""


def test_a_cache_that_lost_what_it_held() -> None:
    fell = metric("cache_hit_ratio", 0.96, 0.2, "redis")
    evicted = metric("evictions", 1, 400, "redis")
    assert kind(SLOW, fell, evicted) == "cache of redis"
    assert kind(SLOW, fell) == ""
    assert kind(fell, evicted) == ""


def test_requests_that_only_rise_behind_a_steady_front_are_no_traffic() -> None:
    more = [metric("requests_per_second", 50, 300, name) for name in ("cart", "db")]
    found = facts([SLOW, *more])
    assert judge(found).best is not None
    found.steady = {"web"}
    found.along.calls = {("web", "cart"), ("cart", "db")}
    assert judge(found).best is None


def test_more_requests_and_a_busy_processor_hurt_nobody() -> None:
    names = ("rpc.server.request.rate", "RequestCount", "web.hits", "http_requests_per_second")
    risen = [metric(name, 40, 90, "web") for name in names]
    risen += [
        metric("web.response.p99_ms", 6.0, 8.1, "web"),
        metric("CPUUtilization", 20, 60, "web"),
    ]
    found = judge(facts(risen, changes=[change("v2")]))
    assert not found.harm.signs
    assert found.best is None


def test_lines_that_stop_are_no_errors() -> None:
    found = facts([metric("errors", 0, 5, "web")], [gone("web") | {"level": "ERROR", "bad": True}])
    assert not found.bad_logs
    assert [one.log for one in judge(found).harm.signs] == [False]


def test_space_that_is_used_up_where_somebody_suffers() -> None:
    empty = {"service": "db", "metric": "FreeStorageSpace", "last": 0, "emptied": AT}
    assert kind(metric("WriteLatency", 1, 30, "db"), empty) == "disk of db"
    assert "disk" not in kind(SLOW, empty)
    found = facts([metric("WriteLatency", 1, 30, "db"), empty])
    assert say_moved(found.emptied[0]) == f"db FreeStorageSpace is used up from {AT}: 0 left"
    times = np.arange(0.0, 3600.0, 60.0)
    falls = np.maximum(0.0, 1e10 - times * 4e6)
    assert emptied(Series("db", "FreeStorageSpace", times, falls)) == 2400.0
    assert emptied(Series("db", "FreeStorageSpace", times, falls + 1e9)) is None
    assert emptied(Series("db", "FreeStorageSpace", times, falls * 0)) is None
    back = np.where(times > 3000, 1e10, falls)
    assert emptied(Series("db", "FreeStorageSpace", times, back)) is None
