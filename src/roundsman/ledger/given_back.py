"""Part of a run that was taken up again: what is on record is given back in place of being done."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from roundsman.errors import Divergence
from roundsman.guard import events as ev
from roundsman.ledger.history import History, Past


class GivesBack:
    """What `LiveRun` does with its history."""

    history: History | None

    @abstractmethod
    def stop(self, reason: str, detail: str, rule: str = "", layer: str = "loop") -> None: ...

    def recorded_step(self, agent: str, request: str) -> Past | None:
        """How this step ended before the process died, None: judge it and ask the model.

        A call that is not the one on record stops the run as `failed`.
        """
        if self.history is None:
            return None
        try:
            return self.history.replay.step(agent, request)
        except Divergence as error:
            self.stop("failed", str(error), layer="model")
            return None

    def recorded_action(self, agent: str, call: str, tool: str) -> Past | None:
        """How this action ended before the process died, None: judge it and run it."""
        if self.history is None:
            return None
        try:
            return self.history.replay.action(agent, call, tool)
        except Divergence as error:
            self.stop("failed", str(error), layer="tool")
            return None

    @property
    def retried(self) -> Mapping[str, str]:
        """The idempotency key of the call asked for last, where it was begun before: the same key
        for every attempt at it."""
        missed = self.history.replay.missed if self.history is not None else None
        begins = missed.begins if missed is not None else None
        return begins.idempotency if isinstance(begins, ev.ActionBegins) else {}
