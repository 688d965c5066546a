"""Trace files and the call graph of an incident folder."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from roundsman.errors import SourceError
from roundsman.sources.log_scan import UNREADABLE
from roundsman.sources.protocols import Span, Unseen
from roundsman.sources.trace_records import flat_span, records_of

TRACE_ENDINGS = (".json", ".ndjson", ".jsonl", ".csv")
#: spans of one file that are kept; some 300 bytes each
MOST_SPANS = 200_000
#: a document that is not JSON lines is parsed whole, so it may not be larger (bytes, unpacked)
LARGEST_DOCUMENT = 64 * 1024 * 1024

Report = Callable[[Unseen], None]


def _open(path: Path) -> io.BufferedReader | gzip.GzipFile:
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")


def read_trace_file(path: Path, report: Report) -> list[Span]:
    """All spans of a file: OTLP JSON, Jaeger JSON, a list of flat spans, lines of these, or CSV.

    `report` hears what was left out. Raises SourceError, one line, when no span can be read.
    """
    spans: list[Span] = []
    undated = over = 0
    try:
        for record in _records(path):
            if len(spans) >= MOST_SPANS:
                over += 1
                continue
            span = flat_span(record)
            if span is None:
                undated += 1
            else:
                spans.append(span)
    except UNREADABLE as error:
        if not spans:
            raise SourceError(f"{path.name}: cannot be read as traces: {error}"[:200]) from None
        report(Unseen(path.name, f"cannot be read to its end: {error}"[:200]))
    except (csv.Error, ValueError) as error:
        if not spans:
            raise SourceError(f"{path.name}: cannot be read as traces: {error}"[:200]) from None
        report(Unseen(path.name, f"broken behind {len(spans):,} spans: {error}"[:200]))
    if not spans:
        what = f"{undated} records, none with a start time" if undated else "no spans in it"
        raise SourceError(f"{path.name}: {what}; expected OTLP or Jaeger JSON, or a list of spans")
    if undated:
        report(Unseen(path.name, "spans without a readable start time", undated))
    if over:
        report(Unseen(path.name, f"spans over the first {MOST_SPANS:,}", over))
    return spans


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    name = path.name.lower().removesuffix(".gz")
    with _open(path) as file:
        if name.endswith(".csv"):
            text = io.TextIOWrapper(file, "utf-8", "replace", newline="")
            yield from csv.DictReader(text)
            return
        head = file.readline(LARGEST_DOCUMENT)
        first = _parsed(head)
        if first is not None:  # lines of documents (or one document on one line)
            yield from records_of(first)
            for number, line in enumerate(iter(file.readline, b""), start=2):
                if line.strip():
                    content = _parsed(line)
                    if content is None:
                        raise ValueError(f"line {number} is not JSON")
                    yield from records_of(content)
            return
        whole = head + file.read(LARGEST_DOCUMENT + 1 - len(head))
    if len(whole) > LARGEST_DOCUMENT:
        most = LARGEST_DOCUMENT >> 20
        raise ValueError(f"one document of over {most} MB; write a trace a line instead")
    content = _parsed(whole)
    if content is None:
        raise ValueError("not JSON")
    yield from records_of(content)


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None


_CALLER = ("caller", "source", "from", "parent", "src", "upstream")
_CALLEE = ("callee", "target", "to", "child", "dst", "downstream")


def read_call_graph(path: Path) -> set[tuple[str, str]]:
    """Pairs (caller, callee) of a CSV: two named columns, or a matrix whose rows call its columns.

    Raises SourceError, one line, when it is neither.
    """
    text = path.read_bytes().decode("utf-8-sig", "replace").replace("\x00", "")
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise SourceError(f"{path.name}: not CSV: {error}") from None
    if not rows:
        raise SourceError(f"{path.name}: empty, expected caller,callee or a matrix of calls")
    head = [cell.strip() for cell in rows[0]]
    lower = [cell.lower() for cell in head]
    caller = next((lower.index(name) for name in _CALLER if name in lower), None)
    callee = next((lower.index(name) for name in _CALLEE if name in lower), None)
    if caller is not None and callee is not None:
        ends = max(caller, callee)
        pairs = {(r[caller].strip(), r[callee].strip()) for r in rows[1:] if len(r) > ends}
        return {pair for pair in pairs if all(pair) and pair[0] != pair[1]}
    names = head[1:]
    body = [row for row in rows[1:] if row[0].strip()]
    if not names or not {row[0].strip() for row in body} & set(names):
        raise SourceError(
            f"{path.name}: neither columns caller and callee nor a matrix named alike in both ways"
        )
    return {
        (row[0].strip(), name)
        for row in body
        for name, cell in zip(names, row[1:], strict=False)
        if _calls(cell) and row[0].strip() != name
    }


def _calls(cell: str) -> bool:
    try:
        return float(cell) > 0
    except ValueError:
        return cell.strip().lower() in ("true", "x", "yes")
