"""Loop and model layer: tokens, dollars, steps, actions and time of the whole tree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from roundsman.guard.account import Account
from roundsman.guard.events import ActionBegins, Event, RoundBegins, StepBegins
from roundsman.guard.verdicts import Kind, Verdict

SMALLEST_REPLY = 16
"""Output tokens below which a reply cannot say anything; less than this left is nothing left."""

ROOMY_REPLY = 4096
"""A request without a limit of its own that is given this much or more was not really shrunk."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Tokens of the tree.

    `reserve`: what is spent plus what is promised to calls in flight never passes the budget; the
    most output of a request is lowered to what is left, and a request whose prompt alone does not
    fit is cut. Otherwise the reference's plain rule: spent >= budget ends the next step or round.
    """

    limit: int
    reserve: bool
    name: ClassVar[str] = "tokens"
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset({RoundBegins.kind, StepBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        spent = account.tokens
        numbers = {"limit": self.limit, "spent": spent}
        why = f"{spent:,} of {self.limit:,} tokens spent"
        if isinstance(event, RoundBegins):
            if spent < self.limit:
                return None
            return Verdict(Kind.STOP, self.name, "loop", why, "tokens", None, numbers)
        assert isinstance(event, StepBegins)
        if not self.reserve:
            if spent < self.limit:
                return None
            return Verdict(Kind.CUT, self.name, self.layer, why, "tokens", None, numbers)
        left = self.limit - spent - account.reserved_tokens - event.prompt_tokens
        if left < SMALLEST_REPLY:
            why += f", {account.reserved_tokens:,} promised, prompt about {event.prompt_tokens:,}"
            kind = Kind.CUT
            return Verdict(kind, self.name, self.layer, why, "tokens", None, numbers)
        wanted = event.max_output_tokens
        most = left if wanted is None else min(wanted, left)
        total = event.prompt_tokens + most
        if wanted == most and event.reserved_tokens == total:
            return None
        changed = replace(event, max_output_tokens=most, reserved_tokens=total)
        if most >= (ROOMY_REPLY if wanted is None else wanted):
            return Verdict(Kind.AMEND, self.name, self.layer, "reserved", event=changed)
        change = ({"arg": "max_output_tokens", "from": wanted, "to": most},)
        return Verdict(Kind.AMEND, self.name, self.layer, why, "", changed, numbers, change)


@dataclass(frozen=True, slots=True)
class DollarBudget:
    """Dollars of the tree. A model of unknown price is refused when the user set the ceiling; a
    preset's ceiling is off for it."""

    limit: float
    from_user: bool
    name: ClassVar[str] = "usd"
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset({RoundBegins.kind, StepBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        spent = account.usd + account.reserved_usd
        numbers = {"limit": self.limit, "spent": round(spent, 6)}
        why = f"${spent:.4f} of ${self.limit:.2f} spent or promised"
        if isinstance(event, RoundBegins):
            if account.usd < self.limit or account.usd == 0:
                return None  # a ceiling of 0 lets models run that cost nothing
            return Verdict(Kind.STOP, self.name, "loop", why, "usd", None, numbers)
        assert isinstance(event, StepBegins)
        if event.prices is None:
            if not self.from_user:
                return None
            why = (
                f"the price of {event.model!r} is unknown and a dollar ceiling is set; "
                "declare it under prices:"
            )
            return Verdict(Kind.STOP, self.name, self.layer, why, "usd", None, numbers)
        price_in, price_out = event.prices
        if price_in == 0 and price_out == 0:
            return None
        left = self.limit - spent - event.prompt_tokens * price_in / 1e6
        most = int(left * 1e6 / price_out) if price_out else event.max_output_tokens
        if left <= 0 or (most is not None and most < SMALLEST_REPLY):
            return Verdict(Kind.CUT, self.name, self.layer, why, "usd", None, numbers)
        wanted = event.max_output_tokens
        if most is None:
            return None
        lowered = most if wanted is None else min(wanted, most)
        reserved = (event.prompt_tokens * price_in + lowered * price_out) / 1e6
        if lowered == wanted and abs(reserved - event.reserved_usd) < 1e-12:
            return None
        changed = replace(event, max_output_tokens=lowered, reserved_usd=reserved)
        return Verdict(Kind.AMEND, self.name, self.layer, "reserved", event=changed)


@dataclass(frozen=True, slots=True)
class StepBudget:
    """Model calls of the whole tree."""

    limit: int
    name: ClassVar[str] = "steps"
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset({RoundBegins.kind, StepBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        if account.steps < self.limit:
            return None
        why = f"{account.steps} of {self.limit} steps used"
        kind, layer = (
            (Kind.STOP, "loop") if isinstance(event, RoundBegins) else (Kind.CUT, self.layer)
        )
        return Verdict(kind, self.name, layer, why, "steps", None, {"limit": self.limit})


@dataclass(frozen=True, slots=True)
class RoundSteps:
    """Model calls of one round; only where there are rounds."""

    limit: int
    name: ClassVar[str] = "round_steps"
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset({StepBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, StepBegins)
        loop = account.loop(event.loop)
        if loop.rounds == 0 or loop.steps < self.limit:
            return None
        why = f"{loop.steps} of {self.limit} model calls of the round used"
        return Verdict(Kind.CUT, self.name, self.layer, why, "steps", None, {"limit": self.limit})


@dataclass(frozen=True, slots=True)
class ActionBudget:
    """Tool calls of the whole tree."""

    limit: int
    name: ClassVar[str] = "actions"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = frozenset({ActionBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        if account.actions < self.limit:
            return None
        why = f"{account.actions} of {self.limit} actions used"
        return Verdict(
            Kind.STOP, self.name, self.layer, why, "actions", None, {"limit": self.limit}
        )


@dataclass(frozen=True, slots=True)
class WallClock:
    """Seconds of work, without the time in which no process worked on the run."""

    limit: float
    name: ClassVar[str] = "wall_clock"
    layer: ClassVar[str] = "loop"
    watches: ClassVar[frozenset[str]] = frozenset(
        {RoundBegins.kind, StepBegins.kind, ActionBegins.kind}
    )

    def judge(self, account: Account, event: Event) -> Verdict | None:
        active = account.active
        if account.last_at is not None:
            active += max(0.0, event.at - account.last_at)
        if active < self.limit:
            return None
        why = f"{active:.0f} of {self.limit:g} s used"
        return Verdict(
            Kind.STOP, self.name, self.layer, why, "wall_clock", None, {"limit": self.limit}
        )
