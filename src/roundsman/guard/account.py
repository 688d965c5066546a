"""The account: what a run tree has spent and seen, and nothing but the fold of its journal (fold.py).

What it keeps of the past is bounded: the last calls (see stuck.memory), one counter a tool, one
share an agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from roundsman.guard.asking import Asks
from roundsman.guard.states import LOOP_ENDS, LoopState, Reserved, Share, Stopped
from roundsman.guard.stuck import Memory
from roundsman.guard.trust import Trust
from roundsman.guard.work import Work

__all__ = ["LOOP_ENDS", "Account", "LoopState", "Reserved", "Share", "Stopped"]


@dataclass(frozen=True)
class Account:
    """All counters of one run tree. Tokens and dollars count what was settled; what is in flight
    is in `reserved`, by step. `cached` are those of `tokens` that a provider read from its cache.
    `over` are tokens billed beyond what a reply was allowed to have, `unpriced` steps of models
    whose price is unknown. `nested` counts agents called
    by others, `calling` are the actions in flight that do so. `cut` is set when an action was cut:
    the round (without rounds: the run) takes no further step; `left_off` when the last step asked
    for was one its agent had no share left for, or one whose reply was ended while it came. `active`
    is seconds of wall clock without the time no process was working, or only a person was waited
    for (`asks`). `stuck` is what the repetition rules look at."""

    run_id: str = ""
    policy: str = ""
    rounds: int = 0
    loops: Mapping[str, LoopState] = field(default_factory=dict)
    steps: int = 0
    actions: int = 0
    tokens: int = 0
    tokens_estimated: int = 0
    cached: int = 0
    over: int = 0
    usd: float = 0.0
    unpriced: int = 0
    left_off: Stopped | None = None
    nested: int = 0
    calling: frozenset[str] = frozenset()
    replans: int = 0
    active: float = 0.0
    last_at: float | None = None
    asks: Asks = field(default_factory=Asks)
    reserved: Mapping[str, Reserved] = field(default_factory=dict)
    open_actions: Mapping[str, str] = field(default_factory=dict)
    by_tool: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, Share] = field(default_factory=dict)
    stuck: Memory = field(default_factory=Memory)
    work: Work = field(default_factory=Work)
    trust: Trust = field(default_factory=Trust)
    stopped: Stopped | None = None
    loop_ended: Stopped | None = None
    ended: bool = False

    def loop(self, path: str) -> LoopState:
        """State of the loop at this path; a fresh one when nothing happened there yet."""
        return self.loops.get(path, _NEW_LOOP)

    @property
    def ending(self) -> Stopped | None:
        """Why the run ends: it was stopped, or else how the loop that ended last did, or because an
        agent had no share left, or its reply was ended while it came, and nobody went on after it."""
        return self.stopped or self.loop_ended or self.left_off

    @property
    def reserved_tokens(self) -> int:
        """Tokens promised to calls in flight."""
        return sum(r[0] for r in self.reserved.values())

    @property
    def reserved_usd(self) -> float:
        """Dollars promised to calls in flight."""
        return sum(r[1] for r in self.reserved.values())

    def active_at(self, at: float) -> float:
        """Seconds of wall clock at that time. They stand still while a person is waited for and
        nothing else is under way."""
        if self.last_at is None or (self.asks.open and not self.reserved and not self._working):
            return self.active
        return self.active + max(0.0, at - self.last_at)

    @property
    def _working(self) -> bool:
        asked = {*self.asks.open, *(q.subject for q in self.asks.open.values())}
        return any(action not in asked for action in self.open_actions)


_NEW_LOOP = LoopState()
