"""In which languages a text may be, told by its words (py3langid, extra `languages`, data in the package).

After Lui and Baldwin, "langid.py: An Off-the-shelf Language Identification Tool" (ACL 2012): naive Bayes
over byte n-grams.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from roundsman.errors import MissingDependency, PolicyError
from roundsman.guard.checks.base import Hit
from roundsman.guard.checks.text import Text

SHORTEST = 25
"""Characters below which words tell too little: such a text passes."""
MARGIN = 20.0
"""How much likelier another language must be than any allowed one (logarithm of the odds): lists, names
and codes lean somewhere by chance."""
_MOST = 4_000
"""Characters that are looked at."""


class Languages:
    """A text that is in none of some languages (ISO 639-1 codes, such as `en`).

    Raises:
        MissingDependency: py3langid is not installed.
        PolicyError: a code it does not know.
    """

    needs_the_whole: ClassVar[bool] = True

    def __init__(self, name: str, allowed: tuple[str, ...]) -> None:
        known = {str(code) for code, _ in _detector().rank("")}
        if unknown := [code for code in allowed if code not in known]:
            raise PolicyError(
                f"conversation.checks.{name}.languages: {', '.join(unknown)} unknown; "
                f"known: {', '.join(sorted(known))}"
            )
        self._allowed = allowed

    def find(self, text: Text) -> Iterator[Hit]:
        """The whole text, when it is in another language."""
        plain = " ".join(text.raw.split())[:_MOST]
        if len(plain) < SHORTEST:
            return
        scores = {str(code): float(score) for code, score in _detector().rank(plain)}
        best = max(scores, key=lambda code: scores[code])
        if scores[best] - max(scores[code] for code in self._allowed) > MARGIN:
            yield Hit(0, len(text.raw), f"language {best}")


@cache
def _detector() -> Any:
    try:
        return import_module("py3langid")  # 0.4 s: only who asks for it pays
    except ImportError as error:
        raise MissingDependency(
            "languages need py3langid; install it with: pip install 'roundsman[languages]'"
        ) from error
