"""Jaeger and Tempo as their APIs are documented; the stubs know nothing of our client."""

from __future__ import annotations

import pytest

from roundsman.errors import SourceError
from roundsman.sources import Window
from roundsman.sources.addresses import TRACES, open_server
from roundsman.sources.jaeger import JaegerSource
from roundsman.sources.tempo import TempoSource

START = 1_800_000_000
WINDOW = Window(START, START + 3600)


def jaeger_trace(number, at, error=False):
    def span(name, process, parent=None, tags=()):
        refs = (
            [{"refType": "CHILD_OF", "traceID": f"t{number}", "spanID": parent}] if parent else []
        )
        return {"traceID": f"t{number}", "spanID": f"{number}-{name}", "operationName": name,
                "references": refs, "startTime": round(at * 1e6), "duration": 2500,
                "tags": list(tags), "processID": process}  # fmt: skip

    failed = [{"key": "error", "type": "bool", "value": True}] if error else []
    return {
        "traceID": f"t{number}",
        "spans": [span("GET /", "p1"), span("query", "p2", f"{number}-GET /", failed)],
        "processes": {"p1": {"serviceName": "cart"}, "p2": {"serviceName": "pay"}},
    }


class Jaeger:
    def __init__(self, traces):
        self.traces = traces

    def __call__(self, asked):
        fields = asked.fields
        if asked.path == "/api/services":
            return {"data": ["pay", "cart"], "total": 2, "errors": None}
        if asked.path == "/api/dependencies":
            return {"data": [{"parent": "cart", "child": "pay", "callCount": 5}], "errors": None}
        if asked.path != "/api/traces":
            return (404, b"404 page not found\n")
        if "service" not in fields:
            error = [{"code": 400, "msg": "parameter 'service' is required"}]
            return (400, str({"data": None, "errors": error}).encode())
        start, end = int(fields["start"]), int(fields["end"])
        found = [
            t for t in reversed(self.traces)
            if start <= t["spans"][0]["startTime"] <= end
            and ("tags" not in fields or t["spans"][1]["tags"])
        ]  # fmt: skip
        return {"data": found[: int(fields["limit"])], "total": 0, "errors": None}


def test_jaegers_spans_come_once_with_their_callers_and_errors(serve):
    traces = [jaeger_trace(n, START + n * 10, error=n == 3) for n in range(5)]
    source = JaegerSource(serve(Jaeger(traces)).url, WINDOW)
    spans = source.spans(WINDOW)
    assert len(spans) == 10
    failed = [one for one in spans if one.error]
    assert [(one.service, one.parent, one.trace) for one in failed] == [("pay", "3-GET /", "t3")]
    assert spans[0].duration == pytest.approx(0.0025)
    assert source.calls() == {("cart", "pay")}
    assert source.services() == ["cart", "pay"]
    assert source.unseen == []


def test_more_traces_than_are_read_are_said_and_failed_ones_found(serve):
    traces = [jaeger_trace(n, START + n, error=n == 0) for n in range(1000)]
    stub = serve(Jaeger(traces))
    source = JaegerSource(stub.url, WINDOW)
    spans = source.spans(WINDOW)
    assert any(one.error for one in spans)
    assert len(spans) == 2 * 201
    (note,) = source.unseen
    assert note.count == 2
    assert "newest 200 traces" in note.why
    before = len(stub.asked)
    assert source.spans(WINDOW) == spans
    assert len(stub.asked) == before


def test_a_jaeger_that_dies_half_way_is_said(serve):
    inner, asked_for = Jaeger([jaeger_trace(1, START + 5)]), []

    def answer(asked):
        if asked.path == "/api/traces":
            asked_for.append(asked)
            if len(asked_for) > 2:
                return (503, b"")
        return inner(asked)

    source = JaegerSource(serve(answer).url, WINDOW)
    assert len(source.spans(WINDOW)) == 2
    assert any("whose search failed" in one.why for one in source.unseen)


def test_a_jaeger_without_services_is_said(serve):
    with pytest.raises(SourceError, match="knows no service"):
        JaegerSource(serve(lambda a: {"data": None, "errors": None}).url, WINDOW)


def otlp(at, service, error):
    span = {
        "traceId": "W47/95gDgQPSabYzgT/GDA==", "spanId": "7uGbfsPBsXM=", "name": "q", "kind": 2,
        "startTimeUnixNano": str(round(at * 1e9)), "endTimeUnixNano": str(round(at * 1e9) + 5_000_000),
        "status": {"code": "STATUS_CODE_ERROR", "message": "refused"} if error else {},
    }  # fmt: skip
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resource": resource, "scopeSpans": [{"scope": {"name": "x"}, "spans": [span]}]}


class Tempo:
    """`form`: how a version gives a trace by its id."""

    def __init__(self, count, form="batches"):
        self.at = {f"{n:032x}": START + n * 3600 / count for n in range(count)}
        self.form = form

    def __call__(self, asked):
        fields = asked.fields
        if asked.path == "/api/search":
            start, end, limit = (int(fields[key]) for key in ("start", "end", "limit"))
            assert start < end
            found = [
                {"traceID": one.lstrip("0") or "0", "rootServiceName": "cart", "durationMs": 5,
                 "startTimeUnixNano": str(round(at * 1e9))}
                for one, at in self.at.items()
                if start <= at < end and ("error" not in fields["q"] or int(one, 16) % 10 == 3)
            ]  # fmt: skip
            return (
                {"traces": found[:limit], "metrics": {"inspectedTraces": 5}}
                if found
                else {"metrics": {}}
            )
        one = asked.path.removeprefix("/api/traces/").zfill(32)
        if one not in self.at:
            return (404, b"trace not found")
        rows = [otlp(self.at[one], "pay", int(one, 16) % 10 == 3)]
        return {"trace": {"resourceSpans": rows}} if self.form == "v2" else {self.form: rows}


@pytest.mark.parametrize("form", ["batches", "resourceSpans", "v2"])
def test_tempos_traces_are_searched_and_then_fetched(serve, form):
    source = TempoSource(serve(Tempo(30, form)).url, WINDOW)
    spans = source.spans(WINDOW)
    assert len(spans) == 30
    assert {one.service for one in spans} == {"pay"}
    assert sum(one.error for one in spans) == 3
    assert {one.message for one in spans if one.error} == {"refused"}
    assert source.services() == ["cart"]
    assert source.unseen == []


def test_of_many_traces_a_sample_is_read_and_said(serve):
    source = TempoSource(serve(Tempo(3000)).url, WINDOW)
    spans = source.spans(WINDOW)
    assert 240 <= len(spans) <= 480
    assert min(one.at for one in spans) < START + 300
    assert max(one.at for one in spans) > START + 3000
    assert any("a sample was read" in one.why for one in source.unseen)


def test_traces_that_cannot_be_fetched_are_counted(serve):
    inner = Tempo(30)
    stub = serve(lambda a: (500, b"") if a.path.endswith("5") else inner(a))
    source = TempoSource(stub.url, WINDOW)
    spans = source.spans(WINDOW)
    (note,) = source.unseen
    assert note.count == 30 - len(spans) == 2


@pytest.mark.parametrize("kind", ["jaeger", "tempo"])
@pytest.mark.parametrize("body", [{"hello": 1}, [], "x"])
def test_another_kind_of_server_is_told(serve, kind, body):
    with pytest.raises(SourceError):
        TRACES[kind](serve(lambda asked: body).url, WINDOW, [])


@pytest.mark.parametrize(("store", "kind"), [(Jaeger([]), JaegerSource), (Tempo(3), TempoSource)])
def test_the_kind_is_found_out_when_it_is_not_named(serve, store, kind):
    source = open_server(serve(store).url, TRACES, "--traces", WINDOW, [])
    assert type(source) is kind
