"""A text on its way: what a person says, what a model answers or calls a tool with, what that gives back.

It is judged and never written: of a text that was blocked the journal keeps a digest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from roundsman.guard.event import Event


@dataclass(frozen=True, kw_only=True)
class Said(Event):
    """A text and where it is: `input`, `reply`, `call` (arguments) or `result`. `tool` is whose it is,
    `hidden` what the speaker was told and must not repeat (its instructions). `whole`: nothing comes
    after."""

    kind: ClassVar[str] = "said"
    where: str = "input"
    text: str = ""
    agent: str = ""
    tool: str = ""
    hidden: tuple[str, ...] = ()
    whole: bool = True
