"""Sources on the command line: what they make of an investigation, and every wrong use as one line."""

from __future__ import annotations

import io
import json
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from roundsman.cli import cli
from roundsman.errors import UsageError
from roundsman.investigate import alerts
from roundsman.investigate.incident import open_incident
from roundsman.investigate.request import Request, read_window
from roundsman.investigate.resume import resume
from roundsman.investigate.run import investigate
from roundsman.ledger import open_store
from roundsman.policy import load_policy
from roundsman.sources import Window
from roundsman.sources.spec import SourceSpec
from roundsman.sources.times import iso

ROOT = Path(__file__).parents[2]
OUTAGE = ROOT / "examples" / "incidents" / "pool-exhaustion"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path / "home"))


def refused(*args: str, stdin: str | None = None) -> str:
    done = CliRunner().invoke(cli, ["investigate", *args], input=stdin)
    assert isinstance(done.exception, UsageError), done.output
    assert done.exception.exit_code == 2
    assert "\n" not in str(done.exception)
    return str(done.exception)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "nothing to look at: give a folder PATH, or sources such as"),
        (["--prometheus", "localhost:9090"], "--prometheus localhost:9090: must begin"),
        (["--prometheus", "http://127.0.0.1:9"], "connection refused"),
        (["--prometheus", "http://u:s3cret@h"], "--prometheus http://h: name and password"),
        (["--git", "/nowhere"], "--git /nowhere: no such folder"),
        (["--logs", "/nowhere"], "--logs /nowhere: No such file or directory"),
        (["--git", ".", "--since", "yesterday"], "--since 'yesterday': expected a time from 10s"),
        (["--git", ".", "--since", "9d"], "--since '9d'"),
        (["--git", ".", "--window", "2026-01-31T10:00:00Z"], "expected START/END"),
        (["--git", ".", "--window", "2026-01-31T11:00:00Z/2026-01-31T10:00:00Z"], "before it ends"),
        (["--git", ".", "--since", "1h", "--window", "a/b"], "two ways to say it"),
        (["--git", ".", "--alert", "/nowhere"], "--alert /nowhere: No such file"),
        (["--git", ".", "--header", "h=Authorization: s3cret"], "--header for h"),
        (["--prometheus", "http://h", "--header", "h=Authorization: s3cret"], "--header for h"),
    ],
)  # fmt: skip
def test_a_wrong_use_is_one_line(args: list[str], said: str) -> None:
    message = refused(*args)
    assert said in message
    assert "s3cret" not in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a JSON alert"),
        ("[]", "an empty list"),
        ('{"a": 1}', "holds no time, service or name"),
    ],
)
def test_what_is_no_alert_on_standard_input_is_one_line(text: str, said: str) -> None:
    assert said in refused("--git", ".", "--alert", "-", stdin=text)


def test_the_alert_may_come_by_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    body = (OUTAGE / "alert.json").read_bytes()
    monkeypatch.setattr(alerts.sys, "stdin", SimpleNamespace(buffer=io.BytesIO(body)))
    alert = alerts.alert_from("-")
    assert alert == alerts.read_alert(OUTAGE / "alert.json")
    assert alert.at is not None


def test_of_several_alerts_the_first_that_still_fires_is_taken() -> None:
    def one(name: str, at: int, status: str = "firing") -> dict[str, object]:
        labels = {"alertname": name}
        return {"status": status, "labels": labels, "startsAt": f"2026-01-31T10:{at:02}:00Z"}

    body = {
        "alerts": [one("late", 20), one("over", 1, "resolved"), one("first", 10), {"status": 5}]
    }
    assert alerts.parse_alert(json.dumps(body).encode(), "x").name == "first"


def test_a_window_of_the_last_hour_or_of_two_times() -> None:
    assert read_window("90m", None, 10_000.0) == Window(4_600.0, 10_000.0)
    between = read_window(None, "2026-01-31T10:00:00Z/2026-01-31T11:00:00Z", 0.0)
    assert between is not None
    assert (iso(between.start), iso(between.end)) == (
        "2026-01-31T10:00:00Z",
        "2026-01-31T11:00:00Z",
    )
    assert read_window(None, None, 0.0) is None


def test_logs_beside_the_folder_are_looked_at_with_it(tmp_path: Path) -> None:
    folder, logs = tmp_path / "incident", tmp_path / "elsewhere"
    (folder / "metrics").mkdir(parents=True)
    for file in (OUTAGE / "metrics").iterdir():
        (folder / "metrics" / file.name).write_bytes(file.read_bytes())
    logs.mkdir()
    for file in (OUTAGE / "logs").iterdir():
        (logs / file.name).write_bytes(file.read_bytes())
    (folder / "incident.yaml").write_text("sources: {logs: ../elsewhere}\n")
    incident = open_incident(Request.of_folder(folder))
    assert incident.source.kinds == ["metrics", "logs"]
    whole = open_incident(Request.of_folder(OUTAGE))
    assert incident.logs(whole.window)[0].lines == whole.logs(whole.window)[0].lines > 0


def test_files_alone_give_the_window_servers_the_last_hour(tmp_path: Path) -> None:
    logs = open_incident(Request(SourceSpec(logs=(str(OUTAGE / "logs"),))))
    assert logs.source.kinds == ["logs"]
    assert logs.window.end < time.time() - 1
    assert logs.window.end == pytest.approx(
        open_incident(Request.of_folder(OUTAGE)).window.end, abs=3600
    )


def _repository(path: Path) -> Path:
    path.mkdir()
    for args in (["init", "-q"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q",
                                  "--allow-empty", "--no-gpg-sign", "-m", "x"]):  # fmt: skip
        subprocess.run(["git", "-C", str(path), *args], check=True)
    return path


def test_a_run_can_be_resumed_with_the_same_sources_and_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _repository(tmp_path / "repo")
    spec = SourceSpec(logs=(str(OUTAGE / "logs"),), git=("repo",))
    store = open_store()
    report, _ = investigate(Request(spec), load_policy("default"), store=store)
    setup = store.records(report["run_id"])[0].body["setup"]
    again = Request.from_setup(json.loads(json.dumps(setup)))
    monkeypatch.chdir("/")
    assert again.sources.git == (str(tmp_path / "repo"),)
    first, second = open_incident(replace_sources(again)), open_incident(again)
    assert first.window == second.window == again.window
    assert first.describe() == second.describe()
    assert resume(report["run_id"], store)[0]["run_id"] == report["run_id"]


def replace_sources(request: Request) -> Request:
    return Request.from_setup(request.to_setup())


def test_what_did_not_answer_is_in_the_report(tmp_path: Path) -> None:
    spec = SourceSpec(logs=(str(OUTAGE / "logs"),), prometheus=("http://127.0.0.1:9",))
    window = open_incident(Request.of_folder(OUTAGE)).window
    report, _ = investigate(Request(spec, window=window), load_policy("default"))
    assert any("prometheus http://127.0.0.1:9" in row["what"] for row in report["unseen"])


def test_the_doctor_says_of_each_source_whether_it_answers(tmp_path: Path) -> None:
    _repository(tmp_path / "repo")
    args = ["doctor", "--git", str(tmp_path / "repo"), "--prometheus", "http://127.0.0.1:9"]
    done = CliRunner().invoke(cli, args)
    assert done.exit_code == 4
    lines = [line for line in done.output.splitlines() if "repo" in line or "127.0.0.1:9" in line]
    assert lines[0].startswith("failed")
    assert "connection refused" in lines[0]
    assert lines[1].startswith("ok")
    assert "changes" in lines[1]
