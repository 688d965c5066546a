"""A large folder of logs: one question through the source, beside `zcat | grep -c`
and beside DuckDB."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

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


_ASK = """
import sys, time
from pathlib import Path
from roundsman.sources import IncidentFolder, Window
begin = time.perf_counter()
window = Window(float(sys.argv[2]), float(sys.argv[3]))
found = sum(1 for _ in IncidentFolder(Path(sys.argv[1])).lines(window, text="needle"))
seconds = time.perf_counter() - begin
# not ru_maxrss: a child begins with the largest size its parent ever had
peak = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(seconds, found, int(peak[0]) // 1024)
"""
_LINES = (
    "read_csv(?, columns={'line': 'VARCHAR'}, delim='\x01', quote='', escape='', header=false, "
    "auto_detect=false, ignore_errors=true)"
)


@dataclass(frozen=True)
class LogCost:
    """Seconds of each way to count the lines that hold a word, what each found, peak MB."""

    grep: float
    grep_found: int
    duckdb: float
    duckdb_found: int
    source: float
    source_found: int
    source_mb: int


def log_cost(size: int = 1_000_000_000) -> LogCost:
    """One question to `size` bytes of packed log: zcat | grep, DuckDB, and the source."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "logs" / "api.ndjson.gz"
        seconds = _write(folder, size)
        before = time.perf_counter()
        command = f"zcat {file} | grep -c needle"
        plain = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
        grep = time.perf_counter() - before
        before = time.perf_counter()
        connection = duckdb.connect(config={"memory_limit": "512MB", "threads": "2"})
        connection.execute("SET enable_progress_bar = false")
        query = f"SELECT count(*) FROM {_LINES} WHERE contains(lower(line), 'needle')"
        (hits,) = connection.execute(query, [str(file)]).fetchone() or (0,)
        duck = time.perf_counter() - before
        begin, end = START.timestamp(), START.timestamp() + seconds
        args = [sys.executable, "-c", _ASK, name, str(begin), str(end)]
        asked = subprocess.run(args, capture_output=True, text=True, check=True).stdout.split()
        return LogCost(
            grep, int(plain.stdout), duck, hits, float(asked[0]), int(asked[1]), int(asked[2])
        )
