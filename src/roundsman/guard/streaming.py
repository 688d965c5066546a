"""A reply that is still coming. It is judged as it grows, and never written to the journal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from roundsman.guard.events import Event


@dataclass(frozen=True, kw_only=True)
class StepStreams(Event):
    """A reply so far: output tokens, of at most `most`; `estimated` from its text when the model
    does not report them."""

    kind: ClassVar[str] = "step_streams"
    id: str = ""
    agent: str = ""
    output: int = 0
    most: int = 0
    estimated: bool = False
