"""What happens between a run and a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from roundsman.guard.event import Event


@dataclass(frozen=True, kw_only=True)
class Asked(Event):
    """A person is asked; until `Answered`, waiting alone is no wall clock.

    `about` is `limit` (more of `limits`, by the name of their rules), `action` (this tool with
    exactly these arguments, `digest`), `engine` (the engine asks for a confirmation by itself), or
    `input` (for something else). `subject_id` is the step or action that waits, `call` the engine's
    id of it. `expires` is when an answer is no longer taken (seconds since
    the epoch, 0: never); an approval then holds for as long as the question did.
    """

    kind: ClassVar[str] = "asked"
    id: str = ""
    about: str = "engine"
    subject_id: str = ""
    agent: str = ""
    loop: str = ""
    tool: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    call: str = ""
    limits: tuple[str, ...] = ()
    rule: str = ""
    reason: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    expires: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Answered(Event):
    """The person has answered: `decision` is approve, deny, grant or finish; empty when the engine
    asked by itself. `granted` is what is added to each limit, by the name of its rule (dollars,
    seconds, counts)."""

    kind: ClassVar[str] = "answered"
    id: str = ""
    decision: str = ""
    by: str = ""
    note: str = ""
    granted: Mapping[str, float] = field(default_factory=dict)
    expires: float = 0.0
