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
        why = f"{event.tool} needs a person's approval"
        return persons_word(account, event, why, self.expires, self.name)


def persons_word(
    account: Account,
    event: ActionBegins,
    why: str,
    expires: float | None,
    rule: str,
    layer: str = "tool",
) -> Verdict | None:
    """What a rule says of an action that needs a yes to exactly this call: Ask, Refuse when it was
    denied or cannot be shown exactly, Amend to the call with its approval, None when it has it."""
    try:
        digest = exact_digest(event.tool, event.args)
    except ValueError as error:
        return Verdict(Kind.REFUSE, rule, layer, f"{why}, and {error}")
    if (denied := account.asks.denied.get(digest)) is not None:
        return Verdict(Kind.REFUSE, rule, layer, f"{denied}; do not ask for it again")
    given = account.asks.approved.get(digest)
    if given is None or not given.holds(event.at):
        why += "" if given is None else f"; the one of {given.question} has expired"
        numbers = {"expires_s": expires or 0.0}
        return Verdict(Kind.ASK, rule, layer, why, event=event, numbers=numbers)
    if event.approval == given.question:
        return None
    changed = replace(event, approval=given.question)
    return Verdict(Kind.AMEND, rule, layer, "approved", event=changed)
