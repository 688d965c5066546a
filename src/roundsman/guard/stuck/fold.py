"""How records change the memory. Pure; each takes constant time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from roundsman.guard import events as ev
from roundsman.guard.evolve import evolve
from roundsman.guard.stuck.conversations import heard, joined, new_round, of, where_of
from roundsman.guard.stuck.evidence import seen
from roundsman.guard.stuck.memory import (
    BEGUN,
    PAST,
    TALKERS,
    WRITTEN,
    Asked,
    Conversation,
    Memory,
    Outcome,
    Talk,
    Where,
)
from roundsman.guard.stuck.narration import replied
from roundsman.guard.stuck.polling import polled

RULE = "repetition"
WITHHELD = "withheld"
_OF_ONE_RULE = {"allowed": "clamp", "arguments": "clamp"}
"""Names under which one rule refuses, and that rule: to be refused by it again is the same refusal."""
EXACT, VARIED = 1.0, 0.3
"""Points of a call that was withheld: of one that had been asked before, of a variation of one."""


def asked_of(event: ev.ActionBegins) -> Asked:
    """The call of a proposal as the signals see it."""
    e = event
    return Asked(e.call, e.gist, e.tool, e.effect, e.alters, e.agent)


def _action_begins(m: Memory, e: ev.ActionBegins) -> Memory:
    call, where = asked_of(e), where_of(e)
    mine = of(m, where)
    mine = evolve(
        mine,
        flying={**mine.flying, e.id: call},
        begun=(*mine.begun, (m.number, call.call))[-BEGUN:],
        talks=_quiet(mine.talks, e.agent),
        due=max(0, mine.due - 1),
    )
    cut_for = m.cut_for
    if e.loop in cut_for:  # the round that follows goes another way
        cut_for = {loop: c for loop, c in cut_for.items() if loop != e.loop}
    return evolve(
        m,
        open={**m.open, e.id: where},
        talking=heard(m, where, mine),
        cut_for=cut_for,
        number=m.number + 1,
    )


def _action_ends(m: Memory, e: ev.ActionEnds) -> Memory:
    """A write that succeeded and is new makes all other calls worth asking again, whoever asked:
    only its own outcomes stay. A rejected or a repeated write changes nothing."""
    where = m.open.get(e.id, Where())
    m = joined(m, e.id, where)
    mine = of(m, where)
    call = mine.flying.get(e.id) or Asked(e.call, "", e.tool, e.effect)
    flying = {k: v for k, v in mine.flying.items() if k != e.id}
    left = {k: v for k, v in m.open.items() if k != e.id}
    if e.status in ("blocked", "unknown"):
        talking = heard(m, where, evolve(mine, flying=flying))
        return evolve(m, open=left, answered=where, talking=talking)
    now = Outcome(call, e.print, e.shape, e.fault, step=mine.step, number=m.number)
    if call.effect == "poll":
        mine = evolve(mine, flying=flying, polls=polled(mine, now, e.at))
        return evolve(m, open=left, answered=where, talking=heard(m, where, mine))
    points = seen(mine, now)
    fresh = not now.fault and all(o.print != now.print for o in mine.past)
    past, written, progress = mine.past, mine.written, fresh and not points
    if call.alters and not now.fault:
        if call.call not in written:
            m = evolve(m, talking={w: _only(c, call.call) for w, c in m.talking.items()})
            past = _only(mine, call.call).past
            progress, points, fresh = True, (), True
        written = (*(w for w in written if w != call.call), call.call)[-WRITTEN:]
    now = evolve(now, points=points, fresh=fresh)
    mine = evolve(
        mine,
        flying=flying,
        past=(*past, now)[-PAST:],
        written=written,
        run=(call.call, mine.run[1] + 1 if mine.run[0] == call.call else 1),
        warned=mine.warned and not progress,
        withheld=0 if progress else mine.withheld,
    )
    talking = heard(m, where, mine)
    return evolve(m, open=left, answered=where, talking=talking, number=m.number + 1)


def _only(conversation: Conversation, call: str) -> Conversation:
    kept = tuple(o for o in conversation.past if o.asked.call == call)
    return evolve(conversation, past=kept)


def _quiet(talks: Mapping[str, Talk], agent: str) -> Mapping[str, Talk]:
    """An agent that acts has not only talked."""
    return {a: t for a, t in talks.items() if a != agent} if agent in talks else talks


def _step_begins(m: Memory, e: ev.StepBegins) -> Memory:
    where = where_of(e)
    mine = evolve(of(m, where), step=m.steps + 1, due=0)
    return evolve(
        m,
        steps=m.steps + 1,
        replies={**m.replies, e.id: where},
        talking=heard(m, where, mine),
    )


def _step_ends(m: Memory, e: ev.StepEnds) -> Memory:
    where = m.replies.get(e.id)
    if where is None:  # a later record of a reply that was read already
        return m
    replies = {k: v for k, v in m.replies.items() if k != e.id}
    mine = m.talking.get(where)
    if mine is None or e.calls is None or e.error:
        return evolve(m, replies=replies)
    talks = mine.talks
    if e.agent[:1] != "(":  # a call that no agent makes is nobody's turn
        said = replied(talks.get(e.agent, Talk()), e.calls, e.said, e.announces)
        talks = {**_quiet(talks, e.agent), e.agent: said}
        talks = dict(list(talks.items())[-TALKERS:])
    talking = heard(m, where, evolve(mine, talks=talks, due=e.calls))
    return evolve(m, replies=replies, talking=talking)


def _ruled(m: Memory, e: ev.Ruled) -> Memory:
    """What the repetition rule said: that a withheld call was asked for is evidence of its own."""
    if not e.applied:
        return m
    if e.rule != RULE:
        return _refused(m, e) if e.verdict == "refuse" and e.layer == "tool" else m
    if e.verdict == "amend":  # said along with the last outcome
        told = evolve(of(m, m.answered), warned=True)
        return evolve(m, talking=heard(m, m.answered, told))
    if e.verdict == "cut":
        cuts = {**m.cuts, e.loop: m.cuts.get(e.loop, 0) + 1}
        return evolve(m, cuts=cuts, cut_for={**m.cut_for, e.loop: e.call})
    call = e.numbers.get("call")
    if e.verdict != "refuse" or not isinstance(call, str):
        return m
    mine = of(m, where_of(e))
    known = [o for o in mine.past if o.asked.call == call]
    weight = EXACT if known else VARIED
    if any(o.withheld and o.step == mine.step for o in known):
        weight = 0.0  # the same reply asked for it several times: nobody was told yet
    outcome = Outcome(
        Asked(call, tool=e.subject),
        fresh=False,
        withheld=True,
        step=mine.step,
        points=((WITHHELD, weight),),
        number=m.number,
    )
    return _not_run(m, e, mine, outcome)


def _refused(m: Memory, e: ev.Ruled) -> Memory:
    """Another rule refused a call: its rule and tool stand for what was said of it."""
    mine = of(m, where_of(e))
    refusal = Outcome(
        Asked("", tool=e.subject),
        fault=f"{_OF_ONE_RULE.get(e.rule, e.rule)} {e.subject}",
        withheld=True,
        step=mine.step,
        number=m.number,
    )
    refusal = evolve(refusal, points=seen(mine, refusal), fresh=False)
    return _not_run(m, e, mine, refusal)


def _not_run(m: Memory, e: ev.Ruled, mine: Conversation, outcome: Outcome) -> Memory:
    mine = evolve(
        mine,
        past=(*mine.past, outcome)[-PAST:],
        withheld=mine.withheld + 1,
        due=max(0, mine.due - 1),
    )
    return evolve(m, talking=heard(m, where_of(e), mine), number=m.number + 1)


def _run_resumes(m: Memory, e: ev.RunResumes) -> Memory:
    talking = {w: evolve(c, flying={}, due=0) for w, c in m.talking.items()}
    return evolve(m, open={}, replies={}, talking=talking)


def _round_begins(m: Memory, e: ev.RoundBegins) -> Memory:
    return new_round(m, e.loop)


def _user_turn(m: Memory, e: ev.UserTurn) -> Memory:
    """A person's words are news to those who only talked."""
    return evolve(m, talking={w: evolve(c, talks={}, warned=False) for w, c in m.talking.items()})


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


_last: tuple[Memory, ev.Event, Memory] | None = None
"""What the last look ahead came to. A rule looks at what the memory will be with an outcome; the fold,
right after, comes to the same."""


def foresee(memory: Memory, event: ev.Event) -> Memory:
    """As `remember`, of a record that is about to be written."""
    global _last
    after = remember(memory, event)
    _last = (memory, event, after)
    return after


def remember(memory: Memory, event: ev.Event) -> Memory:
    """The memory after this record."""
    global _last
    foreseen = _last
    if foreseen is not None and foreseen[1] is event and foreseen[0] is memory:
        _last = None
        return foreseen[2]
    change = _FOLD.get(event.kind)
    return memory if change is None else change(memory, event)
