"""What a reader of a foreign data set hands over: a case that can be written as an incident folder."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Truth:
    """What is known about a case; nothing of it is shown to the agent.

    services: any of them is a right answer (empty: the set says nothing about a service).
    changes: names of the guilty change (version, commit); empty: no change is guilty.
    judged_by_change: whether the set says which change is guilty, or that none is.
    decoys: names of changes that are innocent. healthy: nothing is wrong, or no longer.
    forbidden: categories the set says must not be named; category: the right one. first_failing: the set
    asks where users felt it first, not where the cause is.
    """

    services: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    judged_by_change: bool = False
    decoys: tuple[str, ...] = ()
    healthy: bool = False
    forbidden: tuple[str, ...] = ()
    category: str = ""
    first_failing: bool = False


@dataclass(frozen=True)
class Case:
    """`source` names it in the data set, `write` makes an incident folder of it; `kind` groups rows."""

    source: str
    truth: Truth
    write: Callable[[Path], None]
    kind: str = ""
    #: names to hide in a renamed run beside those the folder itself names as services
    names: tuple[str, ...] = field(default=())


def iso(at: float) -> str:
    """Epoch seconds as ISO 8601 with milliseconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_json(path: Path, content: Any) -> None:
    """Write JSON, folders included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON record a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_metrics(path: Path, rows: Iterable[tuple[float, str, str, float]]) -> None:
    """Write samples (time, service, metric, value) as the long form of a metric file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["timestamp", "service", "metric", "value"])
        for at, service, metric, value in rows:
            out.writerow([iso(at), service, metric, repr(float(value))])


def write_graph(path: Path, calls: Iterable[tuple[str, str]]) -> None:
    """Write who calls whom."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["caller", "callee"])
        out.writerows(sorted(calls))
