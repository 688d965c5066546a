"""A release that traces everything into a small log directory until it is full."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from roundsman.drill.drill import Check, Drill, Recording, Truth
from roundsman.drill.lab import Lab
from roundsman.errors import UsageError

_SIZE = "1m"
_CAP_SYS_ADMIN = 21


def _may_mount() -> bool:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_ADMIN & 1)
    return False


def _mount(lab: Lab, folder: Path) -> Path:
    """A directory of limited size, taken away with the lab. Raises UsageError when it may not be."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE},mode=755", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UsageError(f"a size-limited mount is needed and refused: {done.stderr.strip()}")

    def unmount() -> None:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)

    lab.supervisor.on_exit(unmount)
    return folder


class DiskFull(Drill):
    """A receipt must be written before a customer is answered; there is no room for it."""

    name = "disk-full"
    about = "a release fills the log directory, and receipts cannot be written any more"

    def why_not(self) -> str:
        if not _may_mount():
            return "needs a size-limited mount, which is refused to this account; skipped"
        if shutil.which("mount") is None:
            return "needs a size-limited mount, and there is no program mount; skipped"
        return ""

    def lab(self, baseline: float, say: Callable[[str], None]) -> Lab:
        return Lab(self.names, rows=50_000, log_dir=_mount, say=say)

    def inject(self, lab: Lab) -> None:
        lab.deploy(lab.checkout, "v1.5.0", "trace baskets for a day", {"LOG_LEVEL": "debug"})

    def remove(self, lab: Lab) -> None:
        lab.roll_back(lab.checkout)
        (lab.folder / "receipts" / "trace.log").unlink(missing_ok=True)

    def truth(self) -> Truth:
        return Truth(
            self.names.checkout, "v1.5.0", "disk_full",
            "LOG_LEVEL debug fills the log directory; receipts fail with no space left",
        )  # fmt: skip

    def check(self, recording: Recording) -> list[Check]:
        names = recording.names
        left = recording.after(names.host, "node_filesystem_available_bytes")
        seen = f"{left.min():.0f} bytes left" if left.size else "no samples"
        full = bool(left.size) and float(left.min()) < 4096
        return [
            recording.appears(names.checkout, "No space left on device", 10),
            Check("the log directory is full", full, seen),
            recording.errors(0.3),
            recording.alert(),
        ]
