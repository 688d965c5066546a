"""OpenSRE's hand-written cloud cases: CloudWatch metrics, events of a database or a cluster, logs.

A cluster case names the healthy one as its base: what it does not hold itself is taken from there.
States without a time (pods, deployments) are written as log lines at the end of the case. The alert
is shown as it was sent, but for the field that gives the answer away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from benchmarks.rca.cases import Case, Truth, iso, write_json, write_lines, write_metrics

_TELLING = ("failure_mode", "suspected_symptom", "pipeline_name", "context_sources")
_LEVELS = {"Warning": "WARNING", "Normal": "INFO"}


def read(cases: Path, truth: Path) -> list[Case]:
    """One case a scenario; `truth` is the JSON of answer files (YAML) by folder."""
    out = []
    for name, text in sorted(json.loads(truth.read_text(encoding="utf-8")).items()):
        folder = cases / name
        if not (folder / "alert.json").is_file():
            continue
        known = yaml.safe_load(text)
        category = str(known["root_cause_category"])
        right = Truth(
            healthy=category == "healthy",
            forbidden=tuple(map(str, known.get("forbidden_categories") or ())),
            category=category,
        )
        kind = "healthy or recovered" if right.healthy else "a fault"
        out.append(Case(name, right, _writer(folder), kind=kind))
    return out


def _load(folder: Path, name: str) -> Any:
    path = folder / name
    scenario = yaml.safe_load((folder / "scenario.yml").read_text(encoding="utf-8")) or {}
    if not path.is_file() and scenario.get("base"):
        path = folder.parent / str(scenario["base"]) / name
        if name not in ("eks_node_health.json",):
            return None
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _metrics(folder: Path) -> Iterator[tuple[float, str, str, float]]:
    for path in sorted(folder.glob("aws_cloudwatch_metrics*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        listed = content.get("metric_data_results") or [content]
        for one in listed:
            who = next((d["Value"] for d in one.get("dimensions") or []), "")
            name = one.get("metric_name") or one.get("label")
            for at, value in zip(
                one.get("timestamps") or [], one.get("values") or [], strict=False
            ):
                if name and value is not None:
                    yield _seconds(at), str(who), str(name), float(value)


def _lines(folder: Path) -> Iterator[dict[str, Any]]:
    for one in (_load(folder, "aws_rds_events.json") or {}).get("events", []):
        yield {"ts": one["date"], "service": one["source_identifier"], "msg": one["message"]}
    for one in (_load(folder, "datadog_logs.json") or {}).get("logs", []):
        level = str(one.get("status", "")).upper()
        where = {"ts": one["timestamp"], "service": one.get("service", "")}
        yield {**where, "level": level, "msg": one["message"]}
    events = _load(folder, "eks_events.json") or {}
    for one in [*events.get("warning_events", []), *events.get("events", [])]:
        who = str(one.get("involved_object", "")).rpartition("/")[2]
        said = f"{one.get('reason')}: {one.get('message')}"
        level = _LEVELS.get(str(one.get("type")), "INFO")
        for at in dict.fromkeys((one.get("first_time"), one.get("last_time"))):
            if at:
                yield {"ts": at, "service": who, "level": level, "msg": said}
    pods = _load(folder, "eks_pod_logs.json")
    for one in pods if isinstance(pods, list) else [pods] if pods else []:
        for line in str(one.get("logs", "")).splitlines():
            found = re.match(r"(\S+Z)\s+(?:(INFO|WARN|ERROR|FATAL)\s+)?(.*)", line)
            if found:
                level = found[2] or "INFO"
                who = one.get("pod_name", "")
                yield {"ts": found[1], "service": who, "level": level, "msg": found[3]}


def _states(folder: Path, end: float) -> Iterator[dict[str, Any]]:
    for one in (_load(folder, "eks_deployments.json") or {}).get("deployments", []):
        counts = {key: one.get(key) for key in ("desired", "ready", "available", "unavailable")}
        said = "deployment " + " ".join(f"{key}={value}" for key, value in counts.items())
        yield {"ts": iso(end), "service": one.get("name", ""), "level": "INFO", "msg": said}
    for one in (_load(folder, "eks_pods.json") or {}).get("pods", []):
        restarts = sum(int(c.get("restart_count") or 0) for c in one.get("containers") or [])
        said = f"pod phase={one.get('phase')} restarts={restarts}"
        yield {"ts": iso(end), "service": one.get("name", ""), "level": "INFO", "msg": said}


def _writer(folder: Path) -> Callable[[Path], None]:
    def write(out: Path) -> None:
        metrics = list(_metrics(folder))
        lines = sorted(_lines(folder), key=lambda line: str(line["ts"]))
        times = [row[0] for row in metrics] + [_seconds(str(line["ts"])) for line in lines]
        if metrics:
            write_metrics(out / "metrics.csv", sorted(metrics))
        if times:
            lines += list(_states(folder, max(times)))
        write_lines(out / "logs.ndjson", lines)
        alert = json.loads((folder / "alert.json").read_text(encoding="utf-8"))
        labels, notes = (
            {
                key: value
                for key, value in (alert.get(part) or {}).items()
                if not any(word in key for word in _TELLING)
            }
            for part in ("commonLabels", "commonAnnotations")
        )
        write_json(
            out / "alert.json",
            {"title": alert.get("title"), "labels": labels, "annotations": notes},
        )

    return write
