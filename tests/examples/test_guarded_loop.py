"""The first example of the README, as it is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "guarded_loop.py"


def test_it_says_how_it_ended_and_nothing_else(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        env=os.environ | {"ROUNDSMAN_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("9 events; the last: read_log: ")
    assert done.stderr == ""
