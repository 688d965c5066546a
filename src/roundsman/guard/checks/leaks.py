"""Whether a reply repeats what the agent was told in its instructions."""

from __future__ import annotations

from collections.abc import Iterator

from roundsman.guard.checks.base import Hit
from roundsman.guard.checks.text import Text

RUN_OF_WORDS = 8
"""Words in a row that are no coincidence; a plagiarism detector's shingle."""


def leaked(text: Text, hidden: tuple[str, ...]) -> Iterator[Hit]:
    """Stretches of the text that stand word for word in one of `hidden`."""
    told = {run for secret in hidden for run in _runs(secret)}
    if not told:
        return
    places = list(_words(text.seen.text))
    words = [text.seen.text[a:b] for a, b in places]
    for first in range(len(words) - RUN_OF_WORDS + 1):
        if tuple(words[first : first + RUN_OF_WORDS]) in told:
            start, end = places[first][0], places[first + RUN_OF_WORDS - 1][1]
            yield Hit(*text.seen.place(start, end), "instructions")


def _runs(secret: str) -> Iterator[tuple[str, ...]]:
    seen = Text(secret).seen.text
    words = [seen[a:b] for a, b in _words(seen)]
    for first in range(len(words) - RUN_OF_WORDS + 1):
        yield tuple(words[first : first + RUN_OF_WORDS])


def _words(text: str) -> Iterator[tuple[int, int]]:
    start = None
    for at, char in enumerate(text):
        if char.isalnum():
            start = at if start is None else start
        elif start is not None:
            yield start, at
            start = None
    if start is not None:
        yield start, len(text)
