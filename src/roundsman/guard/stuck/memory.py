"""What the account remembers of calls and replies, to tell a stuck run from a busy one.

It lives in the account, so it outlives a compacted history and sees every agent of the tree. All
of it is bounded: a record costs the same in the first minute and in the tenth hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PAST = 12
"""Outcomes that are compared with."""
BEGUN = 50
"""Calls the simple rule can look back on."""
WRITTEN = 16
POLLS = 8
SAID = 6


@dataclass(frozen=True)
class Asked:
    """A call as it was asked for; see `prints.call_prints`."""

    call: str
    gist: str = ""
    tool: str = ""
    effect: str = "write"
    alters: str = ""
    agent: str = ""


@dataclass(frozen=True)
class Outcome:
    """A call and what came of it. `points` is the evidence each signal saw in it; `fresh` says
    that it brought something new; `print` and `fault` are explained in `prints.result_prints`.
    `step` is the number of model calls before it."""

    asked: Asked
    print: str = ""
    shape: str = ""
    fault: str = ""
    fresh: bool = True
    withheld: bool = False
    step: int = 0
    points: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Poll:
    """One unchanged answer of a polled call, and since when (seconds since the epoch)."""

    print: str
    since: float


@dataclass(frozen=True)
class Memory:
    """Everything the repetition rules look at.

    `begun` holds the calls that were let through (the simple rule), `open` those in flight by
    action id, `past` the outcomes since the last change of anything, `written` the writes that
    succeeded, `run` the unbroken run of one call, `said` the replies without a call by agent,
    `talk` how many of those in a row said nothing new, `blanks` how many in a row were empty.
    """

    begun: tuple[str, ...] = ()
    open: Mapping[str, Asked] = field(default_factory=dict)
    past: tuple[Outcome, ...] = ()
    written: tuple[str, ...] = ()
    run: tuple[str, int] = ("", 0)
    polls: Mapping[str, Poll] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    talk: int = 0
    blanks: int = 0
    steps: int = 0
    warned: bool = False
    withheld: int = 0
    cuts: int = 0
