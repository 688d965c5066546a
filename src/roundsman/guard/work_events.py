"""Events of agents' work: plans, finish lines and reports. `within` is the action an agent runs in
(empty: in none)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from roundsman.guard.event import Event


@dataclass(frozen=True, kw_only=True)
class PlanRevised(Event):
    """The agent throws its plan away and makes another, having failed with these so far."""

    kind: ClassVar[str] = "plan_revised"
    agent: str = ""
    within: str = ""
    steps: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlanMade(Event):
    """The agent writes its first plan."""

    kind: ClassVar[str] = "plan_made"
    agent: str = ""
    within: str = ""
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlanMarked(Event):
    """Step `number` (from 1) of the plan is `done` or `failed`."""

    kind: ClassVar[str] = "plan_marked"
    agent: str = ""
    within: str = ""
    number: int = 0
    state: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class LineDrawn(Event):
    """An agent starts towards its finish line: the acceptance criteria in its prompt, and the most
    steps until it has to report (None: the policy's). `within` is the action it runs in; `fresh`
    begins anew, otherwise a line this activation already has stays."""

    kind: ClassVar[str] = "line_drawn"
    agent: str = ""
    within: str = ""
    criteria: tuple[str, ...] = ()
    steps: int | None = None
    ends_run: bool = False
    fresh: bool = False


@dataclass(frozen=True, kw_only=True)
class Reported(Event):
    """An agent says that it is complete, or what it leaves undone; `forced`: the guard says so in
    its place."""

    kind: ClassVar[str] = "reported"
    agent: str = ""
    within: str = ""
    complete: bool = False
    summary: str = ""
    undone: tuple[str, ...] = ()
    ends_run: bool = False
    forced: bool = False


@dataclass(frozen=True, kw_only=True)
class Chance(Event):
    """Code that steers agents asked what a second asking would answer otherwise: `what` is `time`
    (seconds since the epoch) or `random` (from 0 up to 1). `name` tells the askers apart."""

    kind: ClassVar[str] = "chance"
    what: str = ""
    name: str = ""
    value: float = 0.0
