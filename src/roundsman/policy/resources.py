"""Resource keys: what a call touches, told from its arguments.

A template is text with `{argument}` in it: `cluster`, `{service}`, `db/{region}/{name}`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Any

_PIECE = re.compile(r"\{([^{}]*)\}")
MOST_KEYS = 64
"""A call that names more resources than this counts as touching everything."""


@cache
def pieces(template: str) -> tuple[str, ...]:
    """The template taken apart: text, argument, text, argument ... text.

    Raises:
        ValueError: a brace that does not enclose an argument's name.
    """
    parts = _PIECE.split(template)
    if any("{" in text or "}" in text for text in parts[::2]):
        raise ValueError(f"has a lone brace in {template!r}; write {{argument}}")
    for name in parts[1::2]:
        if not name.isidentifier():
            raise ValueError(
                f"has {{{name}}} in {template!r}; write an argument's name, {{service}}"
            )
    return tuple(parts)


def keys_of(template: str | None, args: Mapping[str, Any]) -> frozenset[str] | None:
    """Keys of a call: one, or one for each member of an argument that is a list.

    None means everything: no template, an argument that is absent, empty or not told apart by
    its text (an object, say). Case, outer blanks and look-alike forms do not make another key: to
    wait once too often is harmless, to miss a clash is not.
    """
    if template is None:
        return None
    parts = pieces(template)
    values = [_texts(args.get(name)) for name in parts[1::2]]
    count = 1
    for choices in values:
        count *= len(choices)
    if not 0 < count <= MOST_KEYS:
        return None
    texts = parts[::2]
    return frozenset(
        _normal(texts[0] + "".join(v + t for v, t in zip(chosen, texts[1:], strict=True)))
        for chosen in product(*values)
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, list | tuple | set | frozenset):
        inner = [_texts(v) if not isinstance(v, list | tuple) else [] for v in value]
        return [] if any(not texts for texts in inner) else [t for texts in inner for t in texts]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return []
    if isinstance(value, int) and abs(value) > 10**18:  # a huge one has no text at all
        return []
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    return [text] if text else []


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
