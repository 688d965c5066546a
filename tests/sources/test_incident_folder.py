"""Incident folders as people leave them: odd, half empty, broken."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import duckdb
import pytest

from roundsman.errors import SourceError
from roundsman.investigate.incident import load_incident
from roundsman.sources import IncidentFolder, LogLine, Unseen, Window
from roundsman.sources.log_files import LogFile, log_service
from roundsman.sources.metric_files import read_metric_file, split_names
from roundsman.sources.times import iso

ALWAYS = Window(0, 4e9)
LONG = "timestamp,service,metric,value\n2026-01-01T10:00:00Z,api,errors,1\n"


def put(root: Path, name: str, content: str | bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (None, "", "no telemetry in this folder"),
        ("metrics.csv", "", "metrics.csv: empty file"),
        ("metrics/a.csv", "when,what\n1,2\n", "no time column"),
        ("metrics/a.csv", "timestamp,service,metric,value\n", "no row with a readable time"),
        ("metrics/a.csv", "timestamp,metric,value\nnever,cpu,1\n", "no row with a readable time"),
        ("metrics/a.parquet", "not parquet", "cannot be read as metrics"),
        ("deploys.json", "{oops", "deploys.json:1: not JSON"),
        ("deploys.json", "", "deploys.json: empty file"),
    ],
)
def test_a_folder_without_any_readable_telemetry_is_one_clear_line(
    tmp_path: Path, name: str | None, content: str, says: str
) -> None:
    if name:
        put(tmp_path, name, content)
    with pytest.raises(SourceError) as caught:
        IncidentFolder(tmp_path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_folder_and_a_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such folder"):
        IncidentFolder(tmp_path / "gone")
    with pytest.raises(SourceError, match="is a file, not a folder"):
        IncidentFolder(put(tmp_path, "x.csv", LONG))


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("deploys.json", ""),
        ("metrics/errors.csv", ""),
        ("context/traces/one.json", ""),
        ("logs/api.log", ", or for its lines alone: --logs {file}"),
        ("alert.json", ", or to look at other sources: --alert {file}"),
    ],
)
def test_a_file_in_the_place_of_a_folder_is_told_what_to_give_instead(
    tmp_path: Path, name: str, option: str
) -> None:
    file = put(tmp_path, name, LONG)
    with pytest.raises(SourceError) as caught:
        IncidentFolder(file)
    wanted = f"{file}: is a file, not a folder; give the incident folder it lies in: {tmp_path}"
    assert str(caught.value) == wanted + option.format(file=file)


def test_a_broken_file_beside_good_ones_is_unseen(tmp_path: Path) -> None:
    put(tmp_path, "metrics/good.csv", LONG)
    put(tmp_path, "metrics/zero.csv", "")
    put(tmp_path, "logs/empty.log", "")
    put(tmp_path, "logs/core.bin", b"\x00\x01")
    found = IncidentFolder(tmp_path)
    assert [one.metric for one in found.series(ALWAYS)] == ["errors"]
    assert [one.what for one in found.unseen] == [
        "metrics/zero.csv",
        "logs/core.bin",
        "logs/empty.log",
    ]


def test_context_and_top_level_files_are_read_too(tmp_path: Path) -> None:
    put(tmp_path, "metrics.csv", LONG)
    put(tmp_path, "logs.ndjson", '{"timestamp": 1767261600000, "msg": "hi", "service": "api"}\n')
    put(tmp_path, "context/deploys.json", '[{"timestamp": "2026-01-01T09:00:00+02:00"}]')
    put(tmp_path, "context/flags.json", '{"flags": [{"ts": 1767261600, "flag": "x"}]}')
    put(tmp_path, "context/logs/web.log", "2026-01-01 10:00:00,5 WARN slow\n")
    found = IncidentFolder(tmp_path)
    assert [(iso(c.at), c.kind) for c in found.changes(ALWAYS)] == [
        ("2026-01-01T07:00:00Z", "deploy"),
        ("2026-01-01T10:00:00Z", "flag"),
    ]
    lines = list(found.lines(ALWAYS))
    assert [(one.service, one.text) for one in lines] == [("api", "hi"), ("web", "WARN slow")]


def test_wide_files_name_their_series_by_column(tmp_path: Path) -> None:
    wide = put(tmp_path, "m.csv", "time,a_cpu,a_mem,b_cpu\n1767261600,1,,3\n1767261660,2,5,x\n")
    named = {(s.service, s.metric): s.values.tolist() for s in read_metric_file(wide)}
    assert named == {("a", "cpu"): [1.0, 2.0], ("a", "mem"): [5.0], ("b", "cpu"): [3.0]}
    assert split_names(["cpu_usage", "mem_usage"], "metrics")["cpu_usage"] == ("cpu", "usage")
    assert split_names(["cpu", "mem"], "cart")["cpu"] == ("cart", "cpu")
    assert split_names(["cart:cpu"], "x")["cart:cpu"] == ("cart", "cpu")


def test_metrics_named_with_dots_are_those_of_the_service_the_file_is_named_after(
    tmp_path: Path,
) -> None:
    columns = ["rpc.server.duration", "process.cpu.time"]
    own = {column: ("Cart", column) for column in columns}
    assert split_names(columns, "Cart") == own
    assert split_names(["a.cpu", "b.cpu"], "cluster")["a.cpu"] == ("a", "cpu")
    assert split_names(["cart.cpu"], "metrics")["cart.cpu"] == ("cart", "cpu")
    wide = put(tmp_path, "cart.prod.csv", "time,cpu\n1767261600,1\n1767261660,2\n")
    assert read_metric_file(wide)[0].service == "cart.prod"


def test_parquet_and_gzip_csv_are_read(tmp_path: Path) -> None:
    target = str(tmp_path / "m.parquet")
    duckdb.sql(
        "COPY (SELECT TIMESTAMP '2026-01-01 10:00:00' AS timestamp, 'api' AS service, "
        f"'errors' AS metric, 3 AS value) TO '{target}' (FORMAT parquet)"
    )
    (one,) = read_metric_file(tmp_path / "m.parquet")
    assert (iso(float(one.times[0])), one.values.tolist()) == ("2026-01-01T10:00:00Z", [3.0])
    (same,) = read_metric_file(put(tmp_path, "m.csv.gz", gzip.compress(LONG.encode())))
    assert same.service == "api"


@pytest.mark.parametrize(
    ("line", "at", "level"),
    [
        ("2026-01-01 10:00:00.250 UTC [7] FATAL:  no", "2026-01-01T10:00:00.250Z", "FATAL"),
        ("2026-01-01T12:00:00+02:00 ERROR no", "2026-01-01T10:00:00Z", "ERROR"),
        ("Jan  1 10:00:00 host app[3]: error: no", "2026-01-01T10:00:00Z", "ERROR"),
        ("1767261600 WARN no", "2026-01-01T10:00:00Z", "WARN"),
        ("1767261600250 info no", "2026-01-01T10:00:00.250Z", "INFO"),
        (
            '10.0.0.1 - - [01/Jan/2026:11:00:00 +0100] "GET / HTTP/1.1" 502 12',
            "2026-01-01T10:00:00Z",
            "ERROR",
        ),
        ("2026/01/01 10:00:00 [error] 1#1: *5 no", "2026-01-01T10:00:00Z", "ERROR"),
        ('{"time": "2026-01-01T10:00:00Z", "level": "error"}', "2026-01-01T10:00:00Z", "ERROR"),
    ],
)
def test_usual_log_formats_are_read_in_utc(tmp_path: Path, line: str, at: str, level: str) -> None:
    put(tmp_path, "logs/api.log", line + "\n")
    window = Window(1767261600 - 60, 1767261600 + 60)
    (found,) = IncidentFolder(tmp_path).lines(window)
    assert (iso(found.at), found.level, found.service) == (at, level, "api")


def test_broken_bytes_stack_traces_and_undated_lines(tmp_path: Path) -> None:
    text = b"no time\n2026-01-01T10:00:00Z ERROR caf\xe9\n  at f(x)\n\x00\n"
    put(tmp_path, "logs/api.log", text)
    found = IncidentFolder(tmp_path)
    lines = list(found.lines(ALWAYS))
    assert [one.text for one in lines] == ["ERROR caf\ufffd", "at f(x)"]
    assert lines[1].at == lines[0].at
    assert Unseen("api.log", "lines without a readable time", 1) in found.unseen


@pytest.mark.parametrize("text", [b"\x8f\xf1\n\x9c\xfe" * 500, b"served\nserved\n"])
def test_a_log_without_one_readable_time_is_told_as_a_whole(tmp_path: Path, text: bytes) -> None:
    put(tmp_path, "logs/api.log", text)
    found = IncidentFolder(tmp_path)
    assert list(found.lines(ALWAYS)) == []
    assert found.unseen == [Unseen("log file api.log", "no line with a readable time")]


def test_a_packed_log_is_told_as_a_whole_only_when_nothing_of_it_was_read(tmp_path: Path) -> None:
    lines = [f"2026-01-01T10:00:00Z INFO {os.urandom(40).hex()}\n" for _ in range(40_000)]
    packed = gzip.compress("".join(lines).encode())
    put(tmp_path, "logs/cut.log.gz", packed[:-1000])
    put(tmp_path, "logs/torn.log.gz", b"\x8f\xf1\n\x9c\xfe" * 500)
    found = IncidentFolder(tmp_path)
    assert list(found.lines(ALWAYS))
    assert {one.what for one in found.unseen} == {"cut.log.gz", "log file torn.log.gz"}


def test_lines_that_match_a_question_and_have_no_time_do_not_condemn_a_log(tmp_path: Path) -> None:
    text = "lost: no time\n" + "2026-01-01T10:00:00Z INFO served\n" * 3
    put(tmp_path, "logs/api.log", text)
    found = IncidentFolder(tmp_path)
    assert list(found.lines(ALWAYS, text="lost")) == []
    assert found.unseen == [Unseen("api.log", "lines without a readable time", 1)]


def test_a_truncated_gzip_gives_what_it_has_and_says_so(tmp_path: Path) -> None:
    lines = "".join(f"2026-01-01T10:00:00Z INFO {n * 7919}\n" for n in range(5000))
    put(tmp_path, "logs/api.log.gz", gzip.compress(lines.encode())[:-2000])
    found = IncidentFolder(tmp_path)
    assert sum(1 for _ in found.lines(ALWAYS)) > 100
    assert any("cannot be read" in one.why for one in found.unseen)


def big_log(path: Path) -> Path:
    start = 1767225600
    with path.open("w") as file:
        for n in range(400_000):
            file.write(f"{iso(start + n * 0.2)} INFO request {n} was served in time {'x' * 60}\n")
    return path


def test_a_large_ordered_log_is_entered_by_time_and_sampled_over_budget(tmp_path: Path) -> None:
    path = big_log(tmp_path / "api.log")
    assert path.stat().st_size > 40e6
    unseen: list[Unseen] = []
    window = Window(1767225600 + 70_000, 1767225600 + 70_100)
    found = list(LogFile(path).lines(window, "", unseen.append))
    assert len(found) == 501
    assert unseen == []
    sampled: list[LogLine] = list(LogFile(path, budget=1_000_000).lines(ALWAYS, "", unseen.append))
    assert 5_000 < len(sampled) < 12_000
    assert sampled[-1].at - sampled[0].at > 70_000
    assert unseen[0].count > 30e6


def test_services_come_from_file_names() -> None:
    names = ["api.log", "api.log.1.gz", "api.ndjson.gz", "db-2.log"]
    assert [log_service(Path(name)) for name in names] == ["api", "api", "api", "db-2"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("question: [", "incident.yaml:1: not YAML"),
        ("- 1\n", "expected question, window and services"),
        ("window: {start: x, end: y}\n", "must be times"),
        ("services: api\n", "services must be a list"),
    ],
)
def test_a_wrong_incident_file_is_one_clear_line(tmp_path: Path, text: str, says: str) -> None:
    put(tmp_path, "metrics.csv", LONG)
    put(tmp_path, "incident.yaml", text)
    with pytest.raises(SourceError) as caught:
        load_incident(tmp_path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_alerts_of_either_shape_give_time_and_service(tmp_path: Path) -> None:
    put(tmp_path, "metrics.csv", LONG)
    flat = {"service": "api", "fired_at": "2026-01-01T10:00:00Z", "monitor": "m", "summary": "s"}
    put(tmp_path, "alert.json", json.dumps(flat))
    alert = load_incident(tmp_path).alert
    assert alert is not None
    assert (alert.at, alert.service, alert.name) == (1767261600.0, "api", "m")
    put(tmp_path, "alert.json", "[1]")
    with pytest.raises(SourceError, match="alert"):
        load_incident(tmp_path)


def test_a_file_reached_by_two_ways_is_read_once(tmp_path: Path) -> None:
    put(tmp_path, "metrics/m.csv", LONG)
    put(tmp_path, "logs/api.log", "2026-01-01T10:00:00Z ERROR no\n")
    put(tmp_path, "deploys.json", '[{"timestamp": "2026-01-01T09:00:00Z"}]')
    (tmp_path / "context").symlink_to(".")
    (tmp_path / "logs" / "current.log").symlink_to("api.log")
    (tmp_path / "metrics" / "copy.csv").hardlink_to(tmp_path / "metrics" / "m.csv")
    found = IncidentFolder(tmp_path)
    assert len(found.series(ALWAYS)) == 1
    assert len(list(found.lines(ALWAYS))) == 1
    assert len(found.changes(ALWAYS)) == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[1]", "its first entry is a number"),
        ("[]", "an empty list"),
        ("[null]", "its first entry is null"),
        ("null", "got null"),
        ("true", "got true or false"),
        ('"x"', "got a text"),
        ("3.5", "got a number"),
    ],
)
def test_an_alert_of_the_wrong_shape_is_named_in_json_words(
    tmp_path: Path, content: str, says: str
) -> None:
    put(tmp_path, "metrics.csv", LONG)
    put(tmp_path, "alert.json", content)
    with pytest.raises(SourceError) as caught:
        load_incident(tmp_path)
    assert says in str(caught.value)


def test_an_alert_that_says_nothing_is_noted(tmp_path: Path) -> None:
    put(tmp_path, "metrics.csv", LONG)
    put(tmp_path, "alert.json", json.dumps({"blob": ["x" * 1000]}))
    incident = load_incident(tmp_path)
    assert incident.alert is None
    assert "no time, service, name or summary" in incident.unseen[0]["why"]
    put(tmp_path, "alert.json", json.dumps({"blob": "x" * (20 << 20)}))
    assert "not read: 20 MB" in load_incident(tmp_path).unseen[0]["why"]
    put(tmp_path, "alert.json", json.dumps({"alertname": "Slow", "startsAt": "yesterday"}))
    incident = load_incident(tmp_path)
    assert incident.alert is not None
    assert "without a readable time" in incident.unseen[0]["why"]


def test_a_window_that_cannot_be_is_shown_in_plain_times(tmp_path: Path) -> None:
    put(tmp_path, "metrics.csv", LONG)
    put(tmp_path, "incident.yaml", "window: {start: 2026-01-01T10:00:00Z, end: 2026-01-01}\n")
    with pytest.raises(SourceError) as caught:
        load_incident(tmp_path)
    assert "start 2026-01-01T10:00:00Z and end 2026-01-01T00:00:00Z must" in str(caught.value)
    put(tmp_path, "incident.yaml", "window: {start: soon}\n")
    with pytest.raises(SourceError, match=r"start 'soon' and end \(missing\)"):
        load_incident(tmp_path)


def test_a_statistic_behind_a_dot_makes_no_service_of_what_it_is_of() -> None:
    columns = ["Fare_errPct", "Fare_latency.p95", "Zone_errPct", "Zone_latency.p95"]
    found = split_names(columns, "w")
    assert found["Fare_latency.p95"] == ("Fare", "latency.p95")
    assert found["Zone_errPct"] == ("Zone", "errPct")
    named = ["cart_api.latency", "cart_api.rate", "web_api.latency", "web_api.rate"]
    assert split_names(named, "metrics")["cart_api.rate"] == ("cart_api", "rate")
    assert split_names(["cart.rate", "web.rate"], "metrics")["web.rate"] == ("web", "rate")
