"""`roundsman ... | head`: a reader who leaves is no failure and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "args",
    ["--help", "runs list", "policy show", "doctor"],
)  # fmt: skip
def test_a_reader_who_is_gone_is_no_failure(tmp_path: Path, args: str) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "roundsman", *args.split()],
        stdout=write,
        stderr=subprocess.PIPE,
        env=os.environ | {"ROUNDSMAN_HOME": str(tmp_path)},
        timeout=300,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
