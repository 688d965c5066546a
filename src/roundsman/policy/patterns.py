"""Patterns a policy brings: they run on RE2, whose time is linear in the text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]

_NESTED = re.compile(r"\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)?\)[+*{]")
LONGEST = 2_000
"""Characters of one pattern."""


def fault(pattern: str) -> str:
    """Why a pattern is refused; empty when it is fine.

    None can blow up here; one that would on other engines is a mistake all the same, and what RE2
    cannot do (look-around, back references) needs such an engine.
    """
    if len(pattern) > LONGEST:
        return f"has over {LONGEST} characters"
    if _NESTED.search(pattern):
        return (
            "a repetition inside a repetition takes exponential time on many engines; write it once"
        )
    try:
        compiled(pattern)
    except re2.error as error:
        said = error.args[0]
        text = said.decode() if isinstance(said, bytes) else str(said)
        return f"is not a pattern of RE2 ({text}): it knows no look-around and no back references"
    return ""


def compiled(pattern: str) -> Any:
    """The pattern on RE2, letters of any case.

    Raises:
        re2.error: it is none.
    """
    return re2.compile(pattern, _options())


def escaped(text: str) -> str:
    """A pattern for the text itself."""
    return str(re2.escape(text))


@lru_cache(maxsize=1)
def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    return options
