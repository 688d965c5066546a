"""What the account remembers of calls and replies, to tell a stuck run from a busy one.

It lives in the account, so it outlives a compacted history and sees every agent of the tree. Each
conversation of the tree is remembered by itself (see `conversations`): what runs side by side is no
repetition. All of it is bounded: a record costs the same in the first minute and in the tenth hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

PAST = 12
"""Outcomes that are compared with."""
BEGUN = 50
"""Calls the simple rule can look back on."""
WRITTEN = 16
POLLS = 8
SAID = 6
TALKERS = 16
"""Agents of one conversation whose words are remembered."""


class Where(NamedTuple):
    """Whose conversation: of what runs in the action `within`, at this `place` of the engine's tree
    (a node's path and a branch), in a round of this `loop`. Empty: outside of any."""

    within: str = ""
    place: str = ""
    loop: str = ""


NOWHERE = Where()


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
    `step` is the number of model calls before the reply that asked for it; `number` tells outcomes
    of the run apart."""

    asked: Asked
    print: str = ""
    shape: str = ""
    fault: str = ""
    fresh: bool = True
    withheld: bool = False
    step: int = 0
    points: tuple[tuple[str, float], ...] = ()
    number: int = 0


@dataclass(frozen=True)
class Poll:
    """One unchanged answer of a polled call, and since when (seconds since the epoch)."""

    print: str
    since: float


@dataclass(frozen=True)
class Talk:
    """What one agent of a conversation says without a call: `said` its last announcements, `again`
    how many of those in a row said nothing new, `blanks` how many replies in a row were empty."""

    said: tuple[str, ...] = ()
    again: int = 0
    blanks: int = 0


@dataclass(frozen=True)
class Conversation:
    """What one conversation knows.

    `begun` holds the calls that were let through with their numbers (the simple rule), `past` the
    outcomes since the last change of anything, `written` the writes that succeeded, `run` the
    unbroken run of one call, `talks` what each agent said, `flying` its calls in flight by action
    id. `warned`: it was told with a result; `withheld` counts calls that did not run since
    something new was found. `step` is the number of model calls before its last reply, `due` how
    many calls of that have not been asked for yet.
    """

    begun: tuple[tuple[int, str], ...] = ()
    past: tuple[Outcome, ...] = ()
    written: tuple[str, ...] = ()
    run: tuple[str, int] = ("", 0)
    polls: Mapping[str, Poll] = field(default_factory=dict)
    talks: Mapping[str, Talk] = field(default_factory=dict)
    flying: Mapping[str, Asked] = field(default_factory=dict)
    step: int = 0
    due: int = 0
    warned: bool = False
    withheld: int = 0


@dataclass(frozen=True)
class Memory:
    """Everything the repetition rules look at.

    `talking` holds the conversations (the one heard last comes last), `open` whose calls are in
    flight by action id, `replies` whose model calls are by step id, `answered` whose the last
    outcome was, `cuts` how often a round of each loop was cut for repeating itself, `cut_for` the call
    it was cut for last, until another is made there. `steps` and
    `number` count model calls and what was noted.
    """

    talking: Mapping[Where, Conversation] = field(default_factory=dict)
    open: Mapping[str, Where] = field(default_factory=dict)
    replies: Mapping[str, Where] = field(default_factory=dict)
    answered: Where = NOWHERE
    cuts: Mapping[str, int] = field(default_factory=dict)
    cut_for: Mapping[str, str] = field(default_factory=dict)
    steps: int = 0
    number: int = 0
