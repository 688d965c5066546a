"""Ctrl-C, SIGTERM and the clock end a run whose tool hangs, and leave a report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roundsman.ledger import Store

OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"
#: the command line over a folder whose logs hang for ever, as on a dead network mount
HANGS = """
import sys, threading
from roundsman.cli import main
from roundsman.sources import IncidentFolder

def hang(*_):
    print("hangs", flush=True)
    threading.Event().wait()

IncidentFolder.lines = hang
{more}
main(sys.argv[1:])
"""
#: the same, and then drawing hangs as well
DRAWING_HANGS = """
import roundsman.investigate.run as run

def draw(*_):
    print("draws", flush=True)
    threading.Event().wait()

run.timeline = draw
"""
#: the same, and once the logs hang an hour passes in a few seconds: nothing is near its end before
TIME_FLIES = """
import asyncio, time
since = []
hangs = IncidentFolder.lines

def passes(*_):
    since.append(time.monotonic())
    hangs()

def at(_loop):
    now = time.monotonic()
    return now if not since else since[0] + (now - since[0]) * 1000

IncidentFolder.lines = passes
asyncio.BaseEventLoop.time = at
"""


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    def call(*args: Any, more: str = "") -> subprocess.Popen[str]:
        script = [sys.executable, "-c", HANGS.format(more=more)]
        command = [*script, "investigate", str(OUTAGE), *map(str, args)]
        return subprocess.Popen(
            command,
            env=os.environ | {"ROUNDSMAN_HOME": str(tmp_path / "home"), "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_default_signals,
        )

    return call


def _default_signals() -> None:
    """As from a terminal: what runs the tests may ignore signals (nohup), and a child inherits it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def heard(child: subprocess.Popen[str], word: str) -> None:
    assert child.stdout is not None
    assert child.stdout.readline().strip() == word


@pytest.mark.parametrize(
    ("name", "code", "by"),
    [("SIGINT", 130, "Ctrl-C"), ("SIGTERM", 143, "SIGTERM"), ("SIGHUP", 129, "SIGHUP")],
)
def test_a_signal_leaves_a_report_although_a_tool_hangs(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, name: str, code: int, by: str
) -> None:
    child = start("--out", tmp_path / "out")
    heard(child, "hangs")
    child.send_signal(getattr(signal, name))
    out, err = child.communicate(timeout=300)
    assert child.returncode == code, err
    assert out.startswith("No cause found")
    assert "interrupted" not in out  # which is a run that can be taken up again
    assert f"stopped by {by}" in out
    assert "Traceback" not in err
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["stop"]["reason"] == "aborted"
    (info,) = Store(tmp_path / "home" / "runs.sqlite").runs()
    assert info.status == "stopped"


def test_a_second_ctrl_c_leaves_at_once_and_the_first_report_is_kept(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    child = start(more=DRAWING_HANGS)
    heard(child, "hangs")
    child.send_signal(signal.SIGINT)
    heard(child, "draws")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=300)
    assert child.returncode == 130
    store = Store(tmp_path / "home" / "runs.sqlite")
    saved = store.report(store.runs()[0].run_id)
    assert saved is not None
    assert saved["stop"]["reason"] == "aborted"


def test_the_wall_clock_ends_a_run_whose_tool_hangs(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\nextends: default\nrun: {wall_clock: 10m}\nround: {timeout: 1h}\n"
    )
    child = start("--policy", policy, "--json", more=TIME_FLIES)
    heard(child, "hangs")
    out, err = child.communicate(timeout=300)
    report = json.loads(out)
    assert report["stop"]["reason"] == "wall_clock"
    assert "broken off" in report["stop"]["detail"]
    assert child.returncode == 3, err


def test_a_round_that_hangs_is_ended_and_the_process_leaves(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\nextends: default\nround: {timeout: 10m}\nrun: {wall_clock: 100h}\n"
    )
    child = start("--policy", policy, "--json", more=TIME_FLIES)
    heard(child, "hangs")
    out, _ = child.communicate(timeout=300)
    report = json.loads(out)
    assert report["stop"]["reason"] == "no_progress"
    assert report["rounds"] == 2


def test_a_model_that_cannot_be_reached_is_a_few_lines(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "roundsman", "investigate", OUTAGE, "--model", "gemini-2.5-flash"],
        env=os.environ
        | {
            "ROUNDSMAN_HOME": str(tmp_path / "home"),
            "GOOGLE_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 3
    assert "Connect" in done.stdout  # ConnectError of httpx, or ClientConnectorError of aiohttp
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) < 10
