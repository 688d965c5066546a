"""Nezha: faults injected into a microservice system; per-pod metrics (a minute), logs and traces.

Logs and traces of a fault are three minutes, of which the first ends with the injection; the quiet
minutes of the set are moved to before them. Metrics are those of the twenty minutes before. The alert
says that the front end suffers, two minutes after the injection; it names no other service.
"""

from __future__ import annotations

import contextlib
import csv
import json
import math
import re
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.rca.cases import Case, Truth, iso, write_json, write_lines, write_metrics

_BEFORE, _AFTER = 20 * 60.0, 150.0
_POD = re.compile(r"-[0-9a-f]{6,10}-[0-9a-z]{5}$|-[0-9]+$")
_LEVEL = re.compile(r"\b(ERROR|WARN|INFO|DEBUG|FATAL)\b")


def read(cases: Path, truth: Path) -> list[Case]:
    """One case an injection; `cases` is the archive or the folder it holds, `truth` the list by hour."""
    root = _unpacked(cases)
    answers = json.loads(truth.read_text(encoding="utf-8"))
    day = next(one for one in sorted((root / "rca_data").iterdir()) if one.is_dir()).name
    return [
        Case(
            f"{day} {one['inject_time'][11:]} {one['inject_type']}",
            Truth(services=(service_of(one["inject_pod"]),)),
            _writer(root, day, _when(one["inject_time"])),
            kind=str(one["inject_type"]),
        )
        for hour in sorted(answers)
        for one in answers[hour]
    ]


def _unpacked(cases: Path) -> Path:
    if cases.is_dir():
        found = next((one.parent for one in sorted(cases.rglob("rca_data"))), None)
        if found is not None:
            return found
        cases = next(iter(sorted(cases.glob("nezha*.tar*"))))
    target = Path(tempfile.gettempdir()) / f"roundsman-bench-{cases.name}-{cases.stat().st_size}"
    if not target.is_dir():
        with tempfile.TemporaryDirectory(dir=target.parent) as half, tarfile.open(cases) as archive:
            archive.extractall(half, filter="data")
            Path(half).rename(target)
            Path(half).mkdir()
    return next(one.parent for one in sorted(target.rglob("rca_data")))


def service_of(pod: str) -> str:
    """The service a pod belongs to."""
    return _POD.sub("", pod)


def _when(text: str) -> float:
    return datetime.strptime(text[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()


def _table(path: Path) -> Iterator[Mapping[str, str]]:
    csv.field_size_limit(10_000_000)
    if path.is_file():
        with path.open(encoding="utf-8", newline="", errors="replace") as file:
            yield from csv.DictReader(line.replace("\0", "") for line in file)


def _metrics(folder: Path, start: float, end: float) -> Iterator[tuple[float, str, str, float]]:
    skipped = {"Time", "TimeStamp", "PodName", "ServiceName", ""}
    for path in sorted(folder.glob("*.csv")):
        for row in _table(path):
            at = _when(row["Time"])  # the other column is shifted in some of the sets
            if not start <= at <= end:
                continue
            who = service_of(row.get("PodName") or row.get("ServiceName") or path.stem)
            for name, cell in row.items():
                if name not in skipped and cell and math.isfinite(value := float(cell)):
                    yield at, who, name, value


def _minutes(folder: Path, kind: str, injected: float) -> list[Path]:
    names = [datetime.fromtimestamp(injected + 60 * n, UTC).strftime("%H_%M") for n in range(3)]
    return [folder / kind / f"{name}_{kind}.csv" for name in names]


def _log(row: Mapping[str, str], shift: float) -> dict[str, Any]:
    text = row["Log"]
    with contextlib.suppress(ValueError, KeyError, TypeError):
        text = str(json.loads(text)["log"])
    level = _LEVEL.search(text)
    # time, level and ids in front of the message differ in every line and say nothing
    said = re.sub(r"^[\d:.\s]*\b(?:ERROR|WARN|INFO|DEBUG|FATAL)\b\s*", "", text).strip()
    said = re.sub(r"\bTraceID: \w+ SpanID: \w+\s*", "", said)
    return {
        "ts": iso(int(row["TimeUnixNano"]) / 1e9 + shift),
        "service": service_of(row["PodName"]),
        "level": level[1] if level else "INFO",
        "msg": said[:2000],
    }


def _span(row: Mapping[str, str], shift: float) -> dict[str, Any]:
    return {
        "trace_id": row["TraceID"],
        "span_id": row["SpanID"],
        "parent_id": None if row["ParentID"] == "root" else row["ParentID"],
        "service": service_of(row["PodName"]),
        "name": row["OperationName"],
        "start": iso(int(row["StartTimeUnixNano"]) / 1e9 + shift),
        "duration_ms": float(row["Duration"]) / 1000,
    }


def _writer(root: Path, day: str, injected: float) -> Callable[[Path], None]:
    def write(out: Path) -> None:
        folder, quiet = root / "rca_data" / day, root / "construct_data" / day
        write_metrics(
            out / "metrics.csv",
            _metrics(folder / "metric", injected - _BEFORE, injected + _AFTER),
        )
        rows: dict[str, list[dict[str, Any]]] = {}
        for kind, time, make in (("log", "ts", _log), ("trace", "start", _span)):
            stamp = "TimeUnixNano" if kind == "log" else "StartTimeUnixNano"
            during = [row for path in _minutes(folder, kind, injected) for row in _table(path)]
            before = [row for path in (quiet / kind).glob("*.csv") for row in _table(path)]
            if not during:
                continue
            first = min(int(row[stamp]) for row in during)
            shift = (first - max((int(row[stamp]) for row in before), default=0)) / 1e9 - 0.5
            records = [make(row, shift) for row in before] + [make(row, 0.0) for row in during]
            rows[kind] = sorted(records, key=lambda record: str(record[time]))
        for service in sorted({one["service"] for one in rows.get("log", [])}):
            mine = (one for one in rows["log"] if one["service"] == service)
            write_lines(out / "logs" / f"{service}.ndjson", mine)
        write_lines(out / "traces.ndjson", rows.get("trace", []))
        write_json(
            out / "alert.json",
            {"name": "requests of users fail or are slow", "timestamp": iso(injected + 120)},
        )
        start, end = injected - _BEFORE, injected + _AFTER
        spec = f"window: {{start: '{iso(start)}', end: '{iso(end)}'}}\n"
        (out / "incident.yaml").write_text(spec, encoding="utf-8")

    return write
