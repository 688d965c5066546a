"""The base of all events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from roundsman.guard.evolve import evolve

E = TypeVar("E", bound="Event")


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events; `kind` is its name in the journal, `at` seconds since the epoch."""

    kind: ClassVar[str] = "event"
    at: float = 0.0

    def timed(self: E, at: float) -> E:
        """This event, at that time."""
        return evolve(self, at=at)
