"""Tools in a request that do not come back as a call: the provider runs them, or its SDK does."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from google.genai import types


def withheld(tools: Sequence[Any], declared: Container[str]) -> tuple[list[Any], list[str]]:
    """(what stays of `tools`, the names of what does not).

    A `types.Tool` keeps its function declarations, whose calls come back, and of what runs at the
    provider what is `declared` by its field's name. Anything else is a function or a session that
    the SDK would use by itself; it stays only when it is declared by name.
    """
    kept, held = list[Any](), list[str]()
    for tool in tools:
        if not isinstance(tool, types.Tool):
            name = str(getattr(tool, "__name__", None) or type(tool).__name__)
            (kept if name in declared else held).append(tool if name in declared else name)
            continue
        fields = tool.model_fields_set - {"function_declarations"}
        out = sorted(f for f in fields if getattr(tool, f) is not None and f not in declared)
        held += out
        if out:
            tool = tool.model_copy(update=dict.fromkeys(out))
        if not out or tool.model_dump(exclude_none=True):
            kept.append(tool)
    return kept, held
