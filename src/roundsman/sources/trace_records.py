"""Spans out of the three usual shapes of JSON: OTLP, Jaeger, and flat records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from roundsman.sources.protocols import Span
from roundsman.sources.times import parse_time

_TRACE = ("trace_id", "traceId", "traceID", "TraceID", "trace")
_SPAN = ("span_id", "spanId", "spanID", "SpanID", "id")
_PARENT = (
    "parent_id", "parent_span_id", "parentSpanId", "parentSpanID", "ParentID", "parentId", "parent",
)  # fmt: skip
_SERVICE = ("service", "service_name", "serviceName", "service.name", "app", "PodName", "component")
_NAME = ("name", "operation", "operationName", "OperationName", "operation_name", "span_name")
_START = (
    "start", "startTimeUnixNano", "StartTimeUnixNano", "start_time", "startTime", "timestamp", "ts",
    "time",
)  # fmt: skip
_END = ("endTimeUnixNano", "EndTimeUnixNano", "end_time", "endTime", "end")
#: duration fields whose name says their unit, as seconds a unit
_SPANS = {"duration_ms": 1e-3, "durationMs": 1e-3, "duration_us": 1e-6, "duration_ns": 1e-9,
          "duration_s": 1.0, "duration_seconds": 1.0}  # fmt: skip
_PEER = ("peer.service", "db.system", "messaging.system", "rpc.service")
_MESSAGE = (
    "error",
    "error.message",
    "exception.message",
    "status_message",
    "otel.status_description",
)
_HTTP = ("http.response.status_code", "http.status_code", "status_code", "http_status")
_NO_PARENT = ("", "root", "none", "null", "0", "0000000000000000")


def _first(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _plain(value: Any) -> Any:
    """OTLP writes `{"stringValue": "x"}`."""
    if isinstance(value, Mapping):
        return next(iter(value.values()), None) if len(value) == 1 else None
    return value


def _pairs(listed: Any) -> dict[str, Any]:
    """`[{"key": k, "value": v}, ...]` or an object, as an object."""
    if isinstance(listed, Mapping):
        return {str(key): _plain(value) for key, value in listed.items()}
    rows = (
        [row for row in listed or [] if isinstance(row, Mapping)]
        if isinstance(listed, list)
        else []
    )
    return {str(row.get("key")): _plain(row.get("value")) for row in rows}


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _failed(status: Any, tags: Mapping[str, Any]) -> bool:
    if isinstance(status, Mapping):
        status = status.get("code")
    said = str(status or tags.get("otel.status_code") or "").upper()
    if said in ("2", "ERROR", "STATUS_CODE_ERROR", "FAILED", "FAILURE"):
        return True
    if str(tags.get("error") or "").lower() not in ("", "false", "0", "none"):
        return True
    code = _number(_first(tags, _HTTP))
    return code is not None and 500 <= code < 600


def _message(status: Any, tags: Mapping[str, Any]) -> str:
    if isinstance(status, Mapping) and status.get("message"):
        return str(status["message"])[:300]
    found = _first(tags, _MESSAGE)
    return str(found)[:300] if isinstance(found, str) and found.lower() != "true" else ""


def flat_span(record: Mapping[str, Any]) -> Span | None:
    """One record with the fields of a span under their usual names, or None without a time."""
    at = parse_time(_first(record, _START))
    if at is None:
        return None
    end = parse_time(_first(record, _END))
    given = next((k for k in _SPANS if _number(record.get(k)) is not None), None)
    duration = (_number(record[given]) or 0.0) * _SPANS[given] if given else None
    if duration is None and end is not None:
        duration = max(0.0, end - at)
    tags = {**_pairs(record.get("attributes") or record.get("tags")), **record}
    parent = str(_first(record, _PARENT) or "")
    return Span(
        at=at,
        duration=duration,
        service=str(_first(tags, _SERVICE) or ""),
        name=str(_first(record, _NAME) or "")[:200],
        trace=str(_first(record, _TRACE) or ""),
        id=str(_first(record, _SPAN) or ""),
        parent="" if parent.lower() in _NO_PARENT else parent,
        error=_failed(record.get("status"), tags),
        message=_message(record.get("status"), tags),
        peer=str(_first(tags, _PEER) or ""),
    )


def _otlp(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for resource in _listed(content.get("resourceSpans") or content.get("resource_spans")):
        owner = resource.get("resource")
        tags = _pairs(owner.get("attributes")) if isinstance(owner, Mapping) else {}
        scopes = resource.get("scopeSpans") or resource.get("instrumentationLibrarySpans")
        for scope in _listed(scopes or resource.get("scope_spans")):
            for span in _listed(scope.get("spans")):
                yield {**span, "service": tags.get("service.name") or ""}


def _jaeger(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for trace in _listed(content.get("data")):
        processes = trace.get("processes")
        known = processes if isinstance(processes, Mapping) else {}
        for span in _listed(trace.get("spans")):
            process = span.get("process") or known.get(str(span.get("processID")))
            owner = process.get("serviceName") if isinstance(process, Mapping) else ""
            above = [r for r in _listed(span.get("references")) if r.get("refType") == "CHILD_OF"]
            microseconds = _number(span.get("duration"))
            yield {
                **span,
                "service": owner or "",
                "parent": (above[0].get("spanID") if above else span.get("parentSpanID")) or "",
                "duration_us": microseconds,
            }


def _listed(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def records_of(content: Any) -> Iterator[Mapping[str, Any]]:
    """The span records of a parsed JSON document, whatever its shape; nothing when it has none."""
    if isinstance(content, list):
        for one in _listed(content):
            yield from records_of(one)
    elif isinstance(content, Mapping):
        if "resourceSpans" in content or "resource_spans" in content:
            yield from _otlp(content)
        elif isinstance(content.get("data"), list):
            yield from _jaeger(content)
        elif isinstance(content.get("spans"), list):  # one trace, as Jaeger or flat
            yield from (
                _jaeger({"data": [content]})
                if "processes" in content
                else _listed(content["spans"])
            )
        elif isinstance(content.get("traces"), list):
            yield from records_of(content["traces"])
        elif _first(content, _START) is not None:
            yield content
