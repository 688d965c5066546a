"""What happens in a run, one small class each.

A `*Begins` event is a proposal until a verdict lets it through; appended to the journal it is the
intent. A `*Ends` event is the outcome. `Ruled` is a verdict that was not Allow. Times are seconds
since the epoch and are handed in: nothing here reads a clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from roundsman.guard.ask_events import Answered as Answered
from roundsman.guard.ask_events import Asked as Asked
from roundsman.guard.event import Event as Event
from roundsman.guard.work_events import Chance as Chance
from roundsman.guard.work_events import LineDrawn as LineDrawn
from roundsman.guard.work_events import PlanMade as PlanMade
from roundsman.guard.work_events import PlanMarked as PlanMarked
from roundsman.guard.work_events import PlanRevised as PlanRevised
from roundsman.guard.work_events import Reported as Reported


@dataclass(frozen=True, kw_only=True)
class RunBegins(Event):
    """A run tree starts; `policy` is the policy's digest, `setup` what a later process needs to
    go on with it (which telemetry, which model, which policy file, the digest of the agent)."""

    kind: ClassVar[str] = "run_begins"
    run_id: str = ""
    policy: str = ""
    question: str = ""
    setup: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RunResumes(Event):
    """A later process goes on with the run; the time between does not count as wall clock.
    `policy` is the digest of a policy a person accepted in place of the old, `accepted` what else
    of the setup changed ({name: [before, now]}), `charged` what is charged for each step that was
    in flight ({step: [tokens, dollars]}; what is not named there is charged its reservation)."""

    kind: ClassVar[str] = "run_resumes"
    policy: str = ""
    charged: Mapping[str, Any] = field(default_factory=dict)
    accepted: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RunEnds(Event):
    """The run is over, for this stop reason."""

    kind: ClassVar[str] = "run_ends"
    reason: str = "done"
    rule: str = ""
    layer: str = "loop"
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class RoundBegins(Event):
    """The outer loop is about to begin round `index` (from 1). `loop` is the path of the loop's
    node: an app may have several."""

    kind: ClassVar[str] = "round_begins"
    index: int = 1
    loop: str = ""


@dataclass(frozen=True, kw_only=True)
class RoundEnds(Event):
    """A round came back with `new` findings out of those it claimed; `held` counts all so far."""

    kind: ClassVar[str] = "round_ends"
    index: int = 1
    loop: str = ""
    new: int = 0
    held: int = 0
    done: bool = False
    readable: bool = True
    timed_out: bool = False
    answer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StepBegins(Event):
    """A model call is about to run. Tokens: estimate of the prompt, most output asked for
    (None: no limit asked), and what is reserved. `usd` is the reservation in dollars; `prices`
    are dollars per million tokens (input, output, cached input), None when
    unknown. `loop` is the loop whose round it belongs to, empty outside of rounds; `within` the action
    it runs in; `place` where in the engine's tree of agents (a node's path and a branch)."""

    kind: ClassVar[str] = "step_begins"
    id: str = ""
    loop: str = ""
    agent: str = ""
    within: str = ""
    place: str = ""
    model: str = ""
    request: str = ""
    prompt_tokens: int = 0
    max_output_tokens: int | None = None
    reserved_tokens: int = 0
    reserved_usd: float = 0.0
    prices: tuple[float, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class StepEnds(Event):
    """A final reply: usage of the whole call; `estimated` when the model reported none. `calls` is
    how many of its parts are no text (None: this record does not say), `said` a sketch of its text,
    `announces` whether that says what the agent is about to do.

    As reported, else 0: `prompt`, of it `cached` by the provider, `output`, of it `thoughts`.
    `over` is output beyond what was allowed. A later record of the step adds to the first;
    `corrects` are tokens of an estimate it takes back."""

    kind: ClassVar[str] = "step_ends"
    id: str = ""
    agent: str = ""
    tokens: int = 0
    usd: float = 0.0
    estimated: bool = False
    error: str = ""
    reply: Any = None
    calls: int | None = None
    said: str = ""
    announces: bool = False
    prompt: int = 0
    output: int = 0
    thoughts: int = 0
    cached: int = 0
    over: int = 0
    corrects: int = 0


@dataclass(frozen=True, kw_only=True)
class ActionBegins(Event):
    """A tool call is about to run with these arguments. `call`, `gist` and `alters` are its prints
    (`prints.call_prints`), of what was asked, before any amendment; `nested` says that by it an
    agent calls another, whose own calls are on record one by one; `of_engine` that it is the
    engine's own, and not one that bears the name of one.

    `approval` is the question by whose answer it runs; `idempotency` is the key the tool gets beside
    its arguments, by the name of the parameter.

    Of bounded arguments `declared` holds by path what the tool itself says ({type, default,
    required, single: it takes no list}, each when known). `unknown` are given arguments the tool
    does not have."""

    kind: ClassVar[str] = "action_begins"
    id: str = ""
    loop: str = ""
    tool: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    agent: str = ""
    within: str = ""
    place: str = ""
    effect: str = "write"
    call: str = ""
    gist: str = ""
    alters: str = ""
    nested: bool = False
    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    of_engine: bool = False
    approval: str = ""
    idempotency: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ActionWaits(Event):
    """An action that may run waits for its turn on `key`, behind these actions."""

    kind: ClassVar[str] = "action_waits"
    id: str = ""
    tool: str = ""
    key: str = ""
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ActionEnds(Event):
    """A tool answered, or (not `ran`; `agent` asked) it was kept from running after all. `status` is ok,
    empty, error, blocked or unknown; `print`, `shape`, `fault`: of the result (`result_prints`)."""

    kind: ClassVar[str] = "action_ends"
    id: str = ""
    tool: str = ""
    status: str = "ok"
    call: str = ""
    print: str = ""
    shape: str = ""
    fault: str = ""
    effect: str = "write"
    ran: bool = True
    agent: str = ""
    result: Any = None


@dataclass(frozen=True, kw_only=True)
class ActionSettled(Event):
    """What a person (or the tool's own check) says of a write whose outcome is unknown:
    `decision` is done, not_done or again."""

    kind: ClassVar[str] = "action_settled"
    id: str = ""
    decision: str = ""
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class AgentEnters(Event):
    """An agent starts below the agents in `chain` (outermost first). `called`: another agent made it
    run, and by no action that says so; such an entry is on record."""

    kind: ClassVar[str] = "agent_enters"
    agent: str = ""
    chain: tuple[str, ...] = ()
    within: str = ""
    place: str = ""
    called: bool = False


@dataclass(frozen=True, kw_only=True)
class UserTurn(Event):
    """A person spoke: in a run under way (a live session, an answer to a question), or earlier in
    the session. `sources` are tools whose results the session already holds, `held_back` prints of
    what was taken out of the text (`trust.said_print`)."""

    kind: ClassVar[str] = "user_turn"
    text: str = ""
    sources: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Ruled(Event):
    """A verdict that was not Allow, as recorded. `applied` is False for a shadow rule; `agent`,
    `call`, `loop`, `within` and `place` say who asked for the step or action it is about, what, and
    where."""

    kind: ClassVar[str] = "ruled"
    verdict: str = ""
    rule: str = ""
    layer: str = ""
    reason: str = ""
    stop: str = ""
    subject: str = ""
    subject_id: str = ""
    agent: str = ""
    call: str = ""
    loop: str = ""
    within: str = ""
    place: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[Mapping[str, Any], ...] = ()
    applied: bool = True


KINDS: dict[str, type[Event]] = {
    c.kind: c
    for c in (
        RunBegins, RunResumes, RunEnds, RoundBegins, RoundEnds, StepBegins, StepEnds,
        ActionBegins, ActionWaits, ActionEnds, ActionSettled, AgentEnters, LineDrawn, Reported,
        PlanMade, PlanMarked, PlanRevised, UserTurn, Asked, Answered, Chance,
        Ruled,
    )
}  # fmt: skip


_TUPLES = frozenset({
    "chain", "failures", "changes", "prices", "behind", "unknown", "steps", "undone", "criteria",
    "limits", "sources", "held_back",
})  # fmt: skip


def to_body(event: Event) -> dict[str, Any]:
    """The event as plain data, without its kind and time (columns of their own)."""
    body = {**event.__dict__}
    del body["at"]
    return body


def from_body(kind: str, at: float, body: Mapping[str, Any]) -> Event:
    """The event a record holds. Lists become tuples again where the class says so.

    Raises:
        KeyError: a kind this version does not know.
    """
    cls = KINDS[kind]
    names = cls.__dataclass_fields__
    known = {
        k: tuple(v) if k in _TUPLES and isinstance(v, list) else v
        for k, v in body.items()
        if k in names
    }
    return cls(at=at, **known)
