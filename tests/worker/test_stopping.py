"""A stop of what is only asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dbos", reason="the extra worker is not installed")
OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"


def roundsman(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"ROUNDSMAN_HOME": str(home), "ROUNDSMAN_DB": ""}
    command = [sys.executable, "-m", "roundsman", *args]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)


@pytest.mark.parametrize("every", [False, True])
def test_a_job_nobody_has_begun_is_stopped_as_it_begins(tmp_path: Path, every: bool) -> None:
    run_id = roundsman(tmp_path, "submit", str(OUTAGE)).stdout.strip()
    done = roundsman(tmp_path, "stop", "--all" if every else run_id)
    assert (done.returncode, done.stdout.split()[0]) == (0, run_id)
    worked = roundsman(tmp_path, "worker", "--until-empty")
    assert worked.returncode == 0, worked.stderr
    listed = roundsman(tmp_path, "runs", "list").stdout
    assert f"{run_id}  stopped" in listed
    shown = roundsman(tmp_path, "runs", "export", run_id).stdout
    assert "action_begins" not in shown
    again = roundsman(tmp_path, "submit", "--run", run_id)
    assert (again.returncode, "is over" in again.stderr) == (2, True)
