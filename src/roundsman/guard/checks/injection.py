"""Instructions in text that should hold none: results of tools, files, what other agents say.

A warning, no defence: text that asks for something harmful without a telltale phrase passes every
detector (what keeps such a text from acting is the taint rule). Each pattern has a weight; 1.0 is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from roundsman.guard.checks.base import Hit
from roundsman.guard.checks.phrases_to_models import ACT, SHAPE, phrases
from roundsman.guard.checks.text import Text, View

_ASKS = re.compile(
    r"(?:please |can you |could you )?(?:"
    + ACT
    + "|"
    + SHAPE
    + r"|determine|analy[sz]e|integrate|explain"
    r"|list|find|identify|describe|calculate|suggest|generate|classify|how|what|why|when|where|who|which"
    r"|is|are|do|does|should)\b[^|\n]{10,300}[.?!'\"]"
)
_KEY = re.compile(r"^[\s{\[\"]*(?:[\w ]+\"\s*:\s*[\[{\"\s]*)*")
"""What stands before a text that is a value in JSON."""
_MOST_STRAYS = 2
_FEWEST_ROWS = 4

_SQUEEZED = re.compile(
    r"(?:ignore|disregard|forget)(?:all|any|the|your|my)*(?:of)?(?:the|your|my)?"
    r"(?:previous|prior|above|earlier|preceding)(?:instructions?|prompts?|rules?|messages?|directions?)"
)
_NOT_LETTERS = re.compile(r"[\W\d_]+")
_HIDDEN_RUN = 6
"""Invisible characters that are no accident."""


class Injection:
    """Finds override phrases, impersonated roles, words addressed to a model, tasks, wishes about
    the answer, calls for secrets, and what is hidden or encoded."""

    def find(self, text: Text) -> Iterator[Hit]:
        """Everything that looks like an instruction to the reader."""
        for view in text.views():
            found = list(_in(view))
            yield from found
            if view.how and found and view.how != "look-alike letters":
                yield Hit(found[0].start, found[0].end, "encoded")
        yield from _stray(text.seen)
        yield from _spread(text)
        if len(text.hidden) >= _HIDDEN_RUN and _tags(text):
            yield Hit(text.hidden[0], text.hidden[-1] + 1, "hidden characters")


def _in(view: View) -> Iterator[Hit]:
    for kind, weight, start, end in phrases(view.text):
        yield Hit(*view.place(start, end), kind, weight)


def _stray(view: View) -> Iterator[Hit]:
    """A question or a wish that stands alone in a table: rows ask nothing of their reader."""
    at, rows, strays = 0, 0, list[tuple[int, int]]()
    for line in view.text.split("\n"):
        bare = line.strip()
        if _is_row(bare):
            rows += 1
        elif bare:
            strays.append((at, at + len(line)))
        at += len(line) + 1
    if rows < _FEWEST_ROWS or len(strays) > _MOST_STRAYS:
        return
    for start, end in strays:
        words = _KEY.sub("", view.text[start:end]).strip(' "{}[],')
        if _ASKS.fullmatch(words):
            yield Hit(*view.place(start, end), "instruction in a table")


def _is_row(line: str) -> bool:
    return line.count("|") >= 2 or line.count(",") >= 3 or "\t" in line


def _spread(text: Text) -> Iterator[Hit]:
    """Phrases written with blanks, dots or line breaks between their letters."""
    view = text.folded or text.seen
    squeezed = _NOT_LETTERS.sub("", view.text)
    if _SQUEEZED.search(squeezed) and not any(
        kind == "override" for kind, *_ in phrases(view.text)
    ):
        yield Hit(0, len(text.raw), "split phrase")


def _tags(text: Text) -> bool:
    return any(0xE0000 <= ord(text.raw[i]) < 0xE0080 for i in text.hidden)
