"""Log templates that appear or surge: lines with numbers and ids masked, counted over time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from roundsman.sources.log_lines import is_bad
from roundsman.sources.protocols import LogLine, Window

METHOD = (
    "masked lines counted in 60 bins; new, 4 times the earlier rate, or gone where many were due"
)
_BINS = 60
_MOST_TEMPLATES = 4000
#: lines that must have come, over so many bins, and be due where none comes
_DUE, _SEEN = 20, 6
_KEY = str.maketrans("123456789", "000000000")
_MASKS = (
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}\b"), "<id>"),
    (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b"), "<ip>"),
    (re.compile(r"0x[0-9a-fA-F]+"), "<n>"),
    (re.compile(r"\d+(?:[.,]\d+)*"), "<n>"),
)


def mask(text: str) -> str:
    """A line with ids, addresses and numbers replaced; at most 300 characters."""
    out = text[:600]
    for pattern, token in _MASKS:
        out = pattern.sub(token, out)
    return " ".join(out.split())[:300]


@dataclass
class Template:
    """One masked line of one service over a window."""

    service: str
    template: str
    level: str
    example: str
    first: float
    last: float
    count: int = 0
    bins: list[int] = field(default_factory=lambda: [0] * _BINS)


@dataclass(frozen=True)
class Shift:
    """A template that changed. kind: appeared, surged or vanished; bad: its level says something failed."""

    template: Template
    kind: str
    at: float
    before: int
    after: int
    bad: bool


@dataclass
class LogSummary:
    """All templates of a window, and how many lines there were."""

    window: Window
    templates: list[Template]
    lines: int
    other: int


def summarise(lines: Iterable[LogLine], window: Window) -> LogSummary:
    """Count templates in one pass; memory is bounded by the number of templates, not of lines."""
    known: dict[tuple[str, str], Template] = {}
    masks: dict[str, str] = {}
    width = max(window.end - window.start, 1e-9) / _BINS
    total = other = 0
    for line in lines:
        total += 1
        short = line.text[:600].translate(_KEY)
        masked = masks.get(short)
        if masked is None:
            masked = mask(line.text)
            if len(masks) < 50_000:
                masks[short] = masked
        key = (line.service, masked)
        found = known.get(key)
        if found is None:
            if len(known) >= _MOST_TEMPLATES:
                other += 1
                continue
            found = known[key] = Template(
                line.service, masked, line.level, line.raw[:500], line.at, line.at
            )
        found.count += 1
        if line.at < found.first:
            found.first, found.example = line.at, line.raw[:500]
        found.last = max(found.last, line.at)
        found.bins[min(_BINS - 1, max(0, int((line.at - window.start) / width)))] += 1
    return LogSummary(window, list(known.values()), total, other)


def shifts(summary: LogSummary) -> list[Shift]:
    """Templates that appeared, surged or vanished inside the window, bad ones first, then the largest.

    New: absent from the first tenth of the window and seen at least 3 times (2 when bad).
    Surged: from some bin on, 4 times as frequent as before it, and at least 10 more lines than expected.
    Vanished: 20 or more, then none after some bin, where the rate before makes 20 due (others being logged
    to the end).
    """
    out: list[Shift] = []
    window = summary.window
    width = (window.end - window.start) / _BINS
    filled = (i + 1 for one in summary.templates for i, count in enumerate(one.bins) if count)
    ends = max(filled, default=1)
    for one in summary.templates:
        bad = is_bad(one.level)
        if one.first - window.start > 0.1 * (window.end - window.start):
            if one.count >= (2 if bad else 3):
                out.append(Shift(one, "appeared", one.first, 0, one.count, bad))
            continue
        best, split = 0.0, 0
        for index in range(6, _BINS - 2):
            before, after = sum(one.bins[:index]), sum(one.bins[index:])
            expected = (before + 1) / index * (_BINS - index)
            gain = (after - expected) / expected**0.5
            if after >= 4 * expected and after - expected >= 10 and gain > best:
                best, split = gain, index
        if split:
            before, after = sum(one.bins[:split]), sum(one.bins[split:])
            out.append(Shift(one, "surged", window.start + split * width, before, after, bad))
        elif one.bins[ends - 1] == 0:
            last = max(index for index, count in enumerate(one.bins) if count)
            due = one.count / (last + 1) * (ends - 1 - last)
            if last >= _SEEN and min(one.count, due) >= _DUE:
                out.append(Shift(one, "vanished", one.last, one.count, 0, bad))
    return sorted(out, key=lambda s: (s.kind == "vanished", not s.bad, -s.after, s.at))
