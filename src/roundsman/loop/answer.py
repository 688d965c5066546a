"""A round's answer: `{"findings": [...], "done": bool}` out of whatever the model wrote.

What is recovered and what is not is told in `docs/answers.md`. The rule behind it: a finding is kept
only when it stands complete in the text; nothing is guessed, joined or made up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from roundsman.loop.printed_calls import PrintedCall, as_call, python_call
from roundsman.loop.reading import clean, read_object

#: names under which models give the statement of a finding, the most telling first
STATEMENT = (
    "statement", "finding", "claim", "text", "description", "message", "summary", "observation",
    "fact", "issue", "event", "details", "detail", "content", "title",
)  # fmt: skip
_EVIDENCE = ("evidence", "evidence_ids", "evidence_id")
#: members that say something about a finding, not what was found
_ABOUT = frozenset((*_EVIDENCE, "id", "role", "confidence", "severity", "done"))
_OWN_FORM = ("statement", "evidence")
_DEEPEST_EXTRA = 16
_ID = re.compile(r"[A-Za-z]{1,12}[-_]?\d{1,9}")
_PLACEHOLDER = re.compile(r"\s*(?:\.{3,}|…)?\s*")
_NUMBERED = re.compile(r"[A-Za-z]{0,12}[-_ ]?\d{1,6}")


@dataclass(frozen=True, slots=True)
class Claim:
    """One finding as claimed: the statement, the ids of the actions said to support it, and what
    else the model said of it (role, service, kind ...)."""

    statement: str
    evidence: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A round's answer.

    Attributes:
        claims: findings that stood complete in the text.
        done: whether the model said it is done; only a written `true` is.
        readable: False when nothing usable was found.
        lost: what could not be read: empty, `truncated`, `broken`, `values` or `nothing`.
        slips: kinds of slips that were forgiven.
        calls: tool calls the model printed as text; never findings.
    """

    claims: tuple[Claim, ...] = ()
    done: bool = False
    readable: bool = True
    lost: str = field(default="", compare=False)
    slips: tuple[str, ...] = field(default=(), compare=False)
    calls: tuple[PrintedCall, ...] = field(default=(), compare=False)


UNREADABLE = Answer(readable=False, lost="nothing")


def read_answer(raw: Any, tools: Sequence[str] = ()) -> Answer:
    """The answer in `raw` (text, bytes, or a mapping when the engine parsed it already).

    Args:
        raw: whatever the model gave; nothing is raised, whatever it is.
        tools: names of the tools on offer, to know printed calls by (see `read_object`).
    """
    reading = read_object(raw, ("findings", "done"), tools)
    value = reading.value
    if value is None:
        return Answer(readable=False, lost=reading.lost, calls=reading.calls)
    if not value.keys() & {"findings", "done"}:
        return Answer(readable=isinstance(raw, Mapping) and not reading.calls, calls=reading.calls)
    found = value.get("findings")
    cut = reading.open_at[:1] == ("findings",)
    claims, calls = _claims([] if cut and isinstance(found, Mapping) else found, not reading.lost)
    done = _true(value.get("done"))
    usable = bool(claims or calls or done) or not reading.lost
    return Answer(claims, done, usable, reading.lost, reading.slips, (*reading.calls, *calls))


def _true(value: Any) -> bool:
    return value is True or (isinstance(value, str) and value.strip().casefold() == "true")


def _claims(found: Any, whole: bool) -> tuple[tuple[Claim, ...], tuple[PrintedCall, ...]]:
    """Findings as a list, as one string, as one object, as a numbered mapping, as JSON in a string."""
    if isinstance(found, str):
        found = _encoded(found)
    if isinstance(found, Mapping):
        numbered = found and all(_NUMBERED.fullmatch(str(key)) for key in found)
        found = list(found.values()) if numbered and _statement(found) is None else [found]
    if not isinstance(found, list):
        found = [found]
    claims, calls = list[Claim](), list[PrintedCall]()
    for item in found:
        claim, call = _claim(item, whole)
        if call is not None:
            calls.append(call)
        elif claim is not None:
            claims.append(claim)
    return tuple(claims), tuple(calls)


def _encoded(text: str) -> Any:
    """A list or object written as JSON inside a string; else the string itself."""
    if text.lstrip()[:1] in ("[", "{"):
        try:
            value = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return text
        return clean(value)[0] if isinstance(value, list | dict) else text
    return text


def _claim(item: Any, whole: bool) -> tuple[Claim | None, PrintedCall | None]:
    if isinstance(item, str):
        if (call := _as_printed(item)) is not None:
            return None, call
        return (Claim(item.strip()) if _says(item) else None), None
    if not isinstance(item, Mapping):
        return None, None
    key = _statement(item)
    if key is None and (call := as_call(item)) is not None:
        return None, call
    statement = item[key].strip() if key else (_told(item) if whole else "")
    if not statement:
        return None, None
    cited = tuple(one for name in _EVIDENCE for one in _cited(item.get(name)))
    rest = {k: v for k, v in item.items() if k != key and k not in _EVIDENCE}
    return Claim(statement, cited, clean(rest, _DEEPEST_EXTRA)[0]), None


def _statement(item: Mapping[str, Any]) -> str | None:
    """The name under which an item has its statement."""
    return next((key for key in STATEMENT if _says(item.get(key))), None)


def _told(item: Mapping[str, Any]) -> str:
    """The members of an item without a statement, in their order: `pod: a-1, status: OOMKilled`.

    Only when nothing of the answer was lost: what is left of a damaged finding is no finding.
    """
    own = (*STATEMENT, *_EVIDENCE, "role")
    if any(key in own or get_close_matches(key, _OWN_FORM, 1, 0.75) for key in list(item)[:20]):
        return ""  # our own form, with a statement that cannot be read
    told = {
        key: value
        for key, value in item.items()
        if key not in _ABOUT and isinstance(value, str | int | float) and _says(str(value))
    }
    worded = any(isinstance(value, str) for value in told.values())
    return ", ".join(f"{key}: {value}" for key, value in told.items()) if worded else ""


def _says(value: Any) -> bool:
    """Whether it is a statement: a placeholder (`...`) is none."""
    return isinstance(value, str) and not _PLACEHOLDER.fullmatch(value)


def _as_printed(text: str) -> PrintedCall | None:
    """The call when a finding is nothing but a printed tool call."""
    if text.lstrip().startswith("{"):
        return as_call(_encoded(text))
    return python_call(text)


def _cited(value: Any) -> list[str]:
    """Evidence ids: a list, one id, several in one string, objects with an id."""
    if isinstance(value, str):
        parts = re.split(r"[,;\s]+", value.strip())
        if not value.strip():
            return []
        return parts if all(_ID.fullmatch(part) for part in parts) else [value]
    if isinstance(value, Mapping):
        return [str(value["id"])] if "id" in value else []
    if isinstance(value, list):
        return [one for item in value for one in _cited(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]
