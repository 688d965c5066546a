"""A service of files: its settings, a command that restarts it, and metrics that go on as it runs.

`restart` counts itself in a file, and writes samples of the next minute as the settings make them: a
pool of 4 serves all, any other fails half of the requests.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

SERVICE = "till-api"
RESTART = """\
import csv, json, sys, time
from pathlib import Path
here = Path(sys.argv[1])
with (here / "restarts").open("a") as out:
    out.write("1\\n")
if (here / "refuses").exists():
    sys.exit("no such unit")
bad = json.loads((here / "config.json").read_text())["POOL_SIZE"] != 4
now = time.time()
file = here / "incident" / "metrics" / "till.csv"
rows = [row for row in csv.reader(file.open()) if row[0] == "timestamp" or float(row[0]) <= now]
for n in range(600):
    at = f"{now + n / 10:.3f}"
    rows.append([at, "till-api", "http_requests_5xx_rate", 6.0 if bad else 0.0])
    rows.append([at, "till-api", "http_request_duration_p99_seconds", 1.5 if bad else 0.2])
with (here / "new.csv").open("w", newline="") as out:
    csv.writer(out).writerows(rows)
(here / "new.csv").rename(file)
"""


@dataclass
class World:
    """The folder of one service."""

    here: Path

    @property
    def incident(self) -> Path:
        return self.here / "incident"

    @property
    def config(self) -> Path:
        return self.here / "config.json"

    @property
    def remedies(self) -> Path:
        return self.here / "remedies.yaml"

    @property
    def restarts(self) -> int:
        file = self.here / "restarts"
        return len(file.read_text().split()) if file.exists() else 0

    @property
    def pool(self) -> int:
        return int(json.loads(self.config.read_text())["POOL_SIZE"])

    def declare(self, within: str = "30s", **service: object) -> Path:
        """The file of remedies of this place."""
        known: dict[str, object] = {"settings": "config.json", "restart": self.command, **service}
        data = {
            "version": 1,
            "services": {SERVICE: {k: v for k, v in known.items() if v is not None}},
            "verify": {"settle": "0.01s", "looks": 2, "every": "0.1s", "within": within},
        }
        self.remedies.write_text(json.dumps(data))
        return self.remedies

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-SE", str(self.here / "restart.py"), str(self.here)]


def still_broken(world: World) -> None:
    """Samples of just now, as bad as before: a slow test must not find the source filled no more."""
    now = time.time()
    with (world.incident / "metrics" / "till.csv").open("a", newline="") as out:
        for n in range(30):
            at = f"{now - 0.3 + n / 100:.3f}"
            csv.writer(out).writerows(
                [
                    [at, SERVICE, "http_requests_5xx_rate", 6.0 + n % 2 / 10],
                    [at, SERVICE, "http_request_duration_p99_seconds", 1.5 + n % 3 / 50],
                    [at, SERVICE, "db_pool_max", 20],
                ]
            )


def broken_world(folder: Path) -> World:
    """A service whose pool was made too large by a deploy two minutes ago."""
    world = World(folder)
    for name in ("metrics", "logs"):
        (world.incident / name).mkdir(parents=True)
    (folder / "restart.py").write_text(RESTART)
    world.config.write_text('{\n  "POOL_SIZE": 20,\n  "LOG_LEVEL": "info"\n}\n')
    now = time.time()
    onset = now - 120
    rows: list[list[object]] = [["timestamp", "service", "metric", "value"]]
    # every 5 s, and of late so often that a few looks fit into no time
    for n, at in enumerate([*(now - 600 + n * 5 for n in range(120)),
                            *(now - 0.3 + n / 100 for n in range(30))]):  # fmt: skip
        bad = at >= onset
        rows.append(
            [f"{at:.3f}", SERVICE, "http_requests_5xx_rate", 6.0 + n % 2 / 10 if bad else 0.0]
        )
        value = 1.5 + n % 3 / 50 if bad else 0.2 + n % 3 / 100
        rows.append([f"{at:.3f}", SERVICE, "http_request_duration_p99_seconds", value])
        rows.append([f"{at:.3f}", SERVICE, "db_pool_max", 20 if bad else 4])
    with (world.incident / "metrics" / "till.csv").open("w", newline="") as out:
        csv.writer(out).writerows(rows)
    lines = [
        {"ts": _iso(onset + n), "level": "ERROR", "service": SERVICE,
         "msg": "checkout failed: too many connections, no connection slots left in the pool"}
        for n in range(3, 100)
    ]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (world.incident / "logs" / f"{SERVICE}.ndjson").write_text(text)
    before, after = {"POOL_SIZE": 4, "LOG_LEVEL": "info"}, {"POOL_SIZE": 20, "LOG_LEVEL": "info"}
    deploys = [
        {"timestamp": _iso(onset - 3), "service": SERVICE, "version": "v2", "previous_version": "v1",
         "env": after, "previous_env": before}
    ]  # fmt: skip
    (world.incident / "deploys.json").write_text(json.dumps(deploys))
    world.declare()
    return world


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
