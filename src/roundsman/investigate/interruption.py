"""Which signal broke a run off: an event loop hands on all of them as the same KeyboardInterrupt."""

from __future__ import annotations

import signal

_KEYS = {signal.SIGINT: "Ctrl-C"}
_EXIT = 128  # as shells count: and the number of the signal


class Interruption:
    """The last signal that asked this process to end; Ctrl-C until another one has."""

    def __init__(self) -> None:
        self.number = signal.SIGINT

    def by(self, number: int) -> None:
        """A signal came."""
        self.number = signal.Signals(number)

    def said(self) -> str:
        """What a run it broke off is on record as. Such a run is over: `interrupted` is one that can be
        taken up again."""
        return f"stopped by {_KEYS.get(self.number, self.number.name)}"

    @property
    def exit_status(self) -> int:
        """What a command it broke off ends with."""
        return _EXIT + self.number


INTERRUPTION = Interruption()
"""Signals are the process's, so this is, too."""
