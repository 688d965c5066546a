"""Loop and model layer: tokens, dollars, steps, actions and time of the whole tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from roundsman.guard.account import Account, Share
from roundsman.guard.events import ActionBegins, Event, RoundBegins, StepBegins
from roundsman.guard.evolve import evolve
from roundsman.guard.streaming import StepStreams
from roundsman.guard.verdicts import Kind, Verdict

SMALLEST_REPLY = 16
"""Output tokens below which a reply cannot say anything; less than this left is nothing left."""

DECENT_REPLY = 4096
"""A reply is not shrunk below this because others are in flight: it waits for them."""

UNSAID_REPLY = 8192
"""What a request that names no limit of its own may have. More would be refused by some models, and
would keep parallel branches from starting."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a budget still has for the reply of one request.

    `most` is the output tokens it may have, None when there is no room for a reply. `wait` says
    that there would be room if the calls in flight were settled.
    """

    most: int | None
    wait: bool = False


def room_for(left: float, in_flight: float, wanted: int | None) -> Room:
    """The room for a reply, from output tokens left and promised to calls in flight."""
    alone, now = int(left), int(left - in_flight)
    if alone < SMALLEST_REPLY:
        return Room(None)
    asked = UNSAID_REPLY if wanted is None else wanted
    if now < min(alone, asked, DECENT_REPLY) and in_flight > 0:
        return Room(None, wait=True)
    return Room(min(asked, now)) if now >= SMALLEST_REPLY else Room(None)


def grant(
    event: StepBegins, most: int, rule: str, why: Callable[[], str], numbers: Any
) -> Verdict | None:
    """Lower the request's most output tokens to `most` and reserve for it; None when it is so."""
    total = event.prompt_tokens + most
    usd = 0.0 if event.prices is None else dollars(event, most)
    asked = event.max_output_tokens
    if (asked, event.reserved_tokens, event.reserved_usd) == (most, total, usd):
        return None
    changed = evolve(event, max_output_tokens=most, reserved_tokens=total, reserved_usd=usd)
    if most >= (UNSAID_REPLY if asked is None else asked):
        return Verdict(Kind.AMEND, rule, "model", "reserved", event=changed)
    change = ({"arg": "max_output_tokens", "from": asked, "to": most},)
    return Verdict(Kind.AMEND, rule, "model", why(), "", changed, numbers, change)


def fresh_prompt(event: StepBegins, share: Share | None, free_cached: bool) -> int:
    """Tokens a prompt is expected to be charged. Where cached ones are free, what the agent's last
    prompt had from the cache is expected again: a conversation only grows."""
    reused = share.reused if share is not None and free_cached else 0
    return max(0, event.prompt_tokens - reused)


def dollars(event: StepBegins, output: int) -> float:
    """The most the call can cost with that many output tokens."""
    return most_dollars(event.prompt_tokens, output, event.prices)


def most_dollars(prompt: int, output: int, prices: tuple[float, ...] | None) -> float:
    """The same of so many tokens at these prices (dollars a million, input and output); 0 when they are
    unknown."""
    price_in, price_out = (prices or (0.0, 0.0))[:2]
    return (prompt * price_in + output * price_out) / 1e6


def too_long(event: StepStreams, rule: str) -> Verdict | None:
    """Cut for a reply that goes on beyond what it was allowed; an estimate has a quarter of slack."""
    most = event.most * 5 // 4 + SMALLEST_REPLY if event.estimated else event.most
    if event.output <= most:
        return None
    why = f"the reply has {event.output:,} tokens of the {event.most:,} it was allowed"
    numbers = {"allowed": event.most, "output": event.output}
    return Verdict(Kind.CUT, rule, "model", why, "tokens", None, numbers)


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Tokens of the tree.

    `reserve`: what is spent plus what is promised to calls in flight never passes the budget. The
    most output of a request is lowered to what is left; a request that would fit if the calls in
    flight were settled waits for them; one whose prompt alone does not fit is cut. Otherwise the
    reference's plain rule: spent >= budget ends the next step or round. `free_cached` leaves out
    what providers read from their cache.
    """

    limit: int
    reserve: bool
    free_cached: bool = False
    name: ClassVar[str] = "tokens"
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset(
        {RoundBegins.kind, StepBegins.kind, StepStreams.kind}
    )

    def judge(self, account: Account, event: Event) -> Verdict | None:
        if isinstance(event, StepStreams):
            return too_long(event, self.name) if self.reserve else None
        spent = account.tokens - (account.cached if self.free_cached else 0)
        limit = self.limit + int(account.asks.more(self.name))
        numbers = {"limit": limit, "spent": spent}

        def why() -> str:  # most of the time nobody asks
            return f"{spent:,} of {limit:,} tokens spent"

        if isinstance(event, RoundBegins):
            if spent < limit:
                return None
            return Verdict(Kind.STOP, self.name, "loop", why(), "tokens", None, numbers)
        assert isinstance(event, StepBegins)
        if not self.reserve:
            if spent < limit:
                return None
            return Verdict(Kind.CUT, self.name, self.layer, why(), "tokens", None, numbers)
        in_flight = account.reserved_tokens
        prompt = fresh_prompt(event, account.shares.get(event.agent), self.free_cached)
        room = room_for(limit - spent - prompt, in_flight, event.max_output_tokens)
        if room.most is None:
            more = f"{why()}, {in_flight:,} promised, prompt about {prompt:,}"
            kind = Kind.CUT
            return Verdict(
                kind, self.name, self.layer, more, "tokens", None, numbers, wait=room.wait
            )
        return grant(event, room.most, self.name, why, numbers)


@dataclass(frozen=True, slots=True)
class DollarBudget:
    """Dollars of the tree. A model of unknown price is refused when the user set the ceiling; a
    preset's ceiling is off for it. A ceiling of 0 lets models run that cost nothing."""

    limit: float
    from_user: bool
    name: ClassVar[str] = "usd"
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset(
        {RoundBegins.kind, StepBegins.kind, StepStreams.kind}
    )

    def judge(self, account: Account, event: Event) -> Verdict | None:
        if isinstance(event, StepStreams):
            return too_long(event, self.name)
        in_flight, limit = account.reserved_usd, self.limit + account.asks.more(self.name)
        numbers = {"limit": limit, "spent": round(account.usd + in_flight, 6)}
        why = f"${account.usd + in_flight:.4f} of ${limit:.2f} spent or promised"
        if isinstance(event, RoundBegins):
            if account.usd < limit or account.usd == 0:
                return None
            return Verdict(Kind.STOP, self.name, "loop", why, "usd", None, numbers)
        assert isinstance(event, StepBegins)
        if event.prices is None:
            if not self.from_user:
                return None
            why = (
                f"the price of {event.model!r} is unknown and a dollar ceiling is set; "
                "declare it under prices:"
            )
            return Verdict(Kind.STOP, self.name, self.layer, why, "usd")
        room = dollar_room(event, limit - account.usd, in_flight)
        if room is None:
            return None
        if room.most is None:
            return Verdict(
                Kind.CUT, self.name, self.layer, why, "usd", None, numbers, wait=room.wait
            )
        return grant(event, room.most, self.name, lambda: why, numbers)


def dollar_room(event: StepBegins, left: float, in_flight: float) -> Room | None:
    """The room dollars leave for a reply of a model of known price; None: it costs nothing."""
    price_in, price_out = (event.prices or (0.0, 0.0))[:2]
    if price_in == 0 and price_out == 0:
        return None
    left -= event.prompt_tokens * price_in / 1e6
    if price_out == 0:  # only the prompt costs
        if left - in_flight >= 0:
            return None
        return Room(None, wait=left >= 0 and in_flight > 0)
    each = price_out / 1e6
    # a token less than the division says, since it is not exact
    return room_for(left / each - 1, in_flight / each, event.max_output_tokens)


@dataclass(frozen=True, slots=True)
class StepBudget:
    """Model calls of the whole tree."""

    limit: int
    name: ClassVar[str] = "steps"
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset({RoundBegins.kind, StepBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        limit = self.limit + int(account.asks.more(self.name))
        if account.steps < limit:
            return None
        why = f"{account.steps} of {limit} steps used"
        kind, layer = (
            (Kind.STOP, "loop") if isinstance(event, RoundBegins) else (Kind.CUT, self.layer)
        )
        return Verdict(kind, self.name, layer, why, "steps", None, {"limit": limit})


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
        limit = self.limit + int(account.asks.more(self.name))
        if account.actions < limit:
            return None
        why = f"{account.actions} of {limit} actions used"
        return Verdict(Kind.STOP, self.name, self.layer, why, "actions", None, {"limit": limit})


@dataclass(frozen=True, slots=True)
class WallClock:
    """Seconds of work, without the time in which no process worked on the run, or the run only
    waited for a person."""

    limit: float
    name: ClassVar[str] = "wall_clock"
    layer: ClassVar[str] = "loop"
    watches: ClassVar[frozenset[str]] = frozenset(
        {RoundBegins.kind, StepBegins.kind, ActionBegins.kind}
    )

    def judge(self, account: Account, event: Event) -> Verdict | None:
        active, limit = account.active_at(event.at), self.most(account)
        if active < limit:
            return None
        why = f"{active:.0f} of {limit:g} s used"
        return Verdict(Kind.STOP, self.name, self.layer, why, "wall_clock", None, {"limit": limit})

    def most(self, account: Account) -> float:
        """The limit with what a person granted."""
        return self.limit + account.asks.more(self.name)
