"""Loop layer: how many rounds, when they stop, whether "done" is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from roundsman.guard.account import Account
from roundsman.guard.events import Event, RoundBegins, RoundEnds
from roundsman.guard.verdicts import Kind, Verdict


@dataclass(frozen=True, slots=True)
class MaxRounds:
    """No round after the last allowed one."""

    limit: int
    name: ClassVar[str] = "max_rounds"
    layer: ClassVar[str] = "loop"
    watches: ClassVar[frozenset[str]] = frozenset({RoundBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, RoundBegins)
        limit = self.limit + int(account.asks.more(self.name))
        if event.index <= limit:
            return None
        why = f"{account.loop(event.loop).rounds} of {limit} rounds done"
        return Verdict(Kind.STOP, self.name, self.layer, why, "max_rounds", None, _n(limit))


@dataclass(frozen=True, slots=True)
class AcceptDone:
    """`done: true` ends the loop; under `with_findings` only when at least one is held."""

    mode: str
    name: ClassVar[str] = "accept_done"
    layer: ClassVar[str] = "loop"
    watches: ClassVar[frozenset[str]] = frozenset({RoundEnds.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, RoundEnds)
        if not event.done:
            return None
        if self.mode == "with_findings" and event.held == 0:
            why = "said done without holding a finding; not believed"
            return Verdict(Kind.REFUSE, self.name, self.layer, why)
        held = f"{event.held} finding" + "s" * (event.held != 1)
        why = f"said done in round {event.index} with {held}"
        return Verdict(Kind.STOP, self.name, self.layer, why, "done")


@dataclass(frozen=True, slots=True)
class IdleRounds:
    """So many rounds in a row without a new finding end the loop."""

    limit: int
    name: ClassVar[str] = "idle_rounds"
    layer: ClassVar[str] = "loop"
    watches: ClassVar[frozenset[str]] = frozenset({RoundEnds.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, RoundEnds)
        idle = 0 if event.new else account.loop(event.loop).idle + 1
        if idle < self.limit:
            return None
        rounds = "1 round" if idle == 1 else f"{idle} rounds in a row"
        why = f"no new finding in {rounds}"
        return Verdict(Kind.STOP, self.name, self.layer, why, "no_progress", None, _n(self.limit))


@dataclass(frozen=True, slots=True)
class ReadableAnswer:
    """An answer that cannot be read adds nothing; that it happened is on record."""

    name: ClassVar[str] = "readable_answer"
    layer: ClassVar[str] = "loop"
    watches: ClassVar[frozenset[str]] = frozenset({RoundEnds.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, RoundEnds)
        if event.readable or event.timed_out or account.loop(event.loop).said_cut:
            return None
        why = f"round {event.index} gave an answer that could not be read; it adds nothing"
        return Verdict(Kind.REFUSE, self.name, self.layer, why)


@dataclass(frozen=True, slots=True)
class RoundTimeout:
    """The scheduler ended a round that hung; it counts as one without progress."""

    seconds: float
    name: ClassVar[str] = "round_timeout"
    layer: ClassVar[str] = "scheduler"
    watches: ClassVar[frozenset[str]] = frozenset({RoundEnds.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, RoundEnds)
        if not event.timed_out:
            return None
        why = f"round {event.index} ran into its limit of {self.seconds:g} s"
        return Verdict(Kind.CUT, self.name, self.layer, why, "wall_clock", None, _n(self.seconds))


def _n(limit: float) -> dict[str, float]:
    return {"limit": limit}
