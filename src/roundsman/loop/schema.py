"""A read object in the types of a JSON Schema: what has one meaning is converted, the rest left out.

Models write `"17"` for 17, `"true"` for true, one item for a list of one, 3.0 for 3. Those are
converted where the schema says so. A value that does not fit (`"4h"` for a number, a word that is
not in `enum`) is left out and named, so that nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_INTEGER = re.compile(r"[-+]?\d{1,400}")
_DECIMAL = re.compile(r"[-+]?(?:\d{1,400}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
_WRONG: Any = object()
_DEEPEST = 50


def fit(value: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """(the object in the schema's types, the places that did not fit and were left out).

    Understands `type`, `properties`, `items`, `enum`, `required`; other words of the schema are not
    looked at. A place is written `findings[0].value`; a required name that is missing counts as one.
    """
    wrong: list[str] = []
    fitted = _fit(value, schema, "", wrong, 0)
    return (fitted if isinstance(fitted, dict) else {}), wrong


def _fit(value: Any, schema: Mapping[str, Any], place: str, wrong: list[str], depth: int) -> Any:
    if depth > _DEEPEST:
        return value
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else []
    kind = _kind(value)
    if kinds and kind not in kinds and not (kind == "integer" and "number" in kinds):
        value = next((v for v in (_as(value, one) for one in kinds) if v is not _WRONG), _WRONG)
    allowed = schema.get("enum")
    if value is _WRONG or (isinstance(allowed, list) and value not in allowed):
        wrong.append(place or "the object")
        return _WRONG
    if isinstance(value, Mapping):
        return _members(value, schema, place, wrong, depth)
    items = schema.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        rows = (_fit(v, items, f"{place}[{n}]", wrong, depth + 1) for n, v in enumerate(value))
        return [row for row in rows if row is not _WRONG]
    return value


def _members(
    value: Mapping[str, Any], schema: Mapping[str, Any], place: str, wrong: list[str], depth: int
) -> dict[str, Any]:
    known = schema.get("properties")
    known = known if isinstance(known, Mapping) else {}
    out: dict[str, Any] = {}
    for name, item in value.items():
        inner = known.get(name)
        where = f"{place}.{name}" if place else str(name)
        if isinstance(inner, Mapping):
            item = _fit(item, inner, where, wrong, depth + 1)
        if item is not _WRONG:
            out[name] = item
    required = schema.get("required")
    for name in required if isinstance(required, list) else []:
        if name not in value:
            wrong.append(f"{place}.{name}" if place else str(name))
    return out


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def _as(value: Any, kind: str) -> Any:
    """The value in another type when that has one meaning."""
    if isinstance(value, str):
        word = value.strip()
        if kind == "integer" and _INTEGER.fullmatch(word):
            return int(word)
        if kind == "number" and _DECIMAL.fullmatch(word):
            number = float(word)
            return _WRONG if number in (float("inf"), float("-inf")) else number
        if kind == "boolean" and word.casefold() in ("true", "false"):
            return word.casefold() == "true"
        if kind == "null" and word.casefold() in ("null", "none", ""):
            return None
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if kind == "array" and value is not None and not isinstance(value, list):
        return [value]
    return _WRONG
