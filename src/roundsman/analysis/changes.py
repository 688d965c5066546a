"""What changes have to do with what moved: names and lines compared by their telling words."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: words too common in telemetry to connect two names
_COMMON_TEXT = """
the and for from with not are was max min size count total number num rate avg sum value name
level info error errors fatal failed fail warn log http https server service app api com net
seconds second bytes ratio percent per time new old true false null none default config env
version request requests response prod main update add fix feat chore
"""
_COMMON = frozenset(_COMMON_TEXT.split())


def words(text: str) -> set[str]:
    """The telling words of a name or a line, lower case, plural -s cut, three letters or more."""
    found = (word.lower() for word in _WORD.findall(text))
    return {w[:-1] if len(w) > 4 and w.endswith("s") else w for w in found} - _COMMON - {""}


def shared_words(left: str, right: Iterable[str]) -> list[str]:
    """Words of three letters or more that a changed key shares with any of the given names."""
    mine = {word for word in words(left) if len(word) > 2}
    other: set[str] = set()
    for text in right:
        other |= words(text)
    return sorted(mine & other)
