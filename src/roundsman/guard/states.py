"""Small parts of the account: a share, a promise, a stop, a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Share:
    """What one agent charged; `reused` is what its last prompt had from the provider's cache."""

    steps: int = 0
    actions: int = 0
    tokens: int = 0
    cached: int = 0
    usd: float = 0.0
    reused: int = 0


class Reserved(NamedTuple):
    """What is promised to one call in flight, and whose it is."""

    tokens: int
    usd: float
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why the run has to end. Sticky: once set it stays."""

    reason: str
    rule: str = ""
    layer: str = ""
    detail: str = ""


@dataclass(frozen=True)
class LoopState:
    """How one loop stands: `steps` of its present round, `cut` when an action of it was cut (it
    takes no further step), `said_cut` why the round was cut, `ended` how the loop ended."""

    rounds: int = 0
    idle: int = 0
    held: int = 0
    steps: int = 0
    said_cut: str = ""
    cut: Stopped | None = None
    ended: Stopped | None = None


LOOP_ENDS = frozenset({"done", "no_progress", "max_rounds", "repetition"})
"""Stop reasons that end a loop and leave the rest of the run alone."""
