"""Tool layer: actions that need a person's word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from roundsman.guard.account import Account
from roundsman.guard.asking import exact_digest
from roundsman.guard.events import ActionBegins, Event
from roundsman.guard.verdicts import Kind, Verdict


@dataclass(frozen=True, slots=True)
class ApprovalNeeded:
    """These tools run only when a person has said yes to exactly this call.

    The yes is bound to the tool and the arguments it runs with, after every amendment; it serves
    once and expires (`expires` in seconds; None: never). What was denied stays denied in the run.
    """

    tools: frozenset[str]
    expires: float | None = None
    name: ClassVar[str] = "approval"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = frozenset({ActionBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, ActionBegins)
        if event.tool not in self.tools:
            return None
        try:
            digest = exact_digest(event.tool, event.args)
        except ValueError as error:
            why = f"{event.tool} needs a person's approval, and {error}"
            return Verdict(Kind.REFUSE, self.name, self.layer, why)
        if (denied := account.asks.denied.get(digest)) is not None:
            return Verdict(Kind.REFUSE, self.name, self.layer, f"{denied}; do not ask for it again")
        given = account.asks.approved.get(digest)
        if given is None or not given.holds(event.at):
            why = f"{event.tool} needs a person's approval"
            why += "" if given is None else f"; the one of {given.question} has expired"
            numbers = {"expires_s": self.expires or 0.0}
            return Verdict(Kind.ASK, self.name, self.layer, why, event=event, numbers=numbers)
        if event.approval == given.question:
            return None
        changed = replace(event, approval=given.question)
        return Verdict(Kind.AMEND, self.name, self.layer, "approved", event=changed)
