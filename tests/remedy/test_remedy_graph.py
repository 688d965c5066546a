"""The bounds of one remedy."""

from __future__ import annotations

from typing import Any

import pytest
from remedy_desk import Desk

from roundsman.remedy import Finding, Remedy
from roundsman.remedy.config import Verifying
from roundsman.remedy.graph import policy_for
from roundsman.remedy.telemetry import reader
from roundsman.remedy.verify import Verifier
from roundsman.sources.spec import SourceSpec


class Switch(Remedy):
    name, about = "switch", "switch it off and on"

    def call_for(self, finding: Finding) -> dict[str, Any]:
        return {}

    def dry_run(self, **args: Any) -> list[str]:
        return []

    def apply(self, **args: Any) -> str:
        return ""

    def undo(self, **args: Any) -> str:
        return ""


@pytest.mark.parametrize("takes", [1.0, 120.0, 7200.0])
def test_the_time_of_a_run_has_room_for_its_watch_and_the_slowest_command_twice(
    takes: float,
) -> None:
    verifying = Verifying(within=300.0)
    verifier = Verifier((), reader(SourceSpec(prometheus=("http://127.0.0.1:9",))), verifying)
    clock = policy_for(Switch(), {}, verifier, takes).run.wall_clock
    assert clock is not None
    assert clock > verifying.within + 2 * takes  # applied, watched, and undone


def test_how_long_a_command_may_take_is_read_from_the_file(desk: Desk) -> None:
    text = desk.world.remedies.read_text()
    clocks = []
    for takes in ("1s", "3h"):
        more = f'"command_timeout": "{takes}", "version"'
        desk.world.remedies.write_text(text.replace('"version"', more))
        run_id = desk.apply("restart-service")
        (begins,) = [r for r in desk.store().records(run_id) if r.kind == "run_begins"]
        clocks.append(begins.body["policy"])
        assert desk.say("stop", run_id)[0] == 0
    assert clocks[0] != clocks[1]
