"""Changes of a made-up system: deploys with the commits they ship, and innocent ones near the onset."""

from __future__ import annotations

import hashlib
from typing import Any

from benchmarks.invented.world import World
from benchmarks.rca.cases import iso


def deploy(
    world: World, role: str, at: float, message: str, diff: str, env: tuple[Any, Any] | None = None
) -> tuple[str, str]:
    """A deploy of a service at a time and the commit it ships; its version and the commit's id."""
    count = len(world.deploys) + 1
    version = f"2.{int(world.rng.integers(3, 60))}.{count}"
    sha = hashlib.sha1(f"{version}{role}{at}".encode()).hexdigest()
    name = world.name(role)
    record: dict[str, Any] = {
        "timestamp": iso(at),
        "service": name,
        "version": version,
        "commit": sha,
    }
    if env is not None:
        record |= {"previous_env": env[0], "env": env[1]}
    world.deploys.append(record)
    file = diff.partition("\n")[0]
    body = diff.partition("\n")[2]
    patch = f"--- a/{file}\n+++ b/{file}\n@@ -40,6 +40,6 @@\n{body}" if body else ""
    world.commits.append(
        {"timestamp": iso(at - 600), "service": name, "sha": sha, "message": message,
         "files": [file], "diff": patch}
    )  # fmt: skip
    return version, sha


_INNOCENT = (
    ("left", "wording of the receipt", "src/receipt/text.py\n"
        "-TITLE = \"Thank you\"\n+TITLE = \"Thanks a lot\"\n"),
    ("right", "round prices in one place",
     "pkg/money/round.go\n-\treturn math.Round(v*100) / 100\n+\treturn cents(v)\n"
        "+}\n+\n+func cents(v float64) float64 {\n+\treturn math.Round(v*100) / 100\n"),
    ("edge", "bigger buttons", "static/main.css\n-  padding: 4px;\n+  padding: 8px;\n"),
    ("left", "bump library", "requirements.txt\n-orjson==3.9.1\n+orjson==3.9.4\n"),
    ("worker", "log the template's name",
     "src/Mailer.java\n-    log.debug(\"sent\");\n"
        "+    log.debug(\"sent {}\", template.name());\n"),
    ("right", "tests for the discount table", "pkg/discount/discount_test.go\n"
        "+\tt.Run(\"empty\", func(t *testing.T) {})\n"),
)  # fmt: skip


def innocent(world: World, count: int, but: tuple[str, ...] = ()) -> None:
    """Changes that cannot have done it, from half an hour before the onset to a minute before."""
    pool = [one for one in _INNOCENT if one[0] not in but]
    for number in world.rng.permutation(len(pool))[:count]:
        role, message, diff = pool[int(number)]
        at = world.onset - float(world.rng.uniform(60, 1500))
        deploy(world, role, at, message, diff)
