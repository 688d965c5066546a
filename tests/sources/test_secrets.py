"""A secret that a server needs is in the request and nowhere else: not in report, journal or errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roundsman.investigate.request import Request
from roundsman.investigate.run import investigate
from roundsman.ledger import open_store
from roundsman.policy import load_policy
from roundsman.report import to_json
from roundsman.sources import Window
from roundsman.sources.spec import SourceSpec

END = 1_800_000_000.0
_SECRET = "s3cr3t-value"


def store(asked):
    """A Prometheus with one metric that jumps in the middle of the window."""
    if asked.headers.get("Authorization") != f"Bearer {_SECRET}":
        return (401, b"")
    path, query = asked.path, asked.fields.get("query", "")
    if path.endswith("/metadata"):
        return {"status": "success", "data": {}}
    if path.endswith(("/labels", "/values")):
        return {"status": "success", "data": ["depth"] if "__name__" in path else ["service"]}
    if path.endswith("/query"):
        rows = [{"metric": {"__name__": "depth"}, "value": [END, "4"]}]
        return {"status": "success", "data": {"result": rows}}
    start, end = float(asked.fields["start"]), float(asked.fields["end"])
    step = float(asked.fields["step"])
    times = [start + n * step for n in range(int((end - start) / step) + 1)]
    jump = 0 if query.startswith("count(") else 90
    values = [[t, str(10 + n % 3 + (jump if t > END - 1200 else 0))] for n, t in enumerate(times)]
    rows = [{"metric": {"service": "pay"}, "values": values}]
    return {"status": "success", "data": {"result": rows}}


def test_a_token_is_in_no_report_and_no_journal(
    serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path))
    monkeypatch.setenv("TOKEN", _SECRET)
    stub = serve(store)
    header = f"{stub.host}=Authorization: Bearer ${{TOKEN}}"
    spec = SourceSpec(prometheus=(stub.url,), headers=(header,))
    journal = open_store()
    request = Request(spec, window=Window(END - 3600, END))
    report, _ = investigate(request, load_policy("default"), store=journal)
    assert any("depth went from" in one["statement"] for one in report["findings"])
    assert any("${TOKEN}" in json.dumps(one.get("query")) for one in report["evidence"])
    assert _SECRET not in to_json(report)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if _SECRET.encode() in file.read_bytes()]
    records = journal.records(report["run_id"])
    assert _SECRET not in "".join(map(repr, records))
    assert "${TOKEN}" in repr(records[0])


def test_a_wrong_token_is_an_error_without_it(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    from roundsman.errors import SourceError

    monkeypatch.setenv("TOKEN", "wr0ng")
    stub = serve(store)
    header = f"{stub.host}=Authorization: Bearer ${{TOKEN}}"
    spec = SourceSpec(prometheus=(stub.url,), headers=(header,))
    with pytest.raises(SourceError, match="a login is needed") as caught:
        investigate(Request(spec), load_policy("default"))
    assert "wr0ng" not in str(caught.value)
