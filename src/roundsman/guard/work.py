"""What agents are working towards: finish lines, reports and plans, folded from the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roundsman.guard import events as ev
from roundsman.guard.evolve import evolve

MOST_KEPT = 64
"""Lines and plans that are remembered; the oldest go first."""
MOST_FAILURES = 40


def key_of(agent: str, within: str) -> str:
    """One activation of an agent: its name and the action it runs in (empty: in none)."""
    return f"{within}/{agent}"


@dataclass(frozen=True)
class Report:
    """Where an agent says it stands. `forced`: the guard said it in the agent's place."""

    complete: bool
    summary: str
    undone: tuple[str, ...] = ()
    forced: bool = False

    @property
    def reason(self) -> str:
        """The stop reason: `done` or `partial`."""
        return "done" if self.complete else "partial"

    def text(self) -> str:
        """The report as one answer."""
        left = "".join(f"\n- {item}" for item in self.undone)
        return f"{self.summary}\n\nNot done:{left}" if left else self.summary

    def line(self) -> str:
        """The report on one line."""
        left = "; ".join(self.undone)
        return f"{self.summary} (not done: {left})" if left else self.summary


@dataclass(frozen=True)
class Line:
    """A finish line: criteria, the agent's own step limit (None: the policy's), steps so far."""

    criteria: tuple[str, ...] = ()
    most: int | None = None
    ends_run: bool = False
    steps: int = 0
    report: Report | None = None


@dataclass(frozen=True)
class PlanStep:
    """One step of a plan; `state` is open, done or failed."""

    text: str
    state: str = "open"
    note: str = ""


@dataclass(frozen=True)
class Plan:
    """The plan as it stands, and what failed in all its versions."""

    steps: tuple[PlanStep, ...] = ()
    failures: tuple[str, ...] = ()
    revisions: int = 0

    def named(self, *states: str) -> list[str]:
        """Steps in one of these states, with their numbers."""
        return [f"{n}. {s.text}" for n, s in enumerate(self.steps, 1) if s.state in states]


@dataclass(frozen=True)
class Work:
    """Finish lines and plans of the run. `partial`: an agent that runs in no action of another
    reported partial."""

    lines: Mapping[str, Line] = field(default_factory=dict)
    plans: Mapping[str, Plan] = field(default_factory=dict)
    partial: bool = False

    def line(self, agent: str, within: str) -> Line | None:
        """The finish line this activation works towards."""
        return self.lines.get(key_of(agent, within)) if self.lines else None

    def plan(self, agent: str, within: str) -> Plan:
        """The plan of this activation; an empty one when there is none."""
        return self.plans.get(key_of(agent, within)) or Plan()


_FOLLOWED = frozenset(
    e.kind
    for e in (
        ev.StepBegins, ev.LineDrawn, ev.Reported, ev.PlanMade, ev.PlanRevised,
        ev.PlanMarked,
    )
)  # fmt: skip


def follow(work: Work, event: ev.Event) -> Work:
    """The work after this record; the same object when the record is about something else."""
    if event.kind not in _FOLLOWED:
        return work
    if isinstance(event, ev.StepBegins):
        line = work.line(event.agent, event.within)
        return work if line is None else _put_line(work, event, evolve(line, steps=line.steps + 1))
    if isinstance(event, ev.LineDrawn):
        known = None if event.fresh else work.line(event.agent, event.within)
        line = known or Line(event.criteria, event.steps, event.ends_run)
        return _put_line(work, event, line)
    if isinstance(event, ev.Reported):
        line = work.line(event.agent, event.within) or Line()
        report = Report(event.complete, event.summary, event.undone, event.forced)
        work = _put_line(work, event, evolve(line, report=report))
        partial = work.partial or not (event.complete or event.within)
        return evolve(work, partial=partial)
    if isinstance(event, ev.PlanMade):
        plan = Plan(tuple(PlanStep(text) for text in event.steps))
        return _put_plan(work, event, plan)
    if isinstance(event, ev.PlanRevised):
        old = work.plan(event.agent, event.within)
        plan = Plan(
            tuple(PlanStep(text) for text in event.steps),
            event.failures[-MOST_FAILURES:],
            old.revisions + 1,
        )
        return _put_plan(work, event, plan)
    if isinstance(event, ev.PlanMarked):
        plan = work.plan(event.agent, event.within)
        if 1 <= event.number <= len(plan.steps):
            marked = list(plan.steps)
            text = marked[event.number - 1].text
            marked[event.number - 1] = PlanStep(text, event.state, event.note)
            return _put_plan(work, event, evolve(plan, steps=tuple(marked)))
    return work


def forced_report(work: Work, agent: str, within: str, why: str) -> ev.Reported:
    """The report of an agent that gave none: partial, with every criterion undone."""
    line = work.line(agent, within) or Line()
    return ev.Reported(
        agent=agent,
        within=within,
        complete=False,
        summary=why,
        undone=line.criteria,
        ends_run=line.ends_run,
        forced=True,
    )


def _put_line(work: Work, event: Any, line: Line) -> Work:
    return evolve(work, lines=_with(work.lines, key_of(event.agent, event.within), line))


def _put_plan(work: Work, event: Any, plan: Plan) -> Work:
    return evolve(work, plans=_with(work.plans, key_of(event.agent, event.within), plan))


def _with(mapping: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    if key not in mapping and len(mapping) >= MOST_KEPT:
        mapping = dict(list(mapping.items())[1:])
    return {**mapping, key: value}
