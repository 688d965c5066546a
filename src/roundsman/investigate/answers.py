"""What a tool answers, whatever it is asked: one form, short enough, never an exception."""

from __future__ import annotations

import functools
import inspect
import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from roundsman.sources.patience import CalledOff

#: longest text of one excerpt and of one whole result, in characters
EXCERPT, RESULT = 500, 16_000
_LONGEST_TEXT = 500
#: a text is not cut below this; what is never cut
_LEAST, _KEPT = 100, frozenset(["status", "evidence_id", "left_out"])


def number(value: float) -> float | int:
    """A value with four significant digits, the same in results and in statements."""
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def evidence_id() -> str:
    """The id of the action that is running, or an empty text outside a guarded run."""
    try:
        import roundsman.adk as adk
    except ImportError:
        return ""
    current = getattr(adk, "current_action_id", None)
    return str(current() or "") if callable(current) else ""


def _size(result: dict[str, Any]) -> int:
    return len(json.dumps(result, ensure_ascii=False))


def finish(result: dict[str, Any], lists: Sequence[str]) -> dict[str, Any]:
    """Add the evidence id and drop list entries from the end until the result is short enough."""
    result["evidence_id"] = evidence_id()
    for name in lists:
        while result.get(name) and _size(result) > RESULT:
            result[name].pop()
            result["left_out"][name] = result["left_out"].get(name, 0) + 1
    while (size := _size(result)) > RESULT:
        _squeeze(result, size - RESULT)
    return result


def _squeeze(result: dict[str, Any], over: int) -> None:
    """Make the largest part of a result shorter: what names of any length can bring about."""
    name = max(result.keys() - _KEPT, key=lambda key: _size({key: result[key]}))
    part = result[name]
    if isinstance(part, list) and part:
        gone = max(1, len(part) // 2)
        del part[-gone:]
        result["left_out"][name] = result["left_out"].get(name, 0) + gone
    elif isinstance(part, dict) and part:
        inner = max(part, key=lambda key: _size({"": part[key]}) + len(str(key)))
        text = part[inner]
        if isinstance(text, str) and len(text) > _LEAST:
            part[inner] = text[: max(_LEAST, len(text) - over) - 1] + "…"
        else:
            del part[inner]
            result["left_out"][name] = result["left_out"].get(name, 0) + 1
    elif isinstance(part, str) and len(part) > _LEAST:
        result[name] = part[: max(_LEAST, len(part) - over) - 1] + "…"
    else:
        del result[name]


def _error(query: dict[str, Any], message: str) -> dict[str, Any]:
    result = {"status": "error", "query": query, "counts": {}, "left_out": {}}
    return finish(
        result | {"error": message, "next": "change the argument, or ask another tool"}, ()
    )


def answering(tool: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """The tool with an answer for every call: whatever a model passes or a source raises is a result
    with status `error`, which says what was wrong. None means: left out."""
    parameters = inspect.signature(tool).parameters

    @functools.wraps(tool)
    def run(*args: Any, **kwargs: Any) -> dict[str, Any]:
        given = dict(zip(parameters, args, strict=False)) | kwargs
        given = {name: value for name, value in given.items() if value is not None}
        query = {"tool": tool.__name__, **{name: _short(value) for name, value in given.items()}}
        try:
            unknown = [name for name in given if name not in parameters]
            if unknown:
                raise ValueError(f"no argument {unknown[0]!r}; there are: {', '.join(parameters)}")
            return tool(**{n: _fitting(n, v, parameters[n].default) for n, v in given.items()})
        except CalledOff:
            raise
        except ValueError as error:
            return _error(query, str(error))
        except Exception as error:
            return _error(query, f"{tool.__name__} failed: {type(error).__name__}: {error}"[:500])

    return run


def _short(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)[:_LONGEST_TEXT]


def _fitting(name: str, value: Any, default: Any) -> Any:
    """The value as the argument's kind; ValueError says which argument is what."""
    number_like = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, str):
        if not isinstance(value, str) and not number_like:
            raise ValueError(f"{name} must be a text, got {type(value).__name__}")
        text = str(value)  # a status code is searched for as text
        if len(text) > _LONGEST_TEXT:
            raise ValueError(f"{name} has {len(text)} characters; give a piece of {_LONGEST_TEXT}")
        return text
    if not number_like or not math.isfinite(value):
        raise ValueError(f"{name} must be a number, got {value!r}"[:200])
    return value
