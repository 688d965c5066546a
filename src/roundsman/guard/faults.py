"""Does a result say that the call failed? Tools that answer with text alone do not say so otherwise.

The words are those of shells, databases, interpreters and search tools in general; they are looked
for where a failure is reported, in the first lines and in the last.
"""

from __future__ import annotations

import re
from typing import Any

from roundsman.guard.volatile import shape

_HEAD, _TAIL = 300, 200
_REPORTS = re.compile(
    r"""
      ^\W*(?:error|fatal|failed|failure|exception|invalid|unknown\ |usage:|denied|refused|sorry)
    | \b\w*(?:error|exception)\b(?:\s\w+){0,3}\s?:
    | \btraceback\ \(most\ recent
    | \bno\ such\ \w+
    | \bcommand\ not\ found\b
    | \b(?:could|can|did|does|was|were)\s?(?:not|n['’]?t)\ (?:be\ )?
        (?:find|found|exist|open|read|access|stat|connect|parse|execute|recogni[sz]ed|load|match)
    | \bcannot\ \w+ | \bcan['’]t\ (?:find|open|read|cd|access|create)
    | \bpermission\ denied\b | \bsyntax\ error\b | \bnot\ (?:found|recogni[sz]ed|permitted)\b
    | \bdoesn['’]?t\ exist\b | \bno\ (?:results?|matches)\b | \bnothing\ happens\b
    | \bno\ (?:edits?|replacements?|changes?)\ (?:was|were)\ (?:made|performed|applied)\b
    | \b(?:not\ a\ valid|is\ invalid|unable\ to|failed\ to|timed\ out)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_QUOTED = re.compile(r"""(["'`])(?:(?!\1).){1,200}\1|\[[^\]\n]{1,200}\]""")


def text_of(result: Any, most: int = 4_000) -> str:
    """The text in a result: its strings in order, up to `most` characters."""
    parts: list[str] = []
    left = [result]
    size = 0
    while left and size < most:
        item = left.pop()
        if isinstance(item, dict):
            left.extend(reversed(list(item.values())))
        elif isinstance(item, list | tuple):
            left.extend(reversed(item))
        elif item is not None:
            parts.append(str(item))
            size += len(parts[-1])
    return "\n".join(parts)[:most]


def reports_failure(text: str) -> bool:
    """Whether a text reads like the report of a failure."""
    if _REPORTS.search(text[:_HEAD]):
        return True
    return len(text) > _HEAD and _REPORTS.search(text[-_TAIL:]) is not None


def fault(text: str) -> str:
    """What kind of failure a text reports: quoted names, numbers and ids masked, first lines."""
    return " ".join(_QUOTED.sub("<name>", shape(text[:_HEAD]).lower()).split())
