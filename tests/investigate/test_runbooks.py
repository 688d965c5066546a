"""The runbook that fits an alert steers the questions and is shown; it is never evidence."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from roundsman.errors import SourceError
from roundsman.investigate.alerts import Alert
from roundsman.investigate.analyst import plan
from roundsman.investigate.incident import open_incident
from roundsman.investigate.request import Request
from roundsman.investigate.run import investigate
from roundsman.investigate.runbooks import asked_in, fitting, read_runbook
from roundsman.policy import load_policy
from roundsman.report import to_markdown
from roundsman.sources import Unseen
from roundsman.sources.spec import SourceSpec

OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"
ALERT = Alert(1.8e9, "payments-api", "PaymentsHighErrors", "")


def write(
    folder: Path, name: str, front: str, body: str = "# Look at the pool\n\nThen call us."
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"---\n{front}\n---\n{body}\n", encoding="utf-8")
    return file


def chosen(folder: Path, alert: Alert = ALERT) -> tuple[str, list[Unseen]]:
    notes: list[Unseen] = []
    found = fitting([folder], alert, notes.append)
    return found.path.name if found else "", notes


def test_the_closest_one_that_applies_is_chosen(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "alert: '*'")
    write(tmp_path, "b.md", "alert: payments*errors")
    write(tmp_path, "c.md", "alert: payments*\nservice: payments-*")
    write(tmp_path, "d.md", "alert: PaymentsHighErrors\nservice: ledger")
    write(tmp_path, "e.md", "alert: [Other, PaymentsHighLatency]")
    assert chosen(tmp_path) == ("c.md", [])
    assert chosen(tmp_path, Alert(None, "", "PaymentsErrors", ""))[0] == "b.md"
    assert chosen(tmp_path, Alert(None, "", "DiskFull", ""))[0] == "a.md"


def test_without_an_alert_or_a_match_there_is_none(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "alert: Other")
    assert chosen(tmp_path)[0] == ""
    assert fitting([tmp_path], None, lambda _: None) is None


@pytest.mark.parametrize(
    ("front", "said"),
    [
        ("title: x", "needs alert: or service:"),
        ("alert: x\nalrt: y", "unknown key 'alrt'; did you mean 'alert'?"),
        ("Servce: x", "unknown key 'Servce'; did you mean 'service'?"),
        ("alert: x\nowner: y", "unknown key 'owner'; there are: alert, service, ask"),
        ("alert: x\nask: [{metrcs: a}]", "ask: unknown key 'metrcs'; did you mean 'metrics'?"),
        ("alert: x\nask: [{logs: a, 3: b}]", "each of ask is one of"),
        ("alert: [1]", "alert must be a name"),
        ("alert: {", "is not YAML"),
        ("- x", "needs alert: or service:"),
        ("alert: x\nask: [{metrics: a, logs: b}]", "each of ask is one of"),
        ("alert: x\nask: [run this]", "each of ask is one of"),
        ("alert: x\nask: [{logs: [1]}]", "must be a text"),
        ("alert: x\nask: [" + "{logs: a}," * 7 + "]", "7 questions, at most 6"),
    ],
)
def test_a_broken_one_is_a_note_of_one_line_and_stops_nothing(
    tmp_path: Path, front: str, said: str
) -> None:
    file = write(tmp_path, "broken.md", front)
    write(tmp_path, "good.md", "alert: Payments*")
    with pytest.raises(SourceError) as caught:
        read_runbook(file)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    name, notes = chosen(tmp_path)
    assert name == "good.md"
    assert len(notes) == 1


def test_markdown_without_front_matter_is_a_note_but_a_readme_is_none(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# ours")
    (tmp_path / "x.md").write_text("# no front matter")
    assert [note.what for note in chosen(tmp_path)[1]] == [f"runbook {tmp_path / 'x.md'}"]


@pytest.fixture(autouse=True)
def _journal_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path / "home"))


@pytest.fixture
def incident(tmp_path: Path) -> Path:
    folder = tmp_path / "incident"
    shutil.copytree(OUTAGE, folder)
    write(
        folder / "runbooks", "pool.md",
        "alert: Storefront*\nask:\n  - {logs: connection slots, service: orders}\n  - {metrics: pool}",
    )  # fmt: skip
    return folder


def test_its_questions_are_asked_and_it_is_shown(incident: Path) -> None:
    found = open_incident(Request.of_folder(incident))
    assert "Runbook pool.md (Look at the pool)" in found.describe()
    calls = plan(found.describe(), [])
    assert {"service": "orders", "text": "connection slots", "window_minutes": 60} in [
        call["args"] for call in calls
    ]
    report, _ = investigate(incident, load_policy("default"))
    asked = [one["args"] for one in report["evidence"]]
    assert any(args.get("text") == "connection slots" for args in asked)
    assert any(args.get("metric") == "pool" for args in asked)
    assert report["runbook"]["title"] == "Look at the pool"
    assert "Look at the pool" in to_markdown(report)


def test_the_verdict_is_the_same_with_it(incident: Path) -> None:
    with_it, _ = investigate(incident, load_policy("default"))
    without, _ = investigate(OUTAGE, load_policy("default"))
    for key in ("service", "change", "confidence"):
        assert with_it["cause"][key] == without["cause"][key]
    assert "runbook" not in without


def test_a_folder_of_runbooks_may_lie_elsewhere(tmp_path: Path) -> None:
    write(tmp_path / "ours", "a.md", "service: storefront-*")
    spec = SourceSpec(folder=str(OUTAGE), runbooks=(str(tmp_path / "ours"),))
    found = open_incident(Request(spec))
    assert found.runbook is not None
    assert found.runbook.path.name == "a.md"
    with pytest.raises(SourceError, match=r"--runbooks .*nowhere: no such file or folder"):
        open_incident(Request(SourceSpec(folder=str(OUTAGE), runbooks=("nowhere",))))


def test_only_reads_that_are_there_can_be_asked_for() -> None:
    row = '{"name": "%s", "args": {"service": "a", "pod": "x", "window_minutes": 999}}'
    prompt = (
        "Runbook asks: [" + ", ".join(row % n for n in ("restart_pod", "query_logs", "x")) + "]"
    )
    assert asked_in(prompt, ["query_logs"]) == [
        {"name": "query_logs", "args": {"service": "a", "window_minutes": 60}}
    ]
    for odd in ("Runbook asks: {", "Runbook asks: 5", "Runbook asks: [1, null]", ""):
        assert asked_in(odd, ["query_logs"]) == []


def test_a_long_one_is_cut(tmp_path: Path) -> None:
    file = write(tmp_path, "a.md", "alert: x", "# t\n" + "y" * 100_000)
    assert len(read_runbook(file).as_prompt()) < 3_300
