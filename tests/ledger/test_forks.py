"""A process that forks while one of its threads is inside of SQLite."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

if not hasattr(os, "fork"):
    pytest.skip("processes do not fork here", allow_module_level=True)

FORKS = """
import os, sys, threading
from pathlib import Path
from roundsman.ledger import Store, forks

asked, entered, inside = threading.Event(), threading.Event(), []
os.register_at_fork(before=asked.set)  # called first: hooks are, in the opposite order
store = Store(Path(sys.argv[1]) / "runs.sqlite")
forks.LONGEST_S = float(sys.argv[2])

def stay():
    inside.append(True)
    entered.set()
    asked.wait()
    leaves.wait(float(sys.argv[3]))
    inside.clear()

leaves = threading.Event()
store.db._db.create_function("stay", 0, stay)
thread = threading.Thread(target=store.db.query, args=("select stay()",), daemon=True)
thread.start()
entered.wait()
child = os.fork()
if child == 0:
    own = Store(Path(sys.argv[1]) / "of-the-child.sqlite")
    os._exit(10 if inside else 0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
leaves.set()
thread.join()
store.runs()
Store(Path(sys.argv[1]) / "afterwards.sqlite").close()
print(code)
"""


def forked(tmp_path: Path, longest: float, stays: float) -> str:
    args = [sys.executable, "-c", FORKS, str(tmp_path), str(longest), str(stays)]
    done = subprocess.run(args, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_fork_waits_until_no_thread_is_inside(tmp_path: Path) -> None:
    """What SQLite holds for that thread would be held in the child for ever."""
    assert forked(tmp_path, longest=300.0, stays=0.2) == "0"


def test_a_fork_does_not_wait_for_ever(tmp_path: Path) -> None:
    assert forked(tmp_path, longest=0.01, stays=300.0) == "10"
