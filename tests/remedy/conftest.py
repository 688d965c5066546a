from __future__ import annotations

from pathlib import Path

import pytest
from remedy_desk import Desk
from remedy_world import broken_world

from roundsman.investigate.run import investigate
from roundsman.policy import load_policy


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path / "home"))
    world = broken_world(tmp_path / "world")
    monkeypatch.setenv("ROUNDSMAN_REMEDIES", str(world.remedies))
    report, _ = investigate(world.incident, load_policy("default"))
    assert "POOL_SIZE from 4 to 20" in report["cause"]["change"]
    return Desk(world, report["run_id"])
