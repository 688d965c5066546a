"""Rounds until done: what is carried over, what counts as progress. Pure."""

from __future__ import annotations

from roundsman.loop.answer import UNREADABLE, Answer, Claim, read_answer
from roundsman.loop.carry import round_prompt
from roundsman.loop.grounding import Grounding, grounded
from roundsman.loop.printed_calls import PrintedCall
from roundsman.loop.progress import Finding, Held
from roundsman.loop.reading import Reading, read_object
from roundsman.loop.schema import fit

__all__ = [
    "UNREADABLE",
    "Answer",
    "Claim",
    "Finding",
    "Grounding",
    "Held",
    "PrintedCall",
    "Reading",
    "fit",
    "grounded",
    "read_answer",
    "read_object",
    "round_prompt",
]
