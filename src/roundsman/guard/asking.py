"""What a person is asked, and what they said: a part of the account.

Two things can be asked: more of a limit, or one exact action. An approval is bound to a digest of
the tool and the arguments it will run with, is used once, and expires.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from roundsman.guard import ask_events as ev
from roundsman.guard.evolve import evolve

LIMIT, ACTION, ENGINE, INPUT = "limit", "action", "engine", "input"
"""What a question is about. `engine`: the engine asks for a confirmation and waits by itself;
`input`: so for something else than a yes."""


@dataclass(frozen=True, slots=True)
class Question:
    """An open question. `limits` are the rules at whose limits more is asked for; `digest` is of
    the action asked about; `subject` is the id of the step or action that waits, `call` the engine's
    id of it."""

    id: str
    about: str = ENGINE
    limits: tuple[str, ...] = ()
    digest: str = ""
    subject: str = ""
    call: str = ""
    reason: str = ""
    at: float = 0.0
    expires: float = 0.0

    def blocks(self) -> bool:
        """Whether the run goes on with nothing but reads before it is answered."""
        return self.about in (LIMIT, ACTION)


@dataclass(frozen=True, slots=True)
class Approval:
    """A yes to one exact action, from this question; `expires` of 0 is never."""

    question: str
    expires: float = 0.0

    def holds(self, at: float) -> bool:
        """Whether it may be used at this time."""
        return not self.expires or at < self.expires


@dataclass(frozen=True)
class Asks:
    """Open questions by id; approvals and denials by digest; actions begun under an approval (by
    id, with its digest and when it expires); what was granted beyond each limit; who said to finish."""

    open: Mapping[str, Question] = field(default_factory=dict)
    approved: Mapping[str, Approval] = field(default_factory=dict)
    denied: Mapping[str, str] = field(default_factory=dict)
    used: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    granted: Mapping[str, float] = field(default_factory=dict)
    finish: str = ""

    def more(self, limit: str) -> float:
        """What a person granted beyond this limit."""
        return self.granted.get(limit, 0)

    @property
    def blocking(self) -> Question | None:
        """The question the run waits for, the oldest first."""
        return next((q for q in self.open.values() if q.blocks()), None)


def exact_digest(tool: str, args: Mapping[str, Any]) -> str:
    """SHA-256 of a tool and the arguments it will run with.

    Raises:
        ValueError: the arguments cannot be shown exactly, so nobody can approve them.
    """
    try:
        text = json.dumps(args, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"its arguments cannot be shown exactly ({error})") from None
    return sha256(f"{tool}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def wanted(a: Asks, tool: str, args: Mapping[str, Any], at: float) -> bool:
    """Whether a person has said yes to exactly this call, and the yes holds at this time."""
    if not a.approved:
        return False
    try:
        given = a.approved.get(exact_digest(tool, args))
    except ValueError:
        return False
    return given is not None and given.holds(at)


def asked(a: Asks, e: ev.Asked) -> Asks:
    """A question is open."""
    question = Question(
        e.id, e.about, tuple(e.limits), e.digest, e.subject_id, e.call, e.reason, e.at, e.expires
    )
    return evolve(a, open={**a.open, e.id: question})


def answered(a: Asks, e: ev.Answered) -> Asks:
    """It is answered."""
    question = a.open.get(e.id)
    a = evolve(a, open={name: q for name, q in a.open.items() if name != e.id})
    if question is None:
        return a
    if e.decision == "approve" and question.digest:
        approval = Approval(e.id, e.expires)
        return evolve(a, approved={**a.approved, question.digest: approval})
    if e.decision == "deny" and question.digest:
        why = f"{e.by or 'a person'} denied it" + (f": {e.note}" if e.note else "")
        return evolve(a, denied={**a.denied, question.digest: why})
    if e.decision == "grant":
        total = {k: a.more(k) + v for k, v in e.granted.items() if _sound(v)}
        return evolve(a, granted={**a.granted, **total})
    if e.decision == "finish":
        return evolve(a, finish=e.by or "a person")
    return a


def _sound(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value > 0


def begun(a: Asks, action: str, approval: str) -> Asks:
    """An action runs under an approval: that is used up."""
    spent = [d for d, given in a.approved.items() if given.question == approval]
    if not spent:
        return a
    left = {d: given for d, given in a.approved.items() if d not in spent}
    return evolve(
        a, approved=left, used={**a.used, action: (spent[0], a.approved[spent[0]].expires)}
    )


def ended(a: Asks, action: str) -> Asks:
    """The action is over."""
    if action not in a.used:
        return a
    return evolve(a, used={k: v for k, v in a.used.items() if k != action})


def again(a: Asks, action: str) -> Asks:
    """A person, or the tool's own check, wants an action whose outcome is unknown to run once more: a
    yes to that very action, for as long as the first one holds."""
    if action not in a.used:
        return a
    digest, expires = a.used[action]
    return evolve(ended(a, action), approved={**a.approved, digest: Approval(action, expires)})
