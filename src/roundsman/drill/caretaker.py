"""Tidies up when a drill was killed and could not do it itself.

The drill's processes end with it (the kernel sees to that); what would stay is its folder and a
directory mounted in it. A small process waits for the drill's end of a pipe to close, and removes both
unless it was told that everything is done.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

#: the drill's processes get so long to end before their files go, in seconds
_PATIENCE = 4.0
_WAITS_S = 10.0
"""How long a drill that is over waits for its caretaker to end."""
_DONE = b"done"


class Caretaker:
    """Watches over one folder until `done`."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the drill
            cwd="/",
        )

    def done(self) -> None:
        """Nothing is left to tidy up. On a busy machine it may hear of it late: it needs nobody for that."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError), self._process.stdin as told:
            told.write(_DONE)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_WAITS_S)


def unmount_below(folder: Path) -> None:
    """Unmount whatever is mounted inside a folder."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        where = line.split(" ")[1]
        if where.startswith(f"{folder}{os.sep}"):
            subprocess.run(["umount", "--lazy", where], check=False)


def main(folder: Path) -> None:
    """Wait for the drill, then tidy up if it could not."""
    if sys.stdin.buffer.read() == _DONE:
        return
    time.sleep(_PATIENCE)
    unmount_below(folder)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
