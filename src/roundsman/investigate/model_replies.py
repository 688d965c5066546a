"""A reply of a model's server with only what can be meant: texts, calls, and counts that can be."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from roundsman.loop.reading import as_text, clean

DEEPEST = 32
"""Levels of nesting of a call's arguments that are read; no tool takes as many, and no store of the
engine takes more than a few hundred."""
NOT_READ = "arguments"
"""The argument that holds what a model wrote in place of arguments. No tool declares one of that name,
so the guard refuses the call and says so to the model; running it without any would be another call."""
_CHARS_PER_TOKEN = 40
"""No tokenizer makes a token of so many characters of an answer, on the average."""
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_LONGEST_NAME = 200
_ID = re.compile(r"[!-~]{1,200}")


def plain(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The reply as the client library may read it."""
    rows = reply.get("choices")
    rows = rows if isinstance(rows, list) else []
    choices: list[dict[str, Any]] = [
        {
            "index": place,
            "finish_reason": _word(row.get("finish_reason")),
            "message": _message(row["message"]),
        }
        for place, row in enumerate(rows)
        if isinstance(row, dict) and isinstance(row.get("message"), dict)
    ]
    kept = {
        "id": "reply",
        "object": "chat.completion",
        "created": 0,
        "model": "",
        "choices": choices,
    }
    said = sum(_length(row["message"]) for row in choices[:1])
    used = _used(reply.get("usage"), said)
    return kept | {"usage": used} if used else kept


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls")
    rows = calls if isinstance(calls, list) else []
    made = [call for one in rows if (call := _called(one))]
    return {
        "role": "assistant",
        "content": _text(message.get("content")) or None,
        "tool_calls": made or None,
    }


def _length(message: Mapping[str, Any]) -> int:
    """Characters that the model wrote; the form around them is the server's."""
    made = [call["function"] for call in message["tool_calls"] or []]
    called = sum(len(one["name"]) + len(one["arguments"]) for one in made)
    return len(message["content"] or "") + called


def _text(content: Any) -> str:
    """A text, or the texts of a list of parts, joined; empty for anything else."""
    if isinstance(content, list):
        texts = [one.get("text") if isinstance(one, dict) else one for one in content]
        return "".join(as_text(one) for one in texts)
    return as_text(content)


def _called(call: Any) -> dict[str, Any] | None:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    name = as_text(function["name"])
    name = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"
    ident = call.get("id")
    return {
        "id": ident if isinstance(ident, str) and _ID.fullmatch(ident) else None,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments(function.get("arguments")))},
    }


def arguments(given: Any) -> dict[str, Any]:
    """A call's arguments: an object, or one written as JSON in a text; nothing is none.

    What is no object, was cut or is nested too deep stands under `NOT_READ`.
    """
    if given is None or (isinstance(given, str) and not given.strip()):
        return {}
    value = given
    if isinstance(given, str):
        try:
            value = json.loads(given)
        except (ValueError, RecursionError):
            value = given
    if value is None:
        return {}
    if isinstance(value, dict) and clean(value, DEEPEST)[1]:
        return {as_text(str(name)): _whole(one) for name, one in value.items()}
    shown = given if isinstance(given, str) else str(type(given).__name__)
    return {NOT_READ: as_text(shown)[:400]}


def _whole(value: Any) -> Any:
    """The value with halves of characters repaired. Numbers stay, also those that are none: the guard
    says what is wrong with them."""
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, dict):
        return {as_text(str(name)): _whole(one) for name, one in value.items()}
    return [_whole(one) for one in value] if isinstance(value, list) else value


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _used(usage: Any, said: int) -> dict[str, Any] | None:
    """What was used, as the server says; None for what cannot be, and an account estimates it then.

    A prompt of no tokens cannot be, nor a part without the other, nor fewer tokens than an answer of
    `said` characters takes. Reasoning tokens are taken out of the output's count, whose part they
    are, since an account adds them.
    """
    if not isinstance(usage, dict):
        return None
    given = {name: usage[name] for name in _COUNTS if usage.get(name) is not None}
    told = {name: count for name, one in given.items() if (count := _count(one)) is not None}
    prompt, output = told.get("prompt_tokens"), told.get("completion_tokens")
    if len(told) < len(given) or (prompt is None) != (output is None):
        return None
    if output is None or prompt is None:
        return dict.fromkeys(_COUNTS) | told if told.get("total_tokens") else None
    if prompt == 0 or output * _CHARS_PER_TOKEN < said:
        return None
    used: dict[str, Any] = {**dict.fromkeys(_COUNTS), **told}
    if thoughts := min(output, _part(usage.get("completion_tokens_details"), "reasoning_tokens")):
        used["completion_tokens"] = output - thoughts
        used["completion_tokens_details"] = {"reasoning_tokens": thoughts}
    if cached := _part(usage.get("prompt_tokens_details"), "cached_tokens"):
        used["prompt_tokens_details"] = {"cached_tokens": cached}
    return used


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 48
    return value if whole else None


def _part(details: Any, name: str) -> int:
    return _count(details.get(name)) or 0 if isinstance(details, dict) else 0
