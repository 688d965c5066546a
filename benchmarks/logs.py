"""A large folder of logs: one question through the source, beside `zcat | grep -c`."""

from __future__ import annotations

import gzip
import subprocess
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from roundsman.sources import IncidentFolder, Window

LINE = '{{"timestamp": "{at}", "level": "{level}", "service": "api", "message": "{text}"}}\n'
START = datetime(2026, 1, 31, 10, tzinfo=UTC)


def _write(folder: Path, size: int) -> float:
    """Write about `size` bytes of log as gzip; the seconds the log spans."""
    (folder / "logs").mkdir()
    written, number = 0, 0
    with gzip.open(folder / "logs" / "api.ndjson.gz", "wt", compresslevel=1) as out:
        while written < size:
            block = []
            for _ in range(1000):
                at = (START + timedelta(milliseconds=number)).isoformat().replace("+00:00", "Z")
                rare = number % 10_000 == 0
                text = "needle in the stack" if rare else f"request {number} took {number % 97} ms"
                level = "ERROR" if rare else "INFO"
                block.append(LINE.format(at=at, level=level, text=text))
                number += 1
            joined = "".join(block)
            written += len(joined)
            out.write(joined)
    return number / 1000


def log_cost(size: int = 1_000_000_000) -> tuple[float, float, int, int]:
    """(seconds of zcat | grep -c, seconds of the source, lines each found)."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds = _write(folder, size)
        before = time.perf_counter()
        command = f"zcat {folder}/logs/api.ndjson.gz | grep -c needle"
        plain = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
        grep = time.perf_counter() - before
        before = time.perf_counter()
        source = IncidentFolder(folder)
        window = Window(START.timestamp(), START.timestamp() + seconds)
        found = sum(1 for _ in source.lines(window, text="needle"))
        return grep, time.perf_counter() - before, int(plain.stdout), found
