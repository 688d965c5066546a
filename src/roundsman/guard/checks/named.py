"""A check of the user's own: a function or a class, by its name in the policy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from roundsman.errors import PolicyError
from roundsman.guard.checks.base import Check, Hit
from roundsman.guard.checks.text import Text


@dataclass(frozen=True)
class FunctionCheck:
    """A function of a text that returns what it has against it: nothing (None, False), a word for it
    (or True), or the stretches as (start, end) or (start, end, kind)."""

    name: str
    function: Callable[[str], Any]

    def find(self, text: Text) -> Iterator[Hit]:
        """What the function says, as hits."""
        said = self.function(text.raw)
        if said is None or said is False:
            return
        if said is True or isinstance(said, str):
            yield Hit(0, len(text.raw), said if isinstance(said, str) else self.name)
            return
        for start, end, *kind in said:
            yield Hit(start, end, kind[0] if kind else self.name)


def named(name: str, path: str) -> Check:
    """The check at `package.module:name`, known in reports as `name`.

    Raises:
        PolicyError: there is none.
    """
    module, _, attribute = path.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PolicyError(f"conversation.checks.{name}.python: {path}: {error}") from None
    if isinstance(found, type):
        made: Check = found()
        if not callable(getattr(made, "find", None)):
            raise PolicyError(f"conversation.checks.{name}.python: {path} has no method find(text)")
        return made
    if not callable(found):
        raise PolicyError(f"conversation.checks.{name}.python: {path} is no function and no class")
    return FunctionCheck(name, found)
