"""Instructions in text that should hold none: results of tools, files, what other agents say.

A warning, no defence: text that asks for something harmful without a telltale phrase passes every
detector (what keeps such a text from acting is the taint rule). Each pattern has a weight; 1.0 is enough.
"""

from __future__ import annotations

import re
import string
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

_NOT_LETTERS = str.maketrans("", "", string.whitespace + string.punctuation + string.digits)
_VERBS = ("ignore", "disregard", "forget", "override", "bypass")
_WHAT = r"(?:instructions?|prompts?|rules?|messages?|directions?|guidelines?|polic(?:y|ies)|orders)"
_OLD = r"(?:previous|prior|above|earlier|preceding|former|safety|system|original|initial)"
_SQUEEZED = re.compile(
    rf"(?:{'|'.join(_VERBS)})(?:(?:all|any|the|your|my|of|these|those)*"
    + _OLD
    + "+"
    + _WHAT
    + r"|(?:all|any|the|your|my|of|these|those)*"
    + _WHAT
    + r"(?:above|yougot|youweregiven|youreceived|youhad))"
)
_MARKUP = re.compile(r"<[^<>]{1,80}>|/\*[^*]{0,80}\*/|<!--|-->|\*\*|`")
"""What may stand inside a word of a page without being seen."""
_JOINTS = re.compile(r"[\"|][\s\\\"|,:\[\]{}]*|<[^<>]{1,80}>")
"""Between two strings of JSON, cells of a table, elements of a page."""
_MARKS = ("<", "/*", "**", "`")
_FEWEST_JOINTS = 4
"""Fewer hold one string: there is nothing to join."""
_LETTERS_APART = re.compile(r"(?:[A-Za-z][\u200b-\u200f\u2060-\u2064\ufeff]+){3,}")
_ORDER = re.compile(
    r"(?:^|[.!?:;,]\s*|\b(?:please|kindly|then|and|now|must|should|will)\s+)(?:immediately )?"
    + ACT
    + r"\s+(?:the|all|any|every|each|both|your|his|her|their|my|our|this|that|these|those"
    r"|it|them|me|us|a|an|no)\b"
)
_WORDS_OF_AN_ORDER = 5
_OF_ONE_SENTENCE = frozenset({"override", "addressed to a model", "concealment"})
"""Kinds that are looked for over the edges of strings; others begin with one, or end."""
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
            elif _disguised(view):
                yield Hit(*view.place(0, len(view.text)), "order in disguise")
        yield from _stray(text.seen)
        yield from _spread(text)
        if len(text.hidden) >= _HIDDEN_RUN and _on_purpose(text):
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


def _disguised(view: View) -> bool:
    """Whether somebody took the trouble to encode an order. What is encoded for a wire is none."""
    if not view.how or view.how in ("look-alike letters", "url encoding"):
        return False
    return len(view.text.split()) >= _WORDS_OF_AN_ORDER and bool(_ORDER.search(view.text))


def _spread(text: Text) -> Iterator[Hit]:
    """Phrases written with blanks, dots, line breaks or tags between their letters, or over several
    strings of a result."""
    seen = (text.folded or text.seen).text
    bare = _MARKUP.sub("", seen) if any(mark in seen for mark in _MARKS) else seen
    squeezed = bare.translate(_NOT_LETTERS)
    together = any(verb in squeezed for verb in _VERBS) and _SQUEEZED.search(squeezed)
    if together and not any(True for _ in phrases(seen, frozenset({"override"}))):
        yield Hit(0, len(text.raw), "split phrase")
    joined, joints = _JOINTS.subn(" ", seen.replace("\\", " "))
    if joints >= _FEWEST_JOINTS:
        found = {kind for kind, *_ in phrases(seen, _OF_ONE_SENTENCE)}
        for kind, weight, *_ in phrases(joined, _OF_ONE_SENTENCE - found):
            yield Hit(0, len(text.raw), f"split {kind}", weight)


def _on_purpose(text: Text) -> bool:
    """Invisible characters no editor puts there: copies of letters, or some between the letters of a
    word."""
    hidden = (ord(text.raw[i]) for i in text.hidden)
    if any(0xE0000 <= code < 0xE0080 or code >= 0xE0100 for code in hidden):
        return True
    return bool(_LETTERS_APART.search(text.raw))
