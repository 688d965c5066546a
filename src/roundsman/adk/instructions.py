"""Instructions in an order that holds: who speaks, the rules, then each limit with its way out.

A limit without a way out leaves the model alone with a person who asks for more; what it makes up then is
the failure. So a limit is a pair here, and `lint` finds those in a text that have none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_LIMIT = re.compile(
    r"\b(?:never|do not|don't|must not|may not|cannot|can't|not allowed|forbidden|refuse|at most|no more than"
    r"|avoid|only (?:talk|speak|answer|help))\b",
    re.IGNORECASE,
)
_WAY_OUT = re.compile(
    r"\b(?:instead|say|tell|reply|answer with|offer|refer|hand (?:over|it|them)|transfer|ask (?:for|the|them)"
    r"|if (?:asked|they|someone|the)|point (?:them|to)|explain|suggest|escalate|send them|call)\b",
    re.IGNORECASE,
)


def instruction(persona: str, rules: Sequence[str], limits: Mapping[str, str]) -> str:
    """An agent's instruction: persona, rules, then limits each with what to do at it.

    Args:
        persona: who the agent is and for whom it works.
        rules: what it does.
        limits: what it must not do -> what it says or does instead.

    Raises:
        ValueError: a limit has no way out.
    """
    for limit, way in limits.items():
        if not way.strip():
            raise ValueError(f"the limit {limit!r} has no way out; say what to do instead")
    parts = [persona.strip()]
    if rules:
        parts.append("Rules:\n" + "\n".join(f"- {rule.strip()}" for rule in rules))
    if limits:
        lines = (f"- {limit.strip()} Instead: {way.strip()}" for limit, way in limits.items())
        parts.append("Limits:\n" + "\n".join(lines))
    return "\n\n".join(parts)


def lint(text: str) -> list[str]:
    """Sentences of an instruction that set a limit and say no way out, neither there nor next."""
    sentences = [s for s in (m[0].strip() for m in _SENTENCE.finditer(text)) if s]
    found = []
    for at, sentence in enumerate(sentences):
        if not _LIMIT.search(sentence):
            continue
        following = sentences[at + 1] if at + 1 < len(sentences) else ""
        own = _LIMIT.sub("", sentence)
        if not _WAY_OUT.search(own) and not _WAY_OUT.search(following):
            found.append(sentence)
    return found
