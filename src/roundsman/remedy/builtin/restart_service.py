"""Restart the service the cause lies in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from roundsman.remedy import commands
from roundsman.remedy.base import Args
from roundsman.remedy.config import Configured
from roundsman.remedy.finding import Finding


class RestartService(Configured):
    """Runs the command the user declared. What a restart drops is gone; no setting changes."""

    name = "restart-service"
    about = "restart the service, by the command declared for it"
    causes = "leaks, stuck workers, settings that are read at the start only"
    undoing = "nothing is to be undone: a restart changes no setting"

    def call_for(self, finding: Finding) -> Args | str:
        """The command, if there is one."""
        declared = self.service(finding.service)
        if declared is None or not declared.restart:
            return self.missing(finding.service, "restart", "the command that restarts it")
        command = commands.filled(declared.restart, finding.service)
        return {"service": finding.service, "restart": command}

    def resource(self, service: str, **args: Any) -> str:
        """The service."""
        return f"service {service}"

    def dry_run(self, restart: list[str], **args: Any) -> Sequence[str]:
        """The command."""
        return [f"run: {commands.to_run(restart)}"]

    def apply(self, restart: list[str], **args: Any) -> str:
        """Run it."""
        return self.restart(restart).removeprefix(", ")

    def undo(self, **args: Any) -> str:
        """Nothing."""
        return ""

    def was_undone(self, **args: Any) -> bool | None:
        """Doing nothing again does no harm, and nobody need be asked."""
        return False

    def state_now(self, service: str, restart: list[str], **args: Any) -> str:
        """Nothing here knows when it was started."""
        return f"whether {commands.shown(restart)} was run cannot be told: see since when {service} runs"

    def afterwards(self, service: str, **args: Any) -> str:
        """A restart mends no cause."""
        return f"what {service} suffered from is still there: find out what it was, before it comes back"

    def undo_by_hand(self, **args: Any) -> str:
        """Nothing."""
        return "nothing is to be undone; see that the service runs"
