"""What the file of settings tells, and does not tell, of an attempt that was cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roundsman.remedy.builtin import RestartService, SetConfigBack
from roundsman.remedy.commands import CommandFailed
from roundsman.remedy.config import Config


@pytest.fixture
def args(tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "till.json"
    file.write_text('{"size": 20, "wait": 9}')
    settings = {"size": {"now": 20, "back": 4}, "wait": {"now": 9, "back": 3}}
    return {
        "service": "till",
        "file": str(file),
        "settings": settings,
        "restart": ["true"],
        "left": [],
    }


def test_an_undo_cut_off_in_its_restart_is_not_told_from_one_that_restarted(
    args: dict[str, Any],
) -> None:
    remedy = SetConfigBack(Config())
    remedy.apply(**args)
    assert remedy.was_undone(**args) is False  # not begun: it can be undone again
    with pytest.raises(CommandFailed):
        remedy.undo(**{**args, "restart": ["false"]})
    assert remedy.was_applied(**args) is False
    assert remedy.was_undone(**args) is None
    assert remedy.was_undone(**{**args, "restart": []}) is True  # no command: the file tells all
    Path(args["file"]).write_text('{"size": 20, "wait": 3}')
    assert remedy.was_undone(**args) is None


def test_of_a_restart_there_is_nothing_to_undo_and_nobody_to_ask() -> None:
    remedy = RestartService(Config())
    assert remedy.was_undone(service="till", restart=["true"]) is False
    assert remedy.undo(service="till", restart=["true"]) == ""
