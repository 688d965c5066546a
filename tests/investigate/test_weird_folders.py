"""Whatever a folder holds: no exception, and nobody is accused with nothing to show for it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.investigate.test_incident_outage import answer

from roundsman.errors import SourceError
from roundsman.investigate.incident import load_incident
from roundsman.investigate.tools import make_tools
from roundsman.sources.times import iso

START = 1_772_000_000.0

services = st.sampled_from(
    [
        "",
        "api",
        "API",
        "Api",
        "größe",
        "注文",
        "a b",
        "x" * 300,
        "🚒",
        "null",
        "-",
        "a/b",
        "nan",
        "0",
    ]
)
metric_names = st.sampled_from(
    [
        "errors_total",
        "latency_p99",
        "",
        "ошибки",
        "memory",
        "cpu",
        "up",
        "requests",
        "q\n1",
        "value",
    ]
)
values = st.one_of(
    st.sampled_from(["NaN", "inf", "-Infinity", "1e308", "-1e308", "5e-324", "0", "", "x", "1,5"]),
    st.floats(allow_nan=True).map(str),
)
#: how the values of a series run: arbitrary, or a plain step that would accuse if anything were done
series = st.one_of(
    st.lists(values, min_size=0, max_size=30),
    st.tuples(values, values).map(lambda pair: [pair[0]] * 30 + [pair[1]] * 30),
    values.map(lambda value: [value] * 40),
)
texts = st.sampled_from(
    ["boom", "ERROR timeout", "", "\x00\x1b[31m", "x509: certificate has expired", "no space left",
     "注文 失敗", "{}", "[1,2]", "a" * 5000, "connection refused by api", "\ufffd"]
)  # fmt: skip
levels = st.sampled_from(["ERROR", "error", "INFO", "", "fatal", "7", None, [], {}])
odd = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just([]),
    st.just({"a": 1}), st.just([None]), st.sampled_from(["2026-01-01T00:00:00Z", "10:00", "-1"]),
)  # fmt: skip
changes = st.dictionaries(
    st.sampled_from(
        ["timestamp", "time", "service", "version", "kind", "diff", "config", "commit", "sha", "flag",
         "before", "after", "message", "files", "name", "patch"]
    ),
    odd, max_size=8,
)  # fmt: skip
spans = st.dictionaries(
    st.sampled_from(
        ["trace_id", "span_id", "parent_id", "service", "name", "start", "duration_ms", "status", "error"]
    ),
    odd, max_size=9,
)  # fmt: skip


@st.composite
def folders(draw: st.DrawFn) -> dict[str, str]:
    """The text of every file by name."""
    step = draw(st.sampled_from([0.0, 1.0, 15.0, 60.0, 86400.0]))
    rows = ["timestamp,service,metric,value"]
    for _ in range(draw(st.integers(0, 4))):
        who, what = draw(services), draw(metric_names)
        for n, value in enumerate(draw(series)):
            rows.append(f'{iso(START + n * step)},"{who}","{what}","{value}"')
    logs = [
        json.dumps({"ts": iso(START + n * step), "service": draw(services),
                    "level": draw(levels), "msg": draw(texts)})
        for n in range(draw(st.integers(0, 12)))
    ]  # fmt: skip
    files = {"metrics.csv": "\n".join(rows), "logs.ndjson": "\n".join(logs)}
    files["deploys.json"] = json.dumps(draw(st.lists(changes, max_size=4)))
    files["flags.json"] = json.dumps(draw(st.lists(changes, max_size=2)))
    files["traces.ndjson"] = "\n".join(map(json.dumps, draw(st.lists(spans, max_size=6))))
    alert = {"service": draw(odd), "name": draw(odd), "timestamp": draw(odd)}
    files["alert.json"] = json.dumps(alert)
    return files


def judged(files: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The answer and the verdict; None when the folder is refused in one line."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in files.items():
            (Path(scratch) / name).write_text(text, encoding="utf-8", errors="replace")
        try:
            incident = load_incident(scratch)
        except SourceError:
            return None
        for tool in make_tools(incident)[:-1]:  # the last one writes
            assert "failed:" not in str(tool().get("error"))
        found = answer(Path(scratch))
        assert not [one for one in incident.unseen if "it failed" in str(one["why"])]
        return found


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(folders())
@example({"metrics.csv": "timestamp,service,metric,value\n2026-01-01T00:00:00Z,a,up,1\n"})
@example({"metrics.csv": "a,b,c\n1,2,3\n", "logs.ndjson": "null\n[]\n"})
def test_no_folder_raises_and_nobody_is_accused_with_nothing(files: dict[str, str]) -> None:
    found = judged(files)
    if found is None:
        return
    said, cause = found
    assert not cause["broken"]
    json.dumps(cause, allow_nan=False)
    if not cause["abstained"]:
        mine = [one for one in said["findings"] if one["statement"] == cause["statement"]]
        assert all(one["evidence"] for one in mine)
        assert mine
        assert all(cause[key] for key in ("since", "service", "because"))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(folders(), values)
def test_where_nothing_moves_nobody_is_accused_whatever_was_changed(
    files: dict[str, str], value: str
) -> None:
    rows = [f"{iso(START + 15 * n)},api,errors_total,{value}" for n in range(40)]
    files["metrics.csv"] = "\n".join(["timestamp,service,metric,value", *rows])
    files["logs.ndjson"] = files["traces.ndjson"] = ""
    found = judged(files)
    assert found is None or found[1]["abstained"]
