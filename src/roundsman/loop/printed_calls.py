"""Tool calls that a model printed as text instead of making them.

They are recognised so that they are never taken for findings, and handed to the caller, who may run
them as calls (through the guard, as any other) or ignore them. Reading one runs nothing.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_NAMES = ("name", "tool", "tool_name", "function", "function_name", "action", "recipient_name")
ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "tool_input", "action_input")
"""Names under which models give a call's arguments."""
_WRAPPERS = ("function_call", "tool_call", "function", "tool_calls", "step")
_TOOL_NAME = re.compile(r"[A-Za-z_][\w.:/-]{0,120}")
_CODE = re.compile(
    r"```tool_(?:code|call)s?\s*\n(.{0,4000}?)(?:```|\Z)|<\|python_tag\|>(.{0,4000})", re.DOTALL
)
_REACT = re.compile(
    r"^[ \t]*Action:[ \t]*([\w.:/-]{1,120})[ \t]*\r?\n[ \t]*Action Input:[ \t]*(\{.{0,4000}\})?",
    re.MULTILINE,
)
_TAGGED = re.compile(r"<function=([\w.:/-]{1,120})>\s*(\{.{0,4000}?\})?\s*</function>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PrintedCall:
    """A tool call as printed: the tool's name and its arguments, both unchecked."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)


def as_call(value: Any) -> PrintedCall | None:
    """The call an object stands for, or None.

    Known forms: name and arguments side by side under the usual names, the same inside `function`,
    `function_call`, `step` (the form `--tools prompted` asks for) or the only entry of `tool_calls`;
    arguments may be JSON in a string.
    """
    if not isinstance(value, Mapping):
        return None
    for wrapper in _WRAPPERS:
        inner = value.get(wrapper)
        if isinstance(inner, list) and len(inner) == 1:
            inner = inner[0]
        if isinstance(inner, Mapping):
            return as_call(inner)
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if name is None or not _TOOL_NAME.fullmatch(name):
        return None
    found = [key for key in ARGUMENTS if key in value]
    if not found:
        return None
    args = value[found[0]]
    if isinstance(args, str):
        args = _mapping(args)
    if args is None:
        args = {}
    if not isinstance(args, Mapping):
        return None
    return PrintedCall(name, {str(key): item for key, item in args.items()})


def calls_in_text(text: str, tools: Sequence[str] = ()) -> list[PrintedCall]:
    """Calls printed in other forms than an object: tags, `Action:` lines, code blocks.

    `name(arg=...)` elsewhere in the text is a call only when `name` is one of `tools`, or when the
    whole text is nothing else. The first form that gives any is taken.
    """
    named = [*_TAGGED.finditer(text)] or [*_REACT.finditer(text)]
    if named:
        return [PrintedCall(match[1], _mapping(match[2] or "") or {}) for match in named]
    blocks = [match[1] or match[2] or "" for match in _CODE.finditer(text)]
    lines = [line for block in blocks for line in block.splitlines()]
    forms: list[list[str]] = [lines, [text]]
    if tools:
        names = "|".join(map(re.escape, sorted(tools, key=len, reverse=True)))
        pattern = rf"(?<![\w.])(?:{names})\([^()\n]{{0,1000}}\)"
        forms.append(re.findall(pattern, text))
    for form in forms:
        calls = [call for line in form if (call := python_call(line)) is not None]
        if calls:
            return calls
    return []


def python_call(line: str) -> PrintedCall | None:
    """`name(arg="x", n=5)`, also inside `print(...)`; None when the line is anything else."""
    line = line.strip()
    if len(line) > 4000 or not line.endswith(")") or not _TOOL_NAME.match(line):
        return None
    try:
        node = ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if isinstance(node, ast.Call) and _dotted(node.func) == "print" and len(node.args) == 1:
        node = node.args[0]
    if not isinstance(node, ast.Call) or node.args:
        return None
    name = _dotted(node.func)
    if name is None:
        return None
    args: dict[str, Any] = {}
    for keyword in node.keywords:
        try:
            args[keyword.arg or ""] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return None
    return None if "" in args else PrintedCall(name, args)


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr  # default_api.query_logs(...)
    return None


def _mapping(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
