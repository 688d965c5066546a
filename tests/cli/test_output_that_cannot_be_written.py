"""A full disk or a closed stream takes away one copy of an answer, never the answer."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from roundsman.ledger import LiveRun, open_store

OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"
#: the command line on a disk that fills up while a report is written
FULL = """
import errno, sys
from roundsman.cli import main
from roundsman.report import write

def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")

write._replace = full
main(sys.argv[1:])
"""
NO_ROOM = os.strerror(errno.ENOSPC).lower()
full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


def shell(tmp_path: Path, command: str, *, script: str | None = None) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `roundsman` with what follows, in a shell."""
    start = ["-c", script] if script is not None else ["-m", "roundsman"]
    words: Sequence[str] = ["/bin/sh", "-c", f'"$@" {command}', "sh", sys.executable, *start]
    home = str(tmp_path / "home")
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=os.environ | {"ROUNDSMAN_HOME": home, "NO_COLOR": "1"},
        timeout=300,
    )
    return done.returncode, done.stdout, done.stderr


def test_a_full_disk_costs_the_files_and_not_the_answer(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, said, told = shell(tmp_path, f"investigate {OUTAGE} --out {out}", script=FULL)
    assert code == 2
    assert said.startswith("CAUSE")
    last = told.splitlines()[-1]
    assert last.startswith(f"error: cannot write the report to {out}: {NO_ROOM}")
    again = last.partition("roundsman runs show ")[2]
    code, said, told = shell(tmp_path, f"resume {again} --json --out {out}", script=FULL)
    assert (code, json.loads(said)["run_id"]) == (2, again)
    assert again in told
    code, said, _ = shell(tmp_path, f"runs show {again}")
    assert (code, said[:5]) == (0, "CAUSE")


@full_device
@pytest.mark.parametrize("args", ["runs list", "--version", "--help", "runs list --json"])
def test_a_standard_output_that_is_full_is_named(tmp_path: Path, args: str) -> None:
    code, _, told = shell(tmp_path, f"{args} >/dev/full")
    (line,) = told.splitlines()
    assert code == 2
    assert line.startswith(f"error: standard output cannot be written: {NO_ROOM}")


@full_device
@pytest.mark.parametrize("more", ["", "--json"])
def test_a_report_that_cannot_be_printed_is_kept(tmp_path: Path, more: str) -> None:
    code, _, told = shell(tmp_path, f"investigate {OUTAGE} {more} >/dev/full")
    kept, error = told.splitlines()[-2:]
    assert code == 2
    assert "roundsman runs show " in kept
    assert error.startswith("error: standard output cannot be written")
    code, said, _ = shell(tmp_path, kept.partition("roundsman ")[2])
    assert (code, said[:5]) == (0, "CAUSE")


@pytest.mark.parametrize("args", ["runs list", "--version", f"investigate {OUTAGE}"])
def test_a_closed_standard_output_is_told_before_any_work(tmp_path: Path, args: str) -> None:
    code, _, told = shell(tmp_path, f"{args} >&-")
    (line,) = told.splitlines()
    assert code == 2
    assert line.startswith("error: standard output is closed")


@pytest.mark.parametrize("stdout", [">&-", ">&- 2>&-"])
def test_runs_are_stopped_also_when_nobody_can_be_told(tmp_path: Path, stdout: str) -> None:
    store = open_store(tmp_path / "home")
    run = LiveRun.start(store, (), policy="p")
    code, _, told = shell(tmp_path, f"stop --all --wait 0 {stdout}")
    assert (code, told) == (3, "")  # it has not ended yet
    run.heed()
    assert run.account.stopped is not None
    run.end("aborted")
    store.close()


@full_device
@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-"])
def test_a_standard_error_that_takes_nothing_changes_nothing(tmp_path: Path, stderr: str) -> None:
    code, said, _ = shell(tmp_path, f"investigate {OUTAGE} {stderr}")
    assert (code, said[:5]) == (0, "CAUSE")
    code, said, _ = shell(tmp_path, f"runs show nothing {stderr}")
    assert (code, said) == (2, "")
