"""Rounds until done: what is carried over, what counts as progress. Pure."""

from __future__ import annotations

from roundsman.loop.answer import UNREADABLE, Answer, Claim, read_answer
from roundsman.loop.carry import round_prompt
from roundsman.loop.grounding import Grounding, grounded
from roundsman.loop.progress import Finding, Held

__all__ = [
    "UNREADABLE",
    "Answer",
    "Claim",
    "Finding",
    "Grounding",
    "Held",
    "grounded",
    "read_answer",
    "round_prompt",
]
