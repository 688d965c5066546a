"""Model and tool layer: what one agent of the tree may use of the budget of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from roundsman.guard.account import Account, Share
from roundsman.guard.events import ActionBegins, Event, StepBegins
from roundsman.guard.rules.budgets import dollar_room, fresh_prompt, grant, room_for
from roundsman.guard.verdicts import Kind, Verdict


@dataclass(frozen=True, slots=True)
class ShareLimit:
    """Most of each an agent may use, all its starts in the run together; None is no limit."""

    tokens: int | None = None
    usd: float | None = None
    steps: int | None = None
    actions: int | None = None


@dataclass(frozen=True, slots=True)
class Shares:
    """An agent that has used its share up is cut: it ends with an empty answer, and the others go
    on. A tool it asks for beyond its share is refused. Tokens and dollars are reserved as the
    budgets of the tree are (not under `accounting: settle`)."""

    limits: Mapping[str, ShareLimit]
    reserve: bool
    free_cached: bool = False
    name: ClassVar[str] = "shares"
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset({StepBegins.kind, ActionBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, (StepBegins, ActionBegins))
        limit = self.limits.get(event.agent)
        if limit is None:
            return None
        share = account.shares.get(event.agent, Share())
        if isinstance(event, ActionBegins):
            if limit.actions is None or share.actions < limit.actions:
                return None
            why = self._used(event.agent, share.actions, limit.actions, "actions")
            return Verdict(Kind.REFUSE, self.name, "tool", why, numbers={"limit": limit.actions})
        if limit.steps is not None and share.steps >= limit.steps:
            return self._cut(event, share.steps, limit.steps, "steps")
        return self._tokens(account, event, share, limit) or self._usd(account, event, share, limit)

    def _tokens(
        self, account: Account, event: StepBegins, share: Share, limit: ShareLimit
    ) -> Verdict | None:
        if limit.tokens is None:
            return None
        spent = share.tokens - (share.cached if self.free_cached else 0)
        if not self.reserve:
            over = spent >= limit.tokens
            return self._cut(event, spent, limit.tokens, "tokens") if over else None
        promised = sum(r.tokens for r in account.reserved.values() if r.agent == event.agent)
        left = limit.tokens - spent - fresh_prompt(event, share, self.free_cached)
        room = room_for(left, promised, event.max_output_tokens)
        if room.most is None:
            return self._cut(event, spent, limit.tokens, "tokens", room.wait)
        why = self._used(event.agent, spent, limit.tokens, "tokens")
        return grant(event, room.most, self.name, lambda: why, {"limit": limit.tokens})

    def _usd(
        self, account: Account, event: StepBegins, share: Share, limit: ShareLimit
    ) -> Verdict | None:
        if limit.usd is None:
            return None
        if event.prices is None:
            why = f"the price of {event.model!r} is unknown and agent {event.agent!r} has a share "
            why += "in dollars; declare it under prices:"
            return Verdict(Kind.STOP, self.name, self.layer, why, "usd")
        promised = sum(r.usd for r in account.reserved.values() if r.agent == event.agent)
        room = dollar_room(event, limit.usd - share.usd, promised)
        if room is None:
            return None
        if room.most is None:
            return self._cut(event, round(share.usd, 4), limit.usd, "usd", room.wait)
        why = self._used(event.agent, round(share.usd, 4), limit.usd, "usd")
        return grant(event, room.most, self.name, lambda: why, {"limit": limit.usd})

    def _cut(
        self, event: StepBegins, used: float, limit: float, what: str, wait: bool = False
    ) -> Verdict:
        why = self._used(event.agent, used, limit, what)
        numbers = {"limit": limit, "spent": used}
        return Verdict(Kind.CUT, self.name, self.layer, why, what, None, numbers, wait=wait)

    @staticmethod
    def _used(agent: str, used: float, limit: float, what: str) -> str:
        return f"agent {agent!r} used {used:,} of the {limit:,} {what} of its share"
