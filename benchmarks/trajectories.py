"""Recorded agent runs, one JSON line each, from `.jsonl` and `.jsonl.gz` files.

A line: `run_id, source, labels{success, budget_exhausted}, events[{type, name, args, text, sha}]`
with types `model`, `tool_call`, `tool_result`, `user`. Everything may be missing; what cannot be
used is counted, never raised.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """`kind` is call, result, reply or user; `call` numbers calls and their results from 1."""

    kind: str
    name: str = ""
    args: Any = None
    text: str = ""
    sha: str = ""
    failed: bool = False
    call: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One recorded run. `success` is None when nobody said; `capped` says that the source had a
    step cap, `exhausted` that this run used it up."""

    run_id: str
    source: str
    success: bool | None
    capped: bool
    exhausted: bool
    calls: int
    events: tuple[Event, ...]


@dataclass(slots=True)
class Read:
    """What the reader met: `bad` lines by reason, and files that end too early."""

    lines: int = 0
    bad: dict[str, int] = field(default_factory=dict)

    def skip(self, why: str) -> None:
        self.bad[why] = self.bad.get(why, 0) + 1


def files(paths: Iterable[Path]) -> list[Path]:
    """The files meant by paths: a folder stands for its `.jsonl` and `.jsonl.gz` files."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(p for p in path.rglob("*.jsonl*") if p.suffix in (".jsonl", ".gz"))
        else:
            found.append(path)
    return found


def read(path: Path, met: Read) -> Iterator[Run]:
    """The runs of one file. Raises OSError when it cannot be opened."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        try:
            for line in lines:
                if line.strip():
                    met.lines += 1
                    run = _run(line, met)
                    if run is not None:
                        yield run
        except (EOFError, zlib.error, gzip.BadGzipFile):
            met.skip("file ends too early or is no gzip")


def _run(line: bytes, met: Read) -> Run | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        met.skip("not JSON")
        return None
    if not isinstance(data, dict) or not isinstance(data.get("events"), list):
        met.skip("no events")
        return None
    labels = data.get("labels")
    labels = labels if isinstance(labels, dict) else {}
    success = labels.get("success")
    events = tuple(_events(data["events"], met))
    return Run(
        run_id=str(data.get("run_id", "")),
        source=str(data.get("source") or "(no source)"),
        success=success if isinstance(success, bool) else None,
        capped="budget_exhausted" in labels,
        exhausted=labels.get("budget_exhausted") is True,
        calls=sum(e.kind == "call" for e in events),
        events=events,
    )


def _events(rows: list[Any], met: Read) -> Iterator[Event]:
    waiting: list[tuple[Any, int]] = []
    number = 0
    for row in rows:
        kind = row.get("type") if isinstance(row, dict) else None
        if kind == "tool_call":
            number += 1
            waiting.append((row.get("id"), number))
            yield Event("call", str(row.get("name") or ""), row.get("args"), call=number)
        elif kind == "tool_result":
            place = next((i for i, (key, _) in enumerate(waiting) if key == row.get("id")), 0)
            if waiting:  # a result nobody asked for belongs to no call
                _, of = waiting.pop(place)
                text, failed = str(row.get("text") or ""), bool(row.get("error"))
                yield Event("result", "", None, text, str(row.get("sha") or ""), failed, of)
        elif kind == "model":
            yield Event("reply", str(row.get("name") or ""), text=str(row.get("text") or ""))
        elif kind == "user":
            yield Event("user", text=str(row.get("text") or ""))
        else:
            met.skip("event of unknown type")
