"""The command people type at 3 a.m., as a child process on real input."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from roundsman.cli.investigate import exit_code, watched
from roundsman.policy import load_policy

ROOT = Path(__file__).parents[2]
OUTAGE = ROOT / "examples" / "incidents" / "pool-exhaustion"
HARMLESS = ROOT / "examples" / "incidents" / "harmless-deploy"


@pytest.fixture
def run(tmp_path):
    def call(*args, **env):
        clean = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        return subprocess.run(
            [sys.executable, "-m", "roundsman", *map(str, args)],
            capture_output=True,
            text=True,
            env=clean | {"ROUNDSMAN_HOME": str(tmp_path / "home"), "NO_COLOR": "1"} | env,
            cwd=tmp_path,
            timeout=300,
        )

    return call


def test_outage_is_explained_with_evidence_and_three_report_files(run, tmp_path):
    done = run("investigate", OUTAGE, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("CAUSE")
    assert "round 1" in done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    cause = report["cause"]
    assert not cause["abstained"]
    deployed = json.loads((OUTAGE / "deploys.json").read_text())[-1]
    assert deployed["version"] in cause["change"]
    assert cause["service"] == deployed["service"]
    cited = {e for f in report["findings"] for e in f["evidence"]}
    assert cited <= {e["id"] for e in report["evidence"]}
    assert all(f["grounded"] for f in report["findings"])
    assert {"report.md", "report.html"} < set(os.listdir(tmp_path / "out"))


def test_postgres_refusals_are_shown_as_postgres_wrote_them(run):
    done = run("investigate", OUTAGE, "--json")
    assert "remaining connection slots are reserved" in done.stdout


def test_harmless_deploy_gives_an_honest_none(run):
    done = run("investigate", HARMLESS, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["cause"]["abstained"]


def test_run_is_listed_and_its_journal_is_whole(run):
    report = json.loads(run("investigate", OUTAGE, "--json").stdout)
    rows = json.loads(run("runs", "list", "--json").stdout)
    assert [r["run_id"] for r in rows] == [report["run_id"]]
    assert rows[0]["status"] == "done"
    assert run("runs", "show", report["run_id"]).returncode == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["investigate", "no-such-folder"], "no such folder"),
        (["investigate", OUTAGE, "--policy", "defalt"], "default"),
        (["investigate", OUTAGE, "--model", "gemini-2.5-flash"], "needs a key"),
        (["investigate", OUTAGE, "--model", "no such"], "not known"),
        (["investigate", OUTAGE, "--out", os.devnull], "--out"),
        (["investigat"], "Did you mean"),
        (["scenario", "run", "convrge"], "converge"),
        (["runs", "show", "nope"], "nope"),
    ],
)
def test_bad_usage_is_one_clear_line_and_exit_2(run, args, says):
    done = run(*args)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_two_investigations_of_one_folder_at_once(run, tmp_path):
    env = os.environ | {"ROUNDSMAN_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "roundsman", "investigate", str(OUTAGE), "--json"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True) for _ in "ab"]
    ids = [json.loads(p.communicate(timeout=300)[0])["run_id"] for p in both]
    assert len(set(ids)) == 2
    assert {r["run_id"] for r in json.loads(run("runs", "list", "--json").stdout)} == set(ids)


def test_unwritable_state_folder_is_one_line(run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("investigate", OUTAGE, ROUNDSMAN_HOME=str(tmp_path / "file" / "home"))
    assert done.returncode == 2
    assert "ROUNDSMAN_HOME" in done.stderr


def test_changing_the_recording_changes_the_answer(run, tmp_path):
    shutil.copytree(OUTAGE, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "logs")
    for table in (tmp_path / "copy" / "metrics").iterdir():
        head, *rows = table.read_text().splitlines()
        calm = [",".join([*r.split(",")[:3], "1"]) for r in rows]
        table.write_text("\n".join([head, *calm]) + "\n")
    assert json.loads(run("investigate", tmp_path / "copy", "--json").stdout)["cause"]["abstained"]


@pytest.mark.parametrize("both", [False, True])
def test_a_reader_who_leaves_ends_the_command_quietly_with_its_files_written(tmp_path, both):
    out = tmp_path / "out"
    command = f"{sys.executable} -m roundsman investigate {OUTAGE} --out {out}"
    read, write = os.pipe()
    os.close(read)  # nobody reads from the first byte on, as `| head -0`
    done = subprocess.run(
        ["bash", "-c", f"{command}{' 2>&1' if both else ''}"],
        stdout=write,
        stderr=None if both else subprocess.PIPE,
        env=os.environ | {"ROUNDSMAN_HOME": str(tmp_path / "home")},
        timeout=300,
    )
    os.close(write)
    assert done.returncode == 0
    assert {"report.json", "report.md", "report.html"} == set(os.listdir(out))
    if not both:
        assert b"Traceback" not in done.stderr
        assert b"BrokenPipe" not in done.stderr


def test_a_time_no_calendar_has_is_bad_input(run, tmp_path):
    shutil.copytree(OUTAGE, tmp_path / "copy")
    for start in ("2026-02-31", "2026-11-30T25:00:00Z"):
        (tmp_path / "copy" / "incident.yaml").write_text(
            f"window: {{start: {start}, end: 2026-03-01}}\n"
        )
        done = run("investigate", tmp_path / "copy")
        assert done.returncode == 2
        assert "incident.yaml" in done.stderr


def test_an_empty_folder_name_is_no_folder(run):
    done = run("investigate", OUTAGE, "--out", "")
    assert done.returncode == 2
    assert "is empty" in done.stderr


def test_a_slip_in_incident_yaml_is_told_and_notes_of_ones_own_are_not(run, tmp_path):
    shutil.copytree(OUTAGE, tmp_path / "copy")
    (tmp_path / "copy" / "incident.yaml").write_text("windwo: {start: 2026-01-01}\n")
    done = run("investigate", tmp_path / "copy")
    assert done.returncode == 2
    assert "did you mean 'window'?" in done.stderr
    (tmp_path / "copy" / "incident.yaml").write_text("reported_by: eve\n")
    assert run("investigate", tmp_path / "copy").returncode == 0


@pytest.mark.parametrize("reason", ["done", "no_progress", "partial"])
@pytest.mark.parametrize(
    ("statuses", "code"), [([], 3), (["blocked"], 3), (["error", "ok"], 0), (["empty"], 0)]
)
def test_no_cause_is_an_answer_only_when_somebody_looked(
    reason: str, statuses: list[str], code: int
) -> None:
    evidence = [{"status": one} for one in statuses]
    report = {"stop": {"reason": reason}, "findings": [], "evidence": evidence}
    assert exit_code(report) == code
    assert exit_code({**report, "findings": [{"statement": "it is so"}]}) == 0


@pytest.mark.parametrize(("reason", "proposes"), [("done", True), ("asked", False)])
def test_a_run_that_waits_for_a_person_is_not_said_to_be_ready_for_a_remedy(
    reason: str, proposes: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("roundsman.report.to_terminal", lambda report, console: None)
    report = {
        "run_id": "r1",
        "stop": {"reason": reason},
        "cause": {"abstained": False},
        "asked": [],
        "findings": [{"statement": "it is so"}],
        "evidence": [],
    }
    watched(load_policy("default"), None, False, lambda watch: (report, False))
    assert ("remedy propose r1" in capsys.readouterr().err) is proposes
