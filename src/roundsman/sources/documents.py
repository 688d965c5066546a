"""Parts of JSON documents of other programs, which may lack anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def at(content: Any, *keys: str) -> Any:
    """What lies under these keys, or None where one of them is missing."""
    for key in keys:
        if not isinstance(content, Mapping):
            return None
        content = content.get(key)
    return content


def text(content: Any, *keys: str) -> str:
    """A text under these keys, or an empty one."""
    found = at(content, *keys)
    return found if isinstance(found, str) else ""


def rows(content: Any, *keys: str) -> list[Mapping[str, Any]]:
    """The objects of a list under these keys."""
    found = at(content, *keys)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
