"""Traces of the usual shapes, the call graph, and what they say of cause and blast radius."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.analysis import deepest, picture
from roundsman.errors import SourceError
from roundsman.investigate.incident import load_incident
from roundsman.investigate.tools import make_tools
from roundsman.sources import IncidentFolder, Span, Unseen, Window
from roundsman.sources.trace_files import read_call_graph, read_trace_file
from roundsman.sources.trace_records import flat_span, records_of

AT = 1767261600
ALWAYS = Window(0, 4e9)
FLAT = [
    {"trace_id": "t", "span_id": "1", "parent_id": None, "service": "web", "name": "GET /",
     "start": "2026-01-01T10:00:00Z", "duration_ms": 120, "status": "ERROR"},
    {"trace_id": "t", "span_id": "2", "parent_id": "1", "service": "db", "name": "query",
     "start": "2026-01-01T10:00:00Z", "duration_ms": 100, "status": "ERROR",
     "error": "too many clients"},
]  # fmt: skip
OTLP = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": name}}]},
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "t", "spanId": own, "parentSpanId": above, "name": what,
                            "startTimeUnixNano": str(AT * 10**9),
                            "endTimeUnixNano": str(AT * 10**9 + took * 10**6),
                            "status": {"code": 2, "message": message},
                        }
                    ]
                }
            ],
        }
        for name, own, above, what, took, message in [
            ("web", "1", "", "GET /", 120, ""), ("db", "2", "1", "query", 100, "too many clients")
        ]
    ]
}  # fmt: skip
JAEGER = {
    "data": [
        {
            "traceID": "t",
            "processes": {"p1": {"serviceName": "web"}, "p2": {"serviceName": "db"}},
            "spans": [
                {"traceID": "t", "spanID": "1", "operationName": "GET /", "references": [],
                 "startTime": AT * 10**6, "duration": 120_000, "processID": "p1",
                 "tags": [{"key": "error", "type": "bool", "value": True}]},
                {"traceID": "t", "spanID": "2", "operationName": "query", "processID": "p2",
                 "references": [{"refType": "CHILD_OF", "traceID": "t", "spanID": "1"}],
                 "startTime": AT * 10**6, "duration": 100_000,
                 "tags": [{"key": "otel.status_code", "value": "ERROR"},
                          {"key": "otel.status_description", "value": "too many clients"}]},
            ],
        }
    ]
}  # fmt: skip
CSV = (
    "TraceID,SpanID,ParentID,PodName,OperationName,StartTimeUnixNano,EndTimeUnixNano,status,error\n"
    f"t,1,root,web,GET /,{AT}000000000,{AT}120000000,ERROR,\n"
    f"t,2,1,db,query,{AT}000000000,{AT}100000000,ERROR,too many clients\n"
)


def lines(content: list[Any]) -> str:
    return "".join(json.dumps(one) + "\n" for one in content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps(FLAT, indent=1)),
        ("a.json", json.dumps({"spans": FLAT})),
        ("a.ndjson", lines(FLAT)),
        ("a.json", json.dumps(OTLP, indent=1)),
        ("a.jsonl", lines([OTLP])),
        ("a.json", json.dumps(JAEGER)),
        ("a.json", json.dumps(JAEGER["data"][0], indent=1)),
        ("a.csv", CSV),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_shape_gives_the_same_spans(
    tmp_path: Path, name: str, content: str, packed: bool
) -> None:
    path = tmp_path / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    unseen: list[Unseen] = []
    spans = read_trace_file(path, unseen.append)
    assert [(s.at, s.service, s.name, s.id, s.parent, s.error) for s in spans] == [
        (AT, "web", "GET /", "1", "", True),
        (AT, "db", "query", "2", "1", True),
    ]
    assert [round(s.duration or 0, 6) for s in spans] == [0.12, 0.1]
    assert spans[1].message == "too many clients"
    assert unseen == []


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", "", "not JSON"),
        ("a.json", "{oops", "not JSON"),
        ("a.json", "[" * 100_000, "not JSON"),
        ("a.json", "{}", "no spans"),
        ("a.json", '[{"service": "a", "start": "soon"}]', "no spans"),
        ("a.json", '[{"service": "a"}, {"start": "soon"}]', "none with a start time"),
        ("a.csv", "a,b\n1,2\n", "none with a start time"),
        ("a.json.gz", "not gzip", "cannot be read as traces"),
    ],
)
def test_a_bad_trace_file_is_one_note_beside_the_rest(
    tmp_path: Path, name: str, content: str, says: str
) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / name).write_text(content)
    (tmp_path / "logs.ndjson").write_text('{"ts": 1767261600, "msg": "hi"}\n')
    (only,) = IncidentFolder(tmp_path).unseen
    assert only.what == f"traces/{name}"
    assert says in only.why or "expected OTLP" in only.why
    assert "\n" not in only.why


def test_what_stands_before_a_break_is_kept_and_the_break_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text(lines(FLAT) + "{broken\n" + lines(FLAT))
    unseen: list[Unseen] = []
    assert len(read_trace_file(path, unseen.append)) == 2
    assert "line 3 is not JSON" in unseen[0].why


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["resourceSpans", "resource", "attributes", "scopeSpans", "spans", "data",
                 "processes", "references", "start", "duration_ms", "status", "tags", "key",
                 "value", "parent_id", "span_id", "service", "traces"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)  # fmt: skip


@settings(deadline=None)
@given(JSON)
def test_no_json_breaks_the_reader(content: Any) -> None:
    for record in records_of(content):
        flat_span(record)


@pytest.mark.parametrize(
    "text",
    [
        "caller,callee\nweb,api\napi,db\n",
        "callee,n,caller\napi,3,web\ndb,1,api\n",
        ",web,api,db\nweb,0.0,1.0,0\napi,,0,1\ndb,0,0,0\n",
    ],
)
def test_a_call_graph_is_a_list_of_pairs_or_a_matrix(tmp_path: Path, text: str) -> None:
    (tmp_path / "graph.csv").write_text(text)
    assert read_call_graph(tmp_path / "graph.csv") == {("web", "api"), ("api", "db")}


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "\x00\x00", '"'])
def test_a_bad_call_graph_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "graph.csv").write_text(text)
    with pytest.raises(SourceError) as caught:
        read_call_graph(tmp_path / "graph.csv")
    assert "\n" not in str(caught.value)


def test_failures_begin_in_the_deepest_failed_span_and_the_callers_are_victims() -> None:
    def span(own: str, above: str, service: str, error: bool, peer: str = "") -> Span:
        return Span(AT, 0.1, service, "x", "t", own, above, error, "no", peer)

    seen = picture(
        [
            span("1", "", "web", True),
            span("2", "1", "api", True),
            span("3", "2", "api", True, "payments-provider"),
            span("4", "1", "search", False),
        ]
    )
    assert [(o.service, o.errors) for o in seen.origins] == [("api", 1)]
    assert seen.victims == ["web"]
    edges = {(e.caller, e.callee): (e.calls, e.errors) for e in seen.edges}
    assert edges == {
        ("web", "api"): (1, 1),
        ("web", "search"): (1, 0),
        ("api", "payments-provider"): (1, 1),
    }


def test_the_deepest_of_some_services_call_none_of_the_others() -> None:
    calls = {("web", "api"), ("api", "auth"), ("auth", "db"), ("x", "y"), ("y", "x"), ("y", "db")}
    assert deepest({"web", "auth"}, calls) == {"auth"}
    assert deepest({"web", "auth", "db"}, calls) == {"db"}
    assert deepest({"x", "y"}, calls) == {"x", "y"}
    assert deepest({"x", "y", "db"}, calls) == {"db"}
    assert deepest({"alone"}, set()) == {"alone"}


def test_the_tool_is_there_only_with_traces_and_tells_origin_from_victim(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(
        "timestamp,service,metric,value\n2026-01-01T10:00:00Z,web,errors,1\n"
    )
    names = [tool.__name__ for tool in make_tools(load_incident(tmp_path))]
    assert names == ["query_metrics", "query_logs", "list_deploys", "restart_pod"]
    (tmp_path / "traces.json").write_text(json.dumps(OTLP))
    (tmp_path / "graph.csv").write_text("caller,callee\ndb,disk\n")
    incident = load_incident(tmp_path)
    assert "Telemetry: metrics, traces, call graph." in incident.describe()
    (tool,) = [t for t in make_tools(incident) if t.__name__ == "query_traces"]
    said = tool()
    assert [o["service"] for o in said["origins"]] == ["db"]
    assert said["victims"] == ["web"]
    assert said["edges"][0] | {"p95_ms": 0} == {
        "caller": "web", "callee": "db", "calls": 1, "errors": 1, "p95_ms": 0,
        "first_error": "2026-01-01T10:00:00Z",
    }  # fmt: skip
    assert said["graph"] == [["db", "disk"], ["web", "db"]]
    assert tool("nobody")["status"] == "empty"
    assert tool(window_minutes=0)["status"] == "error"
