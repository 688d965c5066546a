"""`python -m benchmarks.invented OUT [--seed N] [--strangers]`: made-up incidents.

Writes OUT/NAME/incident and OUT/NAME/truth.json, fifteen of them: eleven faults, four that are none. Then
`python -m benchmarks.rca invented --cases OUT --truth OUT` asks who finds the cause.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.invented.quiet import HEALTHY
from benchmarks.invented.stories import FAULTS, Story
from benchmarks.invented.strangers import STRANGERS
from benchmarks.invented.styles import style
from benchmarks.invented.world import World


def write(out: Path, seed: int, stories: Sequence[Story] = (*FAULTS, *HEALTHY)) -> list[str]:
    """Write every story once; which style it has depends on the seed. Their names."""
    names = []
    for number, story in enumerate(stories):
        rng = np.random.default_rng([seed, number])
        start = 1_790_000_000.0 + float(rng.integers(0, 20_000_000))
        world = World(rng, style(seed * 7 + number), start)
        truth = story(world)
        folder = out / story.__name__.replace("_", "-")
        world.write(folder / "incident")
        (folder / "truth.json").write_text(json.dumps(truth, indent=1), encoding="utf-8")
        names.append(folder.name)
    return names


def main() -> int:
    """Write the incidents of one seed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.invented", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strangers", action="store_true", help="stories written after the rules")
    options = parser.parse_args()
    if options.out.exists() and any(options.out.iterdir()):
        parser.error(f"{options.out}: not empty")
    stories = STRANGERS if options.strangers else (*FAULTS, *HEALTHY)
    print("\n".join(write(options.out, options.seed, stories)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
