"""PetShop: five-minute metrics of an application with known call graph, and injected faults.

An issue has two samples before the fault and three after it. The quiet days of the set are from
another month: their last hours are moved to just before the issue, so that there is something to
compare with. The alert is the set's own: which node was seen to suffer, and when.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.rca.cases import Case, Truth, write_graph, write_json, write_metrics
from benchmarks.rca.cases import iso as iso_of

_QUIET_SAMPLES = 48
_STEP = 300.0

Row = tuple[float, str, str, float]


def read(cases: Path, truth: Path) -> list[Case]:
    """One case an issue; `truth` is the JSON with the root cause by `traffic/issue`."""
    answers = json.loads(truth.read_text(encoding="utf-8"))
    out = []
    for name, known in sorted(answers.items()):
        folder = cases / name
        if (folder / "metrics.csv").is_file():
            target = known["target"]
            right = Truth(services=(str(known["root_cause"]["node"]),))
            out.append(Case(name, right, _writer(folder, target), kind=str(target["metric"])))
    return out


def _rows(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        nodes, metrics, statistics = next(lines), next(lines), next(lines)
        for line in lines:
            try:
                at = float(line[0])
            except (ValueError, IndexError):
                continue
            for node, metric, statistic, cell in zip(
                nodes[1:], metrics[1:], statistics[1:], line[1:], strict=False
            ):
                if cell and math.isfinite(value := float(cell)):
                    yield at, node, f"{metric}_{statistic}", value


def _calls(path: Path) -> set[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    return {
        (row[0], name)
        for row in rows
        for name, cell in zip(head[1:], row[1:], strict=False)
        if cell and float(cell) and row[0] != name
    }


def _writer(folder: Path, target: dict[str, object]) -> Callable[[Path], None]:
    def write(out: Path) -> None:
        issue = list(_rows(folder / "metrics.csv"))
        quiet = list(_rows(folder.parent / "noissue" / "metrics.csv"))
        first, last = min(row[0] for row in issue), max(row[0] for row in quiet)
        shift = first - _STEP - last
        kept = [(at + shift, *rest) for at, *rest in quiet if at > last - _QUIET_SAMPLES * _STEP]
        write_metrics(out / "metrics.csv", [*kept, *issue])  # type: ignore[list-item]
        write_graph(out / "graph.csv", _calls(folder.parent / "graph.csv"))
        end = max(row[0] for row in issue)
        write_json(
            out / "alert.json",
            {
                "service": target["node"],
                "name": f"{target['metric']} of {target['node']}",
                "timestamp": iso_of(float(str(target["timestamp"]))),
            },
        )
        start = first - _QUIET_SAMPLES * _STEP
        spec = f"window: {{start: '{iso_of(start)}', end: '{iso_of(end + 1)}'}}\n"
        (out / "incident.yaml").write_text(spec, encoding="utf-8")

    return write
