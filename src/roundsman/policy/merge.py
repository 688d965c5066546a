"""Deep merging: mappings key by key, anything else replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from roundsman.errors import PolicyError
from roundsman.policy.model import Policy, Tools


def merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` on top of `under`; neither is changed."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(below, value) if both else value  # type: ignore[arg-type]
    return merged


def over_declaration(policy: Policy, declared: Mapping[str, Any]) -> Policy:
    """`policy` with its own tools section laid over what the app declares."""
    section = declared if set(declared) <= {"default", "allow"} else {"allow": declared}
    base = {"default": "refuse", **_plain(section)}
    # only what was written counts: an effect left out by the user stays the app's
    own = policy.tools.model_dump(exclude_unset=True)
    try:
        tools = Tools.model_validate(merge(base, own))
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(str(p) for p in ("tools", *first["loc"]))
        raise PolicyError(f"declared tools: {where}: {first['msg']}") from None
    return policy.model_copy(update={"tools": tools})


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return value
