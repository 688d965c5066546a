"""Somebody on call, at the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner
from remedy_world import World

from roundsman.cli import cli
from roundsman.errors import RoundsmanError
from roundsman.ledger import Store, open_store


@dataclass
class Desk:
    """Somebody on call, with a finished investigation of a broken world."""

    world: World
    run_id: str

    def say(self, *args: str, keys: str = "") -> tuple[int, str]:
        """(exit status, what was printed)."""
        done = CliRunner().invoke(cli, args, input=keys, standalone_mode=False)
        if done.exception is not None:
            if not isinstance(done.exception, RoundsmanError):
                raise done.exception
            return done.exception.exit_code, str(done.exception)
        return done.return_value or 0, done.stdout

    def data(self, *args: str) -> Any:
        return json.loads(self.say(*args, "--json")[1])

    def apply(self, name: str, *more: str) -> str:
        """Begin a remedy; the id of its run, which waits."""
        code, printed = self.say("remedy", "apply", self.run_id, name, "--json", *more)
        assert code == 5, printed
        return str(json.loads(printed)["run_id"])

    def store(self) -> Store:
        return open_store()
