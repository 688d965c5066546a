"""What starting costs: an empty interpreter, the import, the help."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

STARTS = {
    "python -c pass": ["-c", "pass"],
    "import roundsman": ["-c", "import roundsman"],
    "roundsman --help": ["-m", "roundsman", "--help"],
}


def start_cost(repeat: int) -> dict[str, float]:
    """Median seconds of wall clock of each start, interleaved."""
    spans: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(repeat):
        for name, arguments in STARTS.items():
            before = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
            spans[name].append(time.perf_counter() - before)
    return {name: median(found) for name, found in spans.items()}
