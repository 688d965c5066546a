"""Stuck or busy? What the account remembers of calls and replies, and the signals that read it.

Each signal sees one kind of evidence and gives it points; a fresh result takes points away; a new
write that succeeded makes everything else worth asking again. The rules (`guard.rules.repetition`)
compare the sum with the policy's levels: warn, withhold, stop. The measured reasons are in
docs/repetition.md.
"""

from __future__ import annotations

from roundsman.guard.stuck.evidence import SIGNALS
from roundsman.guard.stuck.fold import foresee, remember
from roundsman.guard.stuck.memory import Asked, Memory, Outcome
from roundsman.guard.stuck.score import gathered, proposed

__all__ = ["SIGNALS", "Asked", "Memory", "Outcome", "foresee", "gathered", "proposed", "remember"]
