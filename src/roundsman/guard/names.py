"""Names of tools and arguments: the same name, or one that only looks like it.

A rule names a tool exactly. What differs from a named tool only in case, blanks, separators or
look-alike letters is neither that tool nor one nobody spoke of, so it must not slip between.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_DROPPED = re.compile(r"[\s_\-./:]+")
LOOK_ALIKES = str.maketrans(
    {
        **dict(zip("авсԁеɡһніјкӏмпоԛрѕтԝхуь", "abcdeghhijklmnoqpstwxyb", strict=True)),
        **dict(zip("αβԑεηικνορτυχγωζ", "abeenikvoptuxywz", strict=True)),
    }
)
"""Cyrillic and Greek letters, each by the Latin letter it looks like."""
_ALIKE = LOOK_ALIKES | str.maketrans({**dict.fromkeys("1i|іι", "l"), "0": "o"})
"""The same, and Latin letters that look like each other."""


def plain(name: str) -> bool:
    """Whether the name has only visible ASCII characters, as model providers ask of tool names."""
    return bool(name) and all("!" <= c <= "~" for c in name)


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """The name as an eye takes it in: names of one skeleton can be mistaken for each other.

    After Unicode's own idea of a skeleton (UTS 39), with a table for Latin, Cyrillic and Greek
    letters only; what is outside of it is caught by `plain`.
    """
    text = unicodedata.normalize("NFKD", name).casefold()
    kept = (c for c in text if unicodedata.category(c) not in ("Cf", "Cc", "Mn", "Me"))
    return _DROPPED.sub("", "".join(kept)).translate(_ALIKE)
