"""What a check is: a small class that finds stretches of a text it has something against."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from roundsman.guard.checks.text import Text


@dataclass(frozen=True, slots=True)
class Hit:
    """A stretch of a text (characters `start` to `end`), what kind of thing it is, and how much
    it weighs: hits of one check add up, and 1.0 is enough."""

    start: int
    end: int
    kind: str
    weight: float = 1.0


class Check(Protocol):
    """Looks at one text, knows nothing else, changes nothing. A check that raises blocks."""

    def find(self, text: Text) -> Iterable[Hit]:
        """Everything it has against the text."""
        ...


class TooSlow(Exception):
    """A check that did not say in time what it has against a text. Who runs it knows the time: a check
    and its rule have no clock.

    Args:
        budget: seconds it had.
        why: what was seen, as part of a sentence.
    """

    def __init__(self, budget: float, why: str) -> None:
        super().__init__(why)
        self.budget, self.why = budget, why


ENOUGH = 1.0


def weighed(hits: Iterable[Hit]) -> tuple[float, list[Hit]]:
    """The sum of the heaviest hit of each kind, and the hits in order: the same thing said twice
    is no stronger."""
    found = sorted(hits, key=lambda h: (h.start, h.end))
    heaviest: dict[str, float] = {}
    for hit in found:
        heaviest[hit.kind] = max(hit.weight, heaviest.get(hit.kind, 0.0))
    return sum(heaviest.values()), found


def without(text: str, hits: Iterable[Hit]) -> str:
    """The text with each hit replaced by its kind; overlapping hits become one."""
    parts, at = list[str](), 0
    for hit in sorted(hits, key=lambda h: (h.start, -h.end)):
        if hit.end <= at:
            continue
        start = max(hit.start, at)
        if start > at or not parts:
            parts.append(text[at:start])
        if hit.start >= at:
            parts.append(f"[{hit.kind} removed]")
        at = hit.end
    return "".join([*parts, text[at:]])
