"""Tool calls for a model that makes none by itself: each reply is constrained by a JSON schema to one
call or the round's answer, and turned into an ordinary call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.genai import types

from roundsman.loop import read_answer
from roundsman.loop.schema import fit

ARGUMENT, STATEMENT, WORD, FINDINGS = 120, 240, 80, 6
"""Longest text of an argument, a statement and another member, in characters, and most findings: a
small model that may write an endless string does (13 of 30 tries, notes of the measurement)."""
_DESCRIBED = 700


def _text(most: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": most}


ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "findings": {
            "type": "array",
            "maxItems": FINDINGS,
            "items": {
                "type": "object",
                "properties": {
                    "statement": _text(STATEMENT),
                    "evidence": {"type": "array", "maxItems": FINDINGS, "items": _text(12)},
                    "role": {"enum": ["cause", "symptom", "change", "ruled_out"]},
                    "service": _text(WORD),
                    "kind": _text(WORD),
                    "change": _text(WORD),
                    "since": _text(40),
                },
                "required": ["statement", "evidence"],
            },
        },
        "done": {"type": "boolean"},
    },
    "required": ["findings", "done"],
}


def declared_in(tools: Iterable[Any] | None) -> list[types.FunctionDeclaration]:
    """The functions a request offers."""
    found: list[types.FunctionDeclaration] = []
    for tool in tools or []:
        found += [d for d in getattr(tool, "function_declarations", None) or [] if d.name]
    return found


def arguments_of(declaration: types.FunctionDeclaration) -> dict[str, Any]:
    """The JSON schema of a function's arguments, in lower-case types; texts have a limit."""
    schema = declaration.parameters_json_schema
    if schema is None and declaration.parameters is not None:
        schema = declaration.parameters.model_dump(exclude_none=True, by_alias=True, mode="json")
    schema = _bounded(schema if isinstance(schema, Mapping) else {})
    return {"type": "object", "properties": {}, **schema}


def _bounded(schema: Any) -> Any:
    """Lower-case types, a limit for every text, without words a grammar has no use for."""
    if isinstance(schema, list):
        return [_bounded(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "type" and isinstance(value, str):
            out[key] = value.lower()
        elif key == "properties" and isinstance(value, Mapping):
            out[key] = {str(name): _bounded(inner) for name, inner in value.items()}
        elif key in ("items", "anyOf", "oneOf", "allOf", "$defs"):
            out[key] = _bounded(value)
        elif key in ("required", "enum", "const", "minimum", "maximum", "maxLength", "$ref"):
            out[key] = value
    if out.get("type") == "string" and "enum" not in out:
        out["maxLength"] = min(ARGUMENT, int(out.get("maxLength") or ARGUMENT))
    return out


def step_schema(declarations: Sequence[types.FunctionDeclaration]) -> dict[str, Any]:
    """One step: a call of one of the tools, its arguments typed as declared, or the answer."""
    calls = [
        {
            "type": "object",
            "properties": {"tool": {"enum": [d.name]}, "args": _or_null(arguments_of(d))},
            "required": ["tool", "args"],
        }
        for d in declarations
    ]
    step = {"anyOf": [*calls, ANSWER]} if calls else ANSWER
    # servers that follow OpenAI's rules want an object without choices at the root
    return {
        "title": "step",
        "type": "object",
        "properties": {"step": step},
        "required": ["step"],
    }


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Strict servers make every member required: what may be left out may be null instead."""
    needed = schema.get("required") or []
    members = {
        name: inner if name in needed else {"anyOf": [inner, {"type": "null"}]}
        for name, inner in schema["properties"].items()
    }
    return {**schema, "properties": members}


def told(declarations: Sequence[types.FunctionDeclaration]) -> str:
    """What the instruction says of the tools and of the form of a step."""
    lines = [
        'Each reply is one JSON object: a tool call {"step": {"tool": NAME, "args": {...}}}, or the '
        'round\'s answer {"step": {"findings": [...], "done": true or false}}. Never repeat a call '
        "whose result is above. The tools:"
    ]
    for one in declarations:
        members = arguments_of(one)["properties"]
        names = ", ".join(f"{n}: {m.get('type', 'any')}" for n, m in members.items())
        about = " ".join((one.description or "").split())[:_DESCRIBED]
        lines.append(f"- {one.name}({names}): {about}")
    return "\n".join(lines)


def as_talk(contents: Sequence[types.Content]) -> list[types.Content]:
    """Calls and results as plain talk, in the form the model is asked for."""
    out: list[types.Content] = []
    for content in contents:
        parts, results = [], []
        for part in content.parts or []:
            if part.function_call is not None:
                step = {"tool": part.function_call.name, "args": part.function_call.args or {}}
                parts.append(types.Part(text=json.dumps({"step": step}, default=str)))
            elif part.function_response is not None:
                said = json.dumps(part.function_response.response, default=str)
                text = f"Result of {part.function_response.name}: {said}"
                results.append(types.Part(text=text))
            else:
                parts.append(part)
        if parts:
            out.append(types.Content(role=content.role, parts=parts))
        if results:
            out.append(types.Content(role="user", parts=results))
    return out


def read_step(
    text: str, declarations: Sequence[types.FunctionDeclaration]
) -> types.FunctionCall | str:
    """The call a reply stands for, or the text of its answer.

    A reply that is not in the form (a server that does not hold a model to the schema) is read
    tolerantly: an answer first, else the first printed call of a tool that is on offer.
    """
    by_name = {d.name: d for d in declarations}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    step = value.get("step", value) if isinstance(value, dict) else None
    if isinstance(step, dict):
        name = step.get("tool")
        if isinstance(name, str) and name in by_name:
            return _call(by_name[name], step.get("args"))
        if "findings" in step:
            return json.dumps(step)
    answer = read_answer(text, [str(name) for name in by_name])
    if not answer.claims and not answer.done:
        for call in answer.calls:
            if call.name in by_name:
                return _call(by_name[call.name], call.args)
    return text


def printed_in(text: str, declarations: Sequence[types.FunctionDeclaration]) -> str:
    """Names of the tools on offer of which a text prints calls, in its order, with commas."""
    known = [str(d.name) for d in declarations]
    calls = read_answer(text, known).calls if text and known else ()
    return ", ".join(dict.fromkeys(call.name for call in calls if call.name in known))


def _call(declaration: types.FunctionDeclaration, args: Any) -> types.FunctionCall:
    """Null is "left out"; values take the declared type where they have one meaning in it."""
    given = {str(k): v for k, v in args.items() if v is not None} if isinstance(args, dict) else {}
    schema = arguments_of(declaration)
    fitted, _ = fit(given, {"type": "object", "properties": schema["properties"]})
    # what does not fit is passed on as it is: the tool says what is wrong with it
    return types.FunctionCall(name=declaration.name, args={**given, **fitted})
