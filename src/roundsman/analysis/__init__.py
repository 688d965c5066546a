"""Statistics over telemetry: pure functions, structured results, the method stated."""

from __future__ import annotations

from roundsman.analysis.changes import shared_words, words
from roundsman.analysis.onset import Onset, find_onset
from roundsman.analysis.templates import LogSummary, Shift, Template, mask, shifts, summarise

__all__ = [
    "LogSummary",
    "Onset",
    "Shift",
    "Template",
    "find_onset",
    "mask",
    "shared_words",
    "shifts",
    "summarise",
    "words",
]
