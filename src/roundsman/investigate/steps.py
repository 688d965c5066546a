"""One step of an analysis that may fail for itself: what failed is remembered, the others go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, TypeVar

from roundsman.sources.patience import CalledOff
from roundsman.sources.protocols import Source, Unseen

Made = TypeVar("Made")

_LONGEST = 200


def attempt(broken: MutableMapping[str, str], what: str, make: Callable[[], Made]) -> Made | None:
    """What `make` gives; when it raises, None, and why under `what` in `broken` (the first time).

    A step that fails must neither be taken for one that found nothing nor cost what the others found:
    whoever calls this shows `broken` to the reader.
    """
    try:
        return make()
    except CalledOff:
        raise
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        broken.setdefault(what, f"it failed: {why}"[:_LONGEST])
        return None


def as_unseen(broken: Mapping[str, str]) -> list[dict[str, Any]]:
    """Steps that failed, in the form a report lists what was not seen."""
    return [{"what": what, "why": why, "count": 1} for what, why in broken.items()]


def noted(source: Source, what: str, make: Callable[[], Made]) -> Made | None:
    """The same for a step inside a tool: what failed becomes a note of the source, so the report has it."""
    broken: dict[str, str] = {}
    made = attempt(broken, what, make)
    for name, why in broken.items():
        source.note(Unseen(name, why))
    return made
