"""The signals together: what each says of an outcome, and of a call that is about to run.

Most calls of a busy run resemble none before. One look at what is remembered tells, and no signal has
to be asked: each speaks of what is `kin` only.
"""

from __future__ import annotations

from collections.abc import Collection

from roundsman.guard.gist import FRAME
from roundsman.guard.stuck.clock import Clock
from roundsman.guard.stuck.cycle import Cycle
from roundsman.guard.stuck.errors import Failing, SameError
from roundsman.guard.stuck.memory import Asked, Conversation, Outcome
from roundsman.guard.stuck.near import NearDuplicate
from roundsman.guard.stuck.refusals import Refused
from roundsman.guard.stuck.repeat import Repeat
from roundsman.guard.stuck.rewrite import Rewrite
from roundsman.guard.stuck.signals import Signal

SIGNALS: tuple[Signal, ...] = (
    Repeat(), NearDuplicate(), SameError(), Failing(), Cycle(), Clock(), Rewrite(), Refused(),
)  # fmt: skip
"""The signals that look at calls. Polls, narration and blank replies are judged by themselves."""


def seen(mine: Conversation, outcome: Outcome) -> tuple[tuple[str, float], ...]:
    """(signal, points) of an outcome, for each signal that sees something in it."""
    if _came_out_new(mine, outcome):
        return ()
    return tuple((s.name, p) for s in SIGNALS if (p := s.seen(mine, outcome)))


def asked(mine: Conversation, call: Asked, signals: Collection[str]) -> float | None:
    """Points of the signal that says most of a call that is about to run; None: it resembles none."""
    if _asks_something_new(mine, call):
        return None
    points = (s.asked(mine, call) for s in SIGNALS if s.name in signals)
    return max((p for p in points if p), default=None)


def _came_out_new(mine: Conversation, outcome: Outcome) -> bool:
    """Whether no signal has anything to compare with: a call that changes nothing and did not fail,
    neither it nor its result known."""
    call, result = outcome.asked, outcome.print
    if outcome.withheld or outcome.fault or call.alters or mine.run[0] == call.call:
        return False
    return all(o.asked.call != call.call and o.print != result for o in mine.past)


def _asks_something_new(mine: Conversation, call: Asked) -> bool:
    """The same of a call: it is not in flight, and none with its name speaks of what it names."""
    exact, frame = call.call, call.gist[:FRAME]
    if call.alters or mine.run[0] == exact:
        return False
    for o in mine.past:
        known = o.asked
        if known.call == exact:
            return False
        if known.tool == call.tool and (o.withheld or known.gist[:FRAME] == frame):
            return False
    return all(a.call != exact for a in mine.flying.values())
