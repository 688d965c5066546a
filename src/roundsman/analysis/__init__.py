"""Statistics over telemetry: pure functions, structured results, the method stated."""

from __future__ import annotations

from roundsman.analysis.calls import CallPicture, Edge, Origin, deepest, picture
from roundsman.analysis.changes import shared_words, words
from roundsman.analysis.onset import Onset, find_onset, growing_since, ran_out
from roundsman.analysis.templates import LogSummary, Shift, Template, mask, shifts, summarise

__all__ = [
    "CallPicture",
    "Edge",
    "LogSummary",
    "Onset",
    "Origin",
    "Shift",
    "Template",
    "deepest",
    "find_onset",
    "growing_since",
    "mask",
    "picture",
    "ran_out",
    "shared_words",
    "shifts",
    "summarise",
    "words",
]
