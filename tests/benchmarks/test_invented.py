"""Made-up incidents: the same seed gives the same files, and the answer stands beside them only."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.invented.__main__ import write
from benchmarks.invented.quiet import HEALTHY, traffic_without_trouble
from benchmarks.invented.stories import FAULTS, flag_flipped
from benchmarks.invented.styles import style
from benchmarks.invented.world import World
from tests.investigate.test_incident_outage import answer

from roundsman.sources import IncidentFolder


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_seed_gives_the_same_incident_and_another_one_another(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        world = World(np.random.default_rng(seed), style(seed), 1_790_000_000.0)
        flag_flipped(world)
        world.write(tmp_path / name)
    assert files(tmp_path / "a") == files(tmp_path / "b") != files(tmp_path / "c")


@pytest.mark.parametrize("number", range(4))
def test_every_way_of_naming_is_read_with_its_services(number: int, tmp_path: Path) -> None:
    world = World(np.random.default_rng(number), style(number), 1_790_000_000.0)
    truth = flag_flipped(world)
    world.write(tmp_path)
    named = set(IncidentFolder(tmp_path).services())
    assert named <= set(world.style.names.values())
    assert set(truth["services"]) <= named
    _, cause = answer(tmp_path)
    assert "caution" not in cause
    assert (cause["service"], truth["change"] in cause["change"]) == (truth["services"][0], True)


def test_a_quiet_one_accuses_nobody(tmp_path: Path) -> None:
    world = World(np.random.default_rng(3), style(3), 1_790_000_000.0)
    assert traffic_without_trouble(world)["harmless"]
    world.write(tmp_path)
    assert answer(tmp_path)[1]["abstained"]


def test_all_are_written_with_answers_outside_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(World, "write", lambda self, folder: folder.mkdir(parents=True))
    names = write(tmp_path, 1)
    assert len(names) == len(FAULTS) + len(HEALTHY) == 15
    truths = [json.loads((tmp_path / name / "truth.json").read_text()) for name in names]
    assert sum(one["harmless"] for one in truths) == 4
    assert not list(tmp_path.rglob("incident/truth.json"))
