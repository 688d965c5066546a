"""How records change the memory. Pure; each takes constant time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from roundsman.guard import events as ev
from roundsman.guard.evolve import evolve
from roundsman.guard.stuck.clock import Clock
from roundsman.guard.stuck.cycle import Cycle
from roundsman.guard.stuck.errors import Failing, SameError
from roundsman.guard.stuck.memory import BEGUN, PAST, WRITTEN, Asked, Memory, Outcome
from roundsman.guard.stuck.narration import replied
from roundsman.guard.stuck.near import NearDuplicate
from roundsman.guard.stuck.polling import polled
from roundsman.guard.stuck.refusals import Refused
from roundsman.guard.stuck.repeat import Repeat
from roundsman.guard.stuck.rewrite import Rewrite
from roundsman.guard.stuck.signals import Signal

SIGNALS: tuple[Signal, ...] = (
    Repeat(), NearDuplicate(), SameError(), Failing(), Cycle(), Clock(), Rewrite(), Refused(),
)  # fmt: skip
"""The signals that look at calls. Polls, narration and blank replies are judged by themselves."""

RULE = "repetition"
WITHHELD = "withheld"
EXACT, VARIED = 1.0, 0.3
"""Points of a call that was withheld: of one that had been asked before, of a variation of one."""


def asked_of(event: ev.ActionBegins) -> Asked:
    """The call of a proposal as the signals see it."""
    e = event
    return Asked(e.call, e.gist, e.tool, e.effect, e.alters, e.agent)


def _action_begins(m: Memory, e: ev.ActionBegins) -> Memory:
    call = asked_of(e)
    begun = (*m.begun, call.call)[-BEGUN:]
    return evolve(m, begun=begun, open={**m.open, e.id: call}, said=(), talk=0, blanks=0)


def _action_ends(m: Memory, e: ev.ActionEnds) -> Memory:
    """A write that succeeded and is new makes all other calls worth asking again: only its own
    outcomes stay. A rejected or a repeated write changes nothing."""
    call = m.open.get(e.id) or Asked(e.call, "", e.tool, e.effect)
    left = {k: v for k, v in m.open.items() if k != e.id}
    if e.status in ("blocked", "unknown"):
        return evolve(m, open=left)
    now = Outcome(call, e.print, e.shape, e.fault, step=m.steps)
    if call.effect == "poll":
        return evolve(m, open=left, polls=polled(m, now, e.at))
    points = tuple((s.name, p) for s in SIGNALS if (p := s.seen(m, now)))
    fresh = not now.fault and all(o.print != now.print for o in m.past)
    now = evolve(now, points=points, fresh=fresh)
    past, written, progress = m.past, m.written, fresh and not points
    if call.alters and not now.fault:
        if call.call not in written:
            past = tuple(o for o in past if o.asked.call == call.call)
            progress, now = True, evolve(now, points=(), fresh=True)
        written = (*(w for w in written if w != call.call), call.call)[-WRITTEN:]
    return evolve(
        m,
        open=left,
        past=(*past, now)[-PAST:],
        written=written,
        run=(call.call, m.run[1] + 1 if m.run[0] == call.call else 1),
        warned=m.warned and not progress,
        withheld=0 if progress else m.withheld,
    )


def _step_begins(m: Memory, e: ev.StepBegins) -> Memory:
    return evolve(m, steps=m.steps + 1)


def _step_ends(m: Memory, e: ev.StepEnds) -> Memory:
    return m if e.calls is None or e.error else replied(m, e.calls, e.said, e.announces)


def _ruled(m: Memory, e: ev.Ruled) -> Memory:
    """What the repetition rule said: that a withheld call was asked for is evidence of its own."""
    if not e.applied:
        return m
    if e.rule != RULE:
        return _refused(m, e) if e.verdict == "refuse" and e.layer == "tool" else m
    if e.verdict == "amend":
        return evolve(m, warned=True)
    if e.verdict == "cut":
        return evolve(m, cuts=m.cuts + 1)
    call = e.numbers.get("call")
    if e.verdict != "refuse" or not isinstance(call, str):
        return m
    known = [o for o in m.past if o.asked.call == call]
    weight = EXACT if known else VARIED
    if any(o.withheld and o.step == m.steps for o in known):
        weight = 0.0  # the same reply asked for it several times: nobody was told yet
    outcome = Outcome(
        Asked(call, tool=e.subject),
        fresh=False,
        withheld=True,
        step=m.steps,
        points=((WITHHELD, weight),),
    )
    return evolve(m, past=(*m.past, outcome)[-PAST:], withheld=m.withheld + 1)


def _refused(m: Memory, e: ev.Ruled) -> Memory:
    """Another rule refused a call: its rule and tool stand for what was said of it."""
    refusal = Outcome(
        Asked("", tool=e.subject), fault=f"{e.rule} {e.subject}", withheld=True, step=m.steps
    )
    points = tuple((s.name, p) for s in SIGNALS if (p := s.seen(m, refusal)))
    refusal = evolve(refusal, points=points, fresh=False)
    return evolve(m, past=(*m.past, refusal)[-PAST:], withheld=m.withheld + 1)


def _run_resumes(m: Memory, e: ev.RunResumes) -> Memory:
    return evolve(m, open={})


def _round_begins(m: Memory, e: ev.RoundBegins) -> Memory:
    """A new round sees no earlier conversation, so asking anew is no repetition. What was written
    is written, and how often a round was cut for repeating itself stays known."""
    kept = {"open": m.open, "written": m.written, "polls": m.polls, "cuts": m.cuts}
    return evolve(Memory(), **kept, steps=m.steps)


def _user_turn(m: Memory, e: ev.UserTurn) -> Memory:
    """A person's words are news to those who only talked."""
    return evolve(m, said=(), talk=0, blanks=0, warned=False)


_FOLD: dict[str, Callable[[Memory, Any], Memory]] = {
    ev.ActionBegins.kind: _action_begins,
    ev.ActionEnds.kind: _action_ends,
    ev.StepBegins.kind: _step_begins,
    ev.StepEnds.kind: _step_ends,
    ev.Ruled.kind: _ruled,
    ev.RunResumes.kind: _run_resumes,
    ev.RoundBegins.kind: _round_begins,
    ev.UserTurn.kind: _user_turn,
}


def remember(memory: Memory, event: ev.Event) -> Memory:
    """The memory after this record."""
    change = _FOLD.get(event.kind)
    return memory if change is None else change(memory, event)
