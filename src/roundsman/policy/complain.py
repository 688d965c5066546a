"""Validation errors as lines a person can act on."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from roundsman.errors import PolicyError
from roundsman.policy.model import PRESETS, RULE_NAMES, PolicyFile
from roundsman.policy.nodes import Document, Path

_ACCEPTED = {
    "int_type": "a whole number above 0",
    "int_from_float": "a whole number above 0",
    "int_parsing_size": "a whole number above 0",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "list_type": "a list, such as [a, b]",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}


def refusal(
    err: ValidationError, doc: Document, data: Mapping[str, Any], said: Mapping[Path, Any]
) -> PolicyError:
    """All errors, each as `file:line: what is wrong; the way out`, in the order of the file."""
    errors = err.errors()
    # a typo also leaves the real key missing: the typo is what to say
    typos = {e["loc"][:-1] for e in errors if e["type"] == "extra_forbidden"}
    errors = [e for e in errors if e["type"] != "missing" or e["loc"][:-1] not in typos]
    lines = [(*_place(_path(e), doc, said, _is_key(e)), _sentence(e, data)) for e in errors]
    lines.sort(key=lambda entry: entry[1])
    texts = tuple(dict.fromkeys(f"{source}:{line}: {text}" for source, line, text in lines))
    more = f" (and {len(texts) - 1} more)" if len(texts) > 1 else ""
    return PolicyError(f"{texts[0]}{more}", texts)


_INSTEAD_OF_ZERO = {
    "loop.max_rounds": "a run without rounds is an app without loop_until_done; null is no limit",
    "loop.stop_after_idle_rounds": "1 stops at the first idle round; null never does",
    "run.tokens": "a run without model calls has nothing to bound; null is no limit",
    "run.steps": "a run without model calls has nothing to bound; null is no limit",
    "round.steps": "a round without a model call cannot answer; null is no limit",
    "agents.max_depth": "1 lets no agent call another; null is no limit",
    "repetition.limit": "mode: off takes the rule away",
    "repetition.window": "mode: off takes the rule away",
}
"""What to write where a zero has no meaning."""

_SYNONYMS = {
    "preset": "extends",
    "presets": "extends",
    "base": "extends",
    "inherit": "extends",
    "inherits": "extends",
    "import": "extends",
    "include": "extends",
}
"""Words for a top-level key that no spelling leads from."""


def _is_key(error: ErrorDetails) -> bool:
    return error["type"] == "extra_forbidden" or error["loc"][-1:] == ("[key]",)


def _path(error: ErrorDetails) -> Path:
    loc = error["loc"]
    return loc[:-1] if loc[-1:] == ("[key]",) else loc


def _place(path: Path, doc: Document, said: Mapping[Path, Any], key: bool) -> tuple[str, int]:
    while path:
        if path in said:
            source, line = said[path]
            return source, line
        table = doc.keys if key else doc.values
        if path in table:
            return doc.source, table[path]
        path = path[:-1]
    return doc.source, 1


def _sentence(error: ErrorDetails, data: Mapping[str, Any]) -> str:
    path, kind = _path(error), error["type"]
    name = ".".join(str(p) for p in path)
    if error["loc"][-1:] == ("[key]",):
        if path[0] == "rules":
            return unknown_key(str(path[-1]), path[:-1], RULE_NAMES)
        return f"an empty key in {'.'.join(map(str, path[:-1]))}; give it a name"
    if kind == "extra_forbidden":
        return unknown_key(str(path[-1]), path[:-1], _keys_at(path[:-1]))
    if kind == "missing":
        parent = ".".join(str(p) for p in path[:-1])
        return f"{parent} has no {path[-1]!r}; add it"
    shown = _shown(error["input"])
    if path == ("extends",):
        return f"extends is {shown}; accepted: a preset ({', '.join(PRESETS)}) or a file"
    context = error.get("ctx", {})
    if kind == "value_error":
        reason = str(context["error"])
        if not reason.startswith("accepted"):
            return (
                f"{name} {reason}"
                if isinstance(error["input"], dict)
                else (f"{name} is {shown}, which {reason}")
            )
        return f"{name} is {shown}; {reason}"
    if kind == "literal_error":
        accepted = str(context["expected"])
        values = accepted.replace(" or ", ", ").split(", ")
        if isinstance(error["input"], str) and error["input"] in values:  # a number as text
            return f"{name} is {shown}; accepted: {accepted}, without quotes"
        texts = [v.strip("'") for v in values if v.startswith("'")]
        near = get_close_matches(str(error["input"]).lower(), texts, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"{name} is {shown}; accepted: {accepted}{hint}"
    if kind == "greater_than":
        instead = _INSTEAD_OF_ZERO.get(name, "null or leaving it out is no limit")
        return f"{name} is {shown}; accepted: above 0 ({instead})"
    if kind == "greater_than_equal":
        return f"{name} is {shown}; accepted: 0 or above"
    if kind == "less_than_equal":
        return f"{name} is {shown}; accepted: at most {context['le']:,}"
    accepted = _ACCEPTED.get(kind, error["msg"])
    if kind == "model_type" and (keys := _keys_at(path)):
        accepted = f"a mapping with {', '.join(keys)} ({{}} for none)"
    return f"{name} is {shown}; accepted: {accepted}"


def unknown_key(key: str, parent: Path, known: tuple[str, ...]) -> str:
    """`unknown key 'max_round' in loop; did you mean 'max_rounds'?`"""
    where = ".".join(str(p) for p in parent)
    text = f"unknown key {_shown(key)}" + (f" in {where}" if where else "")
    folded = key.strip().lower().replace("-", "_").replace(" ", "_")
    near = get_close_matches(folded, known, n=1)
    if not parent and folded in _SYNONYMS:
        return f"{text}; did you mean {_SYNONYMS[folded]!r}?"
    if folded not in known and (homes := [h for h in _homes(folded) if h != where]):
        return f"{text}; did you mean {' or '.join(f'{home}.{folded}' for home in homes)}?"
    if near:
        return f"{text}; did you mean {near[0]!r}?"
    return f"{text}; known: {', '.join(known)}"


def _homes(key: str) -> list[str]:
    """The sections that have a key of exactly this name."""
    return [
        section
        for section, info in PolicyFile.model_fields.items()
        if (model := _model_in(info.annotation)) is not None
        and isinstance(info.annotation, type)
        and key in model.model_fields
    ]


def _keys_at(path: Path) -> tuple[str, ...]:
    model: type[BaseModel] = PolicyFile
    parts = iter(path)
    for part in parts:
        annotation = model.model_fields[str(part)].annotation
        if get_origin(annotation) in (dict, list):
            next(parts, None)  # a name of the user's own (tool, argument, model) or an index
        model = _model_in(annotation) or model
    return tuple(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(arg) for arg in get_args(annotation))
    return next((m for m in found if m is not None), None)


def _shown(value: Any) -> str:
    if value is None:
        return "empty (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
