"""What the drills' own checks say of the recordings that ship: they hold where the fault is, only there."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from roundsman.drill.catalogue import DRILLS
from roundsman.drill.catalogue.harmless_deploy import HarmlessDeploy
from roundsman.drill.drill import Check, Drill, Recording
from roundsman.drill.names import Names
from roundsman.sources.times import parse_time

EXAMPLES = Path(__file__).parents[2] / "examples" / "incidents"
OUTAGE, QUIET = "connection-slots", "smaller-pool"


def truth(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXAMPLES / f"{name}.truth.json").read_text())
    return found


@cache
def recording(name: str) -> Recording:
    told = truth(name)
    at = parse_time(told["fault_at"])
    assert at is not None
    return Recording(EXAMPLES / name, Names(**told["names"]), at)


def checked(kind: type[Drill], name: str) -> list[Check]:
    """A drill's check of a shipped recording."""
    found = recording(name)
    return kind(found.names).check(found)


@pytest.mark.parametrize("name", [OUTAGE, QUIET])
def test_a_recording_shows_the_mechanism_it_was_made_for(name: str) -> None:
    checks = checked(DRILLS[truth(name)["drill"]], name)
    assert len(checks) >= 3
    assert [one for one in checks if not one.ok] == []


@pytest.mark.parametrize("kind", DRILLS.values(), ids=DRILLS)
def test_a_check_fails_where_its_fault_was_not_made(kind: type[Drill]) -> None:
    elsewhere = OUTAGE if kind is HarmlessDeploy else QUIET
    assert [one for one in checked(kind, elsewhere) if not one.ok]


def test_postgresql_refuses_in_its_own_words() -> None:
    names = truth(OUTAGE)["names"]
    log = (EXAMPLES / OUTAGE / "logs" / f"{names['database']}.log").read_text()
    assert log.count("FATAL:  remaining connection slots are reserved for") > 20
    assert "starting PostgreSQL" in log


@pytest.mark.parametrize("name", [OUTAGE, QUIET])
def test_a_shipped_recording_is_small_and_does_not_tell_its_truth(name: str) -> None:
    files = [file for file in (EXAMPLES / name).rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 2_000_000
    assert not [file for file in files if truth(name)["because"] in file.read_text("utf-8")]
