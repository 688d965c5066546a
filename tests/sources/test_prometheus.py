"""What is asked of a metric store, what its answers become, and what happens when it fails half-way.

The answers are those of the documented HTTP API. The real servers are asked in tests/drill.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from roundsman.errors import SourceError
from roundsman.sources import Window, prometheus
from roundsman.sources.prometheus import PrometheusSource
from roundsman.sources.prometheus_names import owner, plan

END = 1_800_000_000.0
WINDOW = Window(END - 3600, END)


def ok(data):
    return {"status": "success", "data": data}


def vector(rows):
    return ok({"resultType": "vector", "result": rows})


class Store:
    """Answers as Prometheus does; `rows` of a range query by what the query holds."""

    def __init__(self, rows, names=None, sizes=None, types=None, labels=("__name__", "service")):
        self.rows, self.types, self.labels = rows, types or {}, list(labels)
        self.names = names or list(rows)
        self.sizes = sizes or {}
        self.fails = lambda asked: None

    def __call__(self, asked):
        failed = self.fails(asked)
        if failed is not None:
            return failed
        path, query = asked.path, asked.fields.get("query", "")
        if path.endswith("/metadata"):
            return ok({name: [{"type": kind}] for name, kind in self.types.items()})
        if path.endswith("/labels"):
            return ok(self.labels)
        if path.endswith("/label/__name__/values"):
            return ok(self.names)
        if "/label/" in path:
            return ok(["api"] if "/service/" in path else [])
        if path.endswith("/query") and query.startswith("max(count_over_time"):
            return vector([{"metric": {}, "value": [END, "4"]}])
        if path.endswith("/query"):
            rows = [
                {"metric": {"__name__": n}, "value": [END, str(c)]} for n, c in self.sizes.items()
            ]
            return vector(rows)
        name = next((n for n in sorted(self.rows, key=len, reverse=True) if n in query), None)
        start, end = float(asked.fields["start"]), float(asked.fields["end"])
        step = float(asked.fields["step"])
        times = np.arange(start, end + 1, step)
        if query.startswith("count("):
            return ok({"result": [{"metric": {}, "values": [[t, "1"] for t in times]}]})
        made = self.rows[name](query) if name else []
        return ok(
            {"result": [{"metric": m, "values": [[t, str(v(t))] for t in times]} for m, v in made]}
        )


def flat(labels, value=1.0):
    return lambda query: [(labels, lambda t: value)]


def opened(serve, store):
    stub = serve(store)
    return PrometheusSource(stub.url, WINDOW), stub


def ranges(stub):
    return [
        a.fields["query"]
        for a in stub.asked
        if a.path.endswith("query_range") and not a.fields["query"].startswith("count(")
    ]


def test_counters_are_rates_histograms_quantiles_gauges_themselves(serve):
    one = {"service": "api"}
    store = Store(
        {n: flat(one) for n in ("jobs_total", "wait_seconds_bucket", "depth", "wait_seconds_sum")}
    )
    source, stub = opened(serve, store)
    assert [(s.service, s.metric) for s in source.series(WINDOW)] == [
        ("api", "depth"),
        ("api", "jobs_rate"),
        ("api", "wait_p50_seconds"),
        ("api", "wait_p99_seconds"),
    ]
    assert not [q for q in ranges(stub) if "wait_seconds_sum" in q]


def test_what_the_server_says_of_a_type_goes_before_the_ending():
    assert plan("commits", "counter", "[60s]")[0].name == "commits_rate"
    assert plan("seen_total", "gauge", "[60s]")[0].promql.startswith("avg without")


def test_a_window_is_asked_once_and_at_some_240_points(serve):
    source, stub = opened(serve, Store({"depth": flat({"service": "api"})}))
    (series,) = source.series(WINDOW)
    assert 230 <= series.times.size <= 242
    before = len(stub.asked)
    assert source.series(WINDOW, "AP", "DEP")
    assert source.series(WINDOW, "other") == []
    assert len(stub.asked) == before


def test_of_one_name_alone_nothing_else_is_asked(serve):
    names = ("jobs_total", "jobs_failed_total", "wait_seconds_bucket", "depth")
    stub = serve(Store({name: flat({"service": "api"}) for name in names}))
    for only, found in (
        ("jobs_rate", ["jobs_rate"]),
        ("wait_p99_seconds", ["wait_p50_seconds", "wait_p99_seconds"]),
    ):
        source = PrometheusSource(stub.url, WINDOW, only=only)
        before = len(ranges(stub))
        assert [s.metric for s in source.series(WINDOW)] == found
        assert len(ranges(stub)) == before + len(found)
    source = PrometheusSource(stub.url, WINDOW, only="gone")
    assert source.series(WINDOW) == []
    assert source.extent().end == pytest.approx(
        END, abs=60
    )  # the server is there, the metric is not


def test_a_service_of_which_nothing_is_measured_is_told(serve):
    class Alive(Store):
        def __call__(self, asked):
            query = asked.fields.get("query", "")
            if asked.path.endswith("/query") and query.startswith("count({"):
                here = query == 'count({service="a\\"b",__name__!~"up|scrape_.*"})'
                return vector([{"metric": {}, "value": [END, "3"]}] if here else [])
            return super().__call__(asked)

    source, _ = opened(serve, Alive({"depth": flat({"service": "api"})}))
    assert source.measured('a"b')
    assert not source.measured("dead")


def test_labels_that_tell_series_of_a_service_apart_are_in_the_name(serve):
    rows = [
        ({"job": "shop", "code": "200", "route": "/a", "zone": "x"}, lambda t: 1.0),
        ({"job": "shop", "code": "500", "route": "/a", "zone": "x"}, lambda t: 2.0),
        ({"job": "till", "code": "200", "route": "/b", "zone": "x"}, lambda t: 3.0),
    ]
    source, _ = opened(serve, Store({"http_total": lambda query: rows}))
    assert [(s.service, s.metric) for s in source.series(WINDOW)] == [
        ("shop", 'http_rate{code="200"}'),
        ("shop", 'http_rate{code="500"}'),
        ("till", "http_rate"),
    ]


def test_series_of_one_name_are_joined(serve):
    rows = [({"service": "api", "job": j}, lambda t, v=v: v) for j, v in (("a", 2.0), ("b", 4.0))]
    source, _ = opened(serve, Store({"jobs_total": lambda q: rows, "depth": lambda q: rows}))
    depth, jobs = source.series(WINDOW)
    assert (depth.values[0], jobs.values[0]) == (3.0, 6.0)


def test_whose_a_series_is():
    assert owner("x", {"job": "j", "app": "a", "service": ""}) == "a"
    assert owner("container_cpu", {"service": "kubelet", "container": "api"}) == "api"
    assert owner("node_load1", {"job": "node", "instance": "h1"}) == "h1"
    assert owner("x", {}) == ""


def test_a_point_in_time_becomes_an_age_or_what_is_left(serve):
    store = Store(
        {
            "start_time_seconds": flat({"service": "api"}, END - 10_000),
            "cert_not_after_seconds": flat({"service": "api"}, END + 5_000),
        }
    )
    source, _ = opened(serve, store)
    left, age = source.series(WINDOW)
    assert left.metric == "cert_not_after_in_seconds"
    assert age.metric == "start_time_age_seconds"
    assert left.values[-1] < left.values[0]
    assert age.values[-1] > age.values[0]


def test_samples_that_are_no_numbers_are_left_out_and_counted(serve):
    store = Store(
        {
            "good": lambda q: [({"service": "a"}, lambda t: math.nan if t < END - 60 else 1.0)],
            "useless": flat({"service": "a"}, math.inf),
            "wait_seconds_bucket": flat({"service": "a"}, math.nan),
        }
    )
    source, _ = opened(serve, store)
    (only,) = source.series(WINDOW)
    assert only.metric == "good"
    assert np.isfinite(only.values).all()
    (note,) = [one for one in source.unseen if "NaN or Inf" in one.why]
    assert note.count == 1  # a quantile is NaN where nothing was asked of a service


def test_a_metric_of_100_000_series_is_asked_summed_and_said(serve):
    store = Store({"big_total": flat({"service": "api"})}, sizes={"big_total": 100_000})
    source, stub = opened(serve, store)
    assert [s.metric for s in source.series(WINDOW)] == ["big_rate"]
    (query,) = ranges(stub)
    assert query.startswith("sum by (service)")
    assert any("joined" in one.why for one in source.unseen)


def test_too_many_series_in_an_answer_are_asked_for_again_summed(serve):
    def rows(query):
        if " by (" in query:
            return [({"service": "api"}, lambda t: 1.0)]
        return [({"service": "api", "customer": str(n)}, lambda t: 1.0) for n in range(100)]

    source, _ = opened(serve, Store({"seen": rows}))
    assert [s.metric for s in source.series(WINDOW)] == ["seen"]
    assert any("joined" in one.why and one.count == 1 for one in source.unseen)


def test_all_series_together_have_a_bound(serve, monkeypatch):
    monkeypatch.setattr(prometheus, "MOST_SERIES", 10)
    rows = [({"service": f"s{n}"}, lambda t: 1.0) for n in range(25)]
    source, _ = opened(serve, Store({"depth": lambda q: rows}))
    assert len(source.series(WINDOW)) == 10
    assert any("series over the first 10" in one.why and one.count == 15 for one in source.unseen)


def test_a_store_that_dies_half_way_gives_what_it_gave_and_says_the_rest(serve):
    names = [f"m{n:02}" for n in range(40)]
    store = Store({name: flat({"service": "api"}) for name in names})
    source, _ = opened(serve, store)
    answered = []

    def fails(asked):
        answered.append(asked)
        return (503, b"") if len(answered) > 12 else None

    store.fails = fails
    found = source.series(WINDOW)
    assert 1 <= len(found) <= 12
    said = {one.why.partition(":")[0]: one.count for one in source.unseen}
    assert sum(said.values()) == 40 - len(found)
    assert "queries not asked" in said
    before = len(answered)
    with pytest.raises(SourceError, match="503"):
        source.series(Window(END - 1800, END))
    assert len(answered) == before  # it is not waited for again


def test_a_store_that_answers_no_query_is_an_error_and_no_empty_result(serve):
    store = Store({"depth": flat({"service": "api"})})
    source, _ = opened(serve, store)
    store.fails = lambda asked: (500, b"")
    with pytest.raises(SourceError, match="none of 1 queries was answered"):
        source.series(WINDOW)


def test_a_query_that_is_refused_costs_only_itself(serve):
    store = Store({"a": flat({"service": "x"}), "b": flat({"service": "x"})})
    store.fails = lambda asked: (
        (422, b'{"status":"error","error":"too many samples"}')
        if "avg" in asked.fields.get("query", "") and "(a)" in asked.fields["query"]
        else None
    )
    source, _ = opened(serve, store)
    assert [s.metric for s in source.series(WINDOW)] == ["b"]
    assert any("too many samples" in one.why for one in source.unseen)


def test_names_come_from_counting_when_label_values_are_refused(serve):
    store = Store({"depth": flat({"service": "x"})}, sizes={"depth": 1})
    store.fails = lambda asked: (404, b"") if "__name__" in asked.path else None
    source, _ = opened(serve, store)
    assert [s.metric for s in source.series(WINDOW)] == ["depth"]


def test_a_window_without_metrics_is_said(serve):
    with pytest.raises(SourceError, match="no metrics between 2027-01-15T07:00:00Z and"):
        opened(serve, Store({}, names=[]))


def test_something_else_that_speaks_json_is_told(serve):
    with pytest.raises(SourceError, match="not the answer of a Prometheus API"):
        PrometheusSource(serve(lambda asked: {"hello": 1}).url, WINDOW)


def test_what_runtimes_say_of_themselves_is_not_asked(serve):
    store = Store({n: flat({"service": "x"}) for n in ("go_gc_duration_seconds", "depth")})
    source, _ = opened(serve, store)
    assert [s.metric for s in source.series(WINDOW)] == ["depth"]
    assert any("say of themselves" in one.why for one in source.unseen)


def test_odd_names_are_asked_as_texts(serve):
    store = Store({"größe": flat({"service": "dienst-ü"})}, names=['größe"x'])
    source, stub = opened(serve, store)
    assert [(s.service, s.metric) for s in source.series(WINDOW)] == [("dienst-ü", 'größe"x')]
    assert '{__name__="größe\\"x"}' in ranges(stub)[0]


def test_the_command_is_the_query_behind_the_series(serve):
    source, stub = opened(serve, Store({"depth": flat({"service": "api"})}))
    words = source.command("metrics", WINDOW, "api", "depth").words
    assert words[:3] == ("curl", "-sG", f"{stub.url}/api/v1/query_range")
    assert "query=avg without () (depth)" in words
