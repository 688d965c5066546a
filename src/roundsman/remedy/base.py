"""What a remedy is: one class that says what it would do, does it, and takes it back."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from roundsman.errors import UsageError
from roundsman.remedy.finding import Finding

Args = Mapping[str, Any]
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


class NotApplied(Exception):
    """Raised by `apply` before it has changed anything: the text says why, and nothing is undone."""


class Remedy(ABC):
    """One way to end a kind of trouble.

    What `call_for` returns are the arguments of the call a person approves; every other method is given
    them by name and names those it needs (`def apply(self, node, **rest)`). They must be JSON and say
    everything: what is not in them was not approved.

    `name`: small letters, digits and hyphens. `about`: what it does, in one line. `causes`: what it is
    for, in words. `effect`: as in a policy. `undoing`: what is done when it did not help, in one line.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    causes: ClassVar[str] = "any cause"
    effect: ClassVar[Literal["write", "destructive"]] = "write"
    undoing: ClassVar[str] = "it is undone"

    @abstractmethod
    def call_for(self, finding: Finding) -> Args | str:
        """The arguments of the one call this remedy would make for a finding; as text, why it does not
        fit. Looks at the world and changes nothing."""

    @abstractmethod
    def dry_run(self, *_: Any, **args: Any) -> Sequence[str]:
        """What would be done, exactly, a line a step. Changes nothing."""

    @abstractmethod
    def apply(self, *_: Any, **args: Any) -> str:
        """Do it; what was done, in one line.

        Raises:
            NotApplied: it was not begun, and nothing has changed.
            Exception: it failed on the way; `undo` is called.
        """

    @abstractmethod
    def undo(self, *_: Any, **args: Any) -> str:
        """Put back what `apply` changed, also when that went only half of the way; what was done, in one
        line, empty when nothing was to be undone. Any exception is told to a person as a failed roll back."""

    def resource(self, *_: Any, **args: Any) -> str:
        """What it touches: two remedies for one resource are never under way at once."""
        return f"{self.name} {args.get('service', '')}".strip()

    def was_applied(self, *_: Any, **args: Any) -> bool | None:
        """Whether the world looks as after `apply`, None when that cannot be told. Asked when a process
        died in the middle of `apply`, and after `undo`."""
        return None

    def was_undone(self, *_: Any, **args: Any) -> bool | None:
        """Whether all of `undo` was carried out, None when that cannot be told: a person is asked then.
        False has `undo` called again. Asked when a process died in the middle of `undo`. Otherwise the
        contrary of `was_applied`; say more when `undo` runs a command whose end the world does not show."""
        applied = self.was_applied(**args)
        return None if applied is None else not applied

    def state_now(self, *_: Any, **args: Any) -> str:
        """How the world is now, in one line, for a person who has to say whether an `apply` that was cut
        off was done; empty when nothing can be said. Changes nothing."""
        return ""

    def afterwards(self, *_: Any, **args: Any) -> str:
        """What is left to do when it has helped, in one line; empty when nothing is."""
        return ""

    def undo_by_hand(self, *_: Any, **args: Any) -> str:
        """What a person does when `undo` fails, in one line."""
        return f"put back by hand what {self.name} did"


def check_remedy(kind: Any, where: str) -> type[Remedy]:
    """The class, when it is a whole remedy.

    Raises:
        UsageError: naming `where` and what is missing.
    """
    if not isinstance(kind, type) or not issubclass(kind, Remedy):
        raise UsageError(f"{where} is no Remedy; write: class Mine(roundsman.remedy.Remedy)")
    missing = sorted(getattr(kind, "__abstractmethods__", ()))
    missing += [one for one in ("name", "about") if not isinstance(getattr(kind, one, None), str)]
    if missing:
        raise UsageError(f"{where} lacks {', '.join(missing)}; see docs/remedies.md")
    if not _NAME.fullmatch(kind.name) or len(kind.name) > 60:
        raise UsageError(
            f"{where}: the name {kind.name!r} must be small letters, digits and hyphens"
        )
    if kind.effect not in ("write", "destructive"):
        raise UsageError(f"{where}: the effect {kind.effect!r} must be write or destructive")
    return kind
