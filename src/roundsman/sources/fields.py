"""Fields that go by many names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def first_of(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The value of the first of these keys that holds one (null and the empty text do not count)."""
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)
