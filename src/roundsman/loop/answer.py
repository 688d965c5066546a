"""Reading a round's answer: leniently, and never more than the model wrote.

The reference takes everything from the first `{` to the last `}`. That is tried last; before it,
every complete object in the text is looked at and the last one that looks like an answer is taken.
What cannot be read is an empty answer, marked unreadable.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_TRAILING = re.compile(r'("(?:\\.|[^"\\])*")|,(\s*[}\]])')


@dataclass(frozen=True, slots=True)
class Claim:
    """One finding as claimed: the statement, the ids of the actions said to support it, and what
    else the model said of it (role, service, kind ...)."""

    statement: str
    evidence: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A round's answer; `readable` is False when nothing usable was found."""

    claims: tuple[Claim, ...] = ()
    done: bool = False
    readable: bool = True


UNREADABLE = Answer(readable=False)


def read_answer(raw: Any) -> Answer:
    """The answer in `raw` (text, or a mapping when the engine parsed it already)."""
    if raw is None:
        return UNREADABLE
    if isinstance(raw, dict):
        return _from_mapping(raw)
    text = str(raw)
    candidates = [o for o in _objects(text) if isinstance(o, dict)]
    for candidate in reversed(candidates):
        if "findings" in candidate or "done" in candidate:
            return _from_mapping(candidate)
    whole = _first_to_last(text)
    return _from_mapping(whole) if isinstance(whole, dict) else UNREADABLE


def _objects(text: str) -> list[Any]:
    """Every complete top-level JSON object in the text, in order."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        found.append(value)
        at = end
    return found


def _first_to_last(text: str) -> Any:
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    body = text[start : end + 1]
    body = _TRAILING.sub(lambda m: m.group(1) or m.group(2), body)
    readers: tuple[Callable[[str], Any], ...] = (_loads, ast.literal_eval)
    for read in readers:
        try:
            return read(body)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
    return None


def _loads(body: str) -> Any:
    return json.loads(body, strict=False)


def _from_mapping(value: dict[str, Any]) -> Answer:
    raw = value.get("findings", [])
    if not isinstance(raw, list):
        raw = [raw] if isinstance(raw, (str, dict)) and raw else []
    claims = tuple(c for c in map(_claim, raw) if c is not None)
    done = value.get("done", False)
    return Answer(claims, done is True or (isinstance(done, str) and done.lower() == "true"))


def _claim(item: Any) -> Claim | None:
    if isinstance(item, str):
        return Claim(item.strip()) if item.strip() else None
    if not isinstance(item, dict):
        return None
    statement = item.get("statement") or item.get("finding") or item.get("text")
    if not isinstance(statement, str) or not statement.strip():
        return None
    cited = item.get("evidence") or []
    cited = [cited] if isinstance(cited, str) else cited
    evidence = tuple(str(e) for e in cited) if isinstance(cited, list) else ()
    known = {"statement", "finding", "text", "evidence"}
    return Claim(statement.strip(), evidence, {k: v for k, v in item.items() if k not in known})
