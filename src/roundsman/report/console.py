"""Consoles whose reader may leave: `roundsman ... | head -1`."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class PipedConsole(Console):
    """A console that raises BrokenPipeError; rich's own ends the process with status 1.

    What a reader who left means is decided where it is known: progress goes on in silence, a report
    ends the command (see `roundsman.cli.main`).
    """

    def on_broken_pipe(self) -> NoReturn:
        """The reader is gone, and nobody will read the rest."""
        self.quiet = True
        raise BrokenPipeError("the reader of the output has left")
