"""Telemetry in: four protocols, and the incident folder that satisfies them."""

from __future__ import annotations

from roundsman.sources.folder import IncidentFolder
from roundsman.sources.protocols import (
    Change,
    ChangeSource,
    LogLine,
    LogSource,
    MetricSource,
    Series,
    Source,
    Span,
    TraceSource,
    Unseen,
    Window,
)

__all__ = [
    "Change",
    "ChangeSource",
    "IncidentFolder",
    "LogLine",
    "LogSource",
    "MetricSource",
    "Series",
    "Source",
    "Span",
    "TraceSource",
    "Unseen",
    "Window",
]
