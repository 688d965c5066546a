"""How one answer was read, and whether what was read stands in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.real_model.cases import tool_names
from roundsman.loop import Answer, read_answer
from roundsman.loop.tokens import unescape

PARSES, RECOVERED, PART, LOST = "parses", "recovered", "recovered in part", "lost"
_PIECES = re.compile(", |: ")
OUTCOMES = (PARSES, RECOVERED, PART, LOST)


@dataclass(frozen=True, slots=True)
class Read:
    """`damage` names what was wrong with the text, empty when nothing was; `strange` what was read
    and does not stand in it."""

    outcome: str
    damage: str
    strange: tuple[str, ...]
    findings: int


def read(text: str, cut: bool) -> Read:
    """Read a round's answer as the product does; `cut`: its length ended it."""
    answer = read_answer(text, tool_names())
    plain = _plain(text)
    strange = tuple(_strange(text, answer))
    if plain is not None and plain.keys() & {"findings", "done"} and not answer.slips:
        whole = not answer.lost
        return Read(PARSES if whole else PART, answer.lost, strange, len(answer.claims))
    kept = bool(answer.claims) or answer.done
    if answer.readable and not answer.lost and not answer.calls:
        return Read(RECOVERED, _damage(text, answer, cut), strange, len(answer.claims))
    if kept:
        return Read(PART, _damage(text, answer, cut), strange, len(answer.claims))
    return Read(LOST, _damage(text, answer, cut), strange, 0)


def kept_row(number: int, kept: Mapping[str, Any]) -> dict[str, Any]:
    """The row of an answer that was kept in this line: `model`, `mode`, `raw`, `finish`."""
    got = read(kept["raw"], kept.get("finish") == "length")
    return {
        "model": kept["model"],
        "mode": kept["mode"],
        "case": f"line {number}",
        "outcome": got.outcome,
        "damage": got.damage,
        "findings": got.findings,
        "strange": list(got.strange),
    }


def _plain(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _damage(text: str, answer: Answer, cut: bool) -> str:
    """One name: what keeps the text from being plain JSON of the form asked for."""
    if not text.strip():
        return "empty"
    if answer.calls:
        return "a printed call"
    if "{" not in text:
        return "no JSON, cut by its length" if cut else "no JSON"
    if cut or answer.lost == "truncated":
        return "cut in its JSON"
    if answer.lost == "nothing" or not answer.readable:
        return "JSON of another form" if _objects(text) else "broken JSON"
    if answer.slips:
        return f"slips: {', '.join(answer.slips)}"
    return "a fence around it" if "```" in text else "text around it"


def _objects(text: str) -> bool:
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            decoder.raw_decode(text, at)
            return True
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
    return False


def _strange(text: str, answer: Answer) -> Iterator[str]:
    """Values that were read and are not in the text, as written or with its escapes undone."""
    wide = [_spaced(text), _spaced(unescape(text))]
    for value in _leaves(answer):
        # a finding without a statement is told as "name: value, name: value"
        pieces = [value] if any(value in one for one in wide) else _PIECES.split(value)
        if not all(any(piece in one for one in wide) for piece in pieces):
            yield value
    if answer.done and not re.search("true", text, re.IGNORECASE):
        yield "done"


def _leaves(answer: Answer) -> Iterator[str]:
    for claim in answer.claims:
        for value in (claim.statement, *claim.evidence, *_strings(claim.extra)):
            yield _spaced(value)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _strings(list(value.values()))
    elif isinstance(value, Sequence):
        for one in value:
            yield from _strings(one)
    elif value is not None and not isinstance(value, bool):
        yield json.dumps(value)


def _spaced(text: str) -> str:
    return " ".join(text.split())
