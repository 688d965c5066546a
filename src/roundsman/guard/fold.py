"""The fold: what each record does to the account.

`apply(account, event)` is pure and takes constant time a record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from roundsman.guard import asking
from roundsman.guard import events as ev
from roundsman.guard.account import Account
from roundsman.guard.evolve import evolve
from roundsman.guard.states import LOOP_ENDS, LoopState, Reserved, Share, Stopped
from roundsman.guard.streaming import StepStreams
from roundsman.guard.stuck import remember
from roundsman.guard.work import Report, follow

Changes = dict[str, Any]
"""Fields of the account, and what they are after the record."""


def _in_loop(a: Account, path: str, **changes: Any) -> dict[str, LoopState]:
    return {**a.loops, path: evolve(a.loop(path), **changes)}


def _with(mapping: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    return {**mapping, key: value}


def _without(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in mapping.items() if k != key}


def _run_begins(a: Account, e: ev.RunBegins) -> Changes:
    return {"run_id": e.run_id, "policy": e.policy, "trust": a.trust.heard(e.question)}


def _run_resumes(a: Account, e: ev.RunResumes) -> Changes:
    """Calls that were in flight when the process died are charged their estimate."""
    spent, usd, shares = 0, 0.0, dict(a.shares)
    for step, promised in a.reserved.items():
        kept = Reserved._make(promised)
        one_tokens, one_usd = e.charged.get(step, (kept.tokens, kept.usd))
        share = shares.get(kept.agent, Share())
        shares[kept.agent] = evolve(
            share, tokens=share.tokens + int(one_tokens), usd=share.usd + float(one_usd)
        )
        spent, usd = spent + int(one_tokens), usd + float(one_usd)
    return {
        "policy": e.policy or a.policy,
        "last_at": e.at,
        "tokens": a.tokens + spent,
        "tokens_estimated": a.tokens_estimated + spent,
        "usd": a.usd + usd,
        "shares": shares,
        "asks": evolve(a.asks, open={}),  # what is left open has expired
        "reserved": {},
        "open_actions": {},
        "calling": frozenset(),
    }


def _run_ends(a: Account, e: ev.RunEnds) -> Changes:
    return {"ended": True, "stopped": Stopped(e.reason, e.rule, e.layer, e.detail)}


def _round_begins(a: Account, e: ev.RoundBegins) -> Changes:
    loops = _in_loop(a, e.loop, rounds=e.index, steps=0, said_cut="", cut=None)
    return {"rounds": a.rounds + 1, "loops": loops}


def _round_ends(a: Account, e: ev.RoundEnds) -> Changes:
    idle = 0 if e.new else a.loop(e.loop).idle + 1
    return {"loops": _in_loop(a, e.loop, idle=idle, held=e.held)}


def _step_begins(a: Account, e: ev.StepBegins) -> Changes:
    share = a.shares.get(e.agent, Share())
    return {
        "steps": a.steps + 1,
        "unpriced": a.unpriced + (e.prices is None),
        "loops": _in_loop(a, e.loop, steps=a.loop(e.loop).steps + 1) if e.loop else a.loops,
        "left_off": None,
        "reserved": _with(a.reserved, e.id, Reserved(e.reserved_tokens, e.reserved_usd, e.agent)),
        "shares": _with(a.shares, e.agent, evolve(share, steps=share.steps + 1)),
    }


def _step_ends(a: Account, e: ev.StepEnds) -> Changes:
    share = a.shares.get(e.agent, Share())
    return {
        "tokens": a.tokens + e.tokens - e.corrects,
        "tokens_estimated": a.tokens_estimated + (e.tokens if e.estimated else 0) - e.corrects,
        "cached": a.cached + e.cached,
        "over": a.over + e.over,
        "usd": a.usd + e.usd,
        "reserved": _without(a.reserved, e.id),
        "shares": _with(
            a.shares,
            e.agent,
            evolve(
                share,
                tokens=share.tokens + e.tokens - e.corrects,
                cached=share.cached + e.cached,
                usd=share.usd + e.usd,
                reused=_reused(a, e, share),
            ),
        ),
    }


def _reused(a: Account, e: ev.StepEnds, share: Share) -> int:
    """What the agent's last prompt had from a cache. A failed call says nothing of it, a later record
    of a reply adds to what that said."""
    if e.error:
        return share.reused
    return e.cached if e.id in a.reserved else share.reused + e.cached


def _action_begins(a: Account, e: ev.ActionBegins) -> Changes:
    share = a.shares.get(e.agent, Share())
    return {
        "actions": a.actions + 1,
        "nested": a.nested + e.nested,
        "calling": a.calling | {e.id} if e.nested else a.calling,
        "by_tool": _with(a.by_tool, e.tool, a.by_tool.get(e.tool, 0) + 1),
        "open_actions": _with(a.open_actions, e.id, e.tool),
        "asks": asking.begun(a.asks, e.id, e.approval) if e.approval else a.asks,
        "shares": _with(a.shares, e.agent, evolve(share, actions=share.actions + 1)),
    }


def _action_ends(a: Account, e: ev.ActionEnds) -> Changes:
    calling = a.calling - {e.id} if e.id in a.calling else a.calling
    trust = a.trust if e.status in ("blocked", "unknown") else a.trust.got(e.tool)
    return {
        "open_actions": _without(a.open_actions, e.id),
        "calling": calling,
        "asks": asking.ended(a.asks, e.id),
        "trust": trust,
        **({} if e.ran or e.id not in a.open_actions else _not_run(a, e)),
    }


def _not_run(a: Account, e: ev.ActionEnds) -> Changes:
    """What its intent counted is given back: no tool has run."""
    tool, share = a.open_actions[e.id], a.shares.get(e.agent, Share())
    return {
        "actions": a.actions - 1,
        "nested": a.nested - (e.id in a.calling),
        "by_tool": _with(a.by_tool, tool, a.by_tool[tool] - 1),
        "shares": _with(a.shares, e.agent, evolve(share, actions=max(0, share.actions - 1))),
    }


def _agent_enters(a: Account, e: ev.AgentEnters) -> Changes:
    return {"nested": a.nested + 1} if e.called else {}


def _action_settled(a: Account, e: ev.ActionSettled) -> Changes:
    change = asking.again if e.decision == "again" else asking.ended
    return {"asks": change(a.asks, e.id)}


def _plan_revised(a: Account, e: ev.PlanRevised) -> Changes:
    return {"replans": a.replans + 1}


def _reported(a: Account, e: ev.Reported) -> Changes:
    if not e.ends_run or a.stopped is not None:
        return {}
    report = Report(e.complete, e.summary, e.undone)
    return {"stopped": Stopped(report.reason, "finish", "loop", report.line())}


def _ruled(a: Account, e: ev.Ruled) -> Changes:
    if not e.applied:
        return {}
    if e.verdict == "stop" and e.layer == "loop" and e.stop in LOOP_ENDS:
        how = Stopped(e.stop, e.rule, e.layer, e.reason)
        return {"loops": _in_loop(a, e.loop, ended=how), "loop_ended": how}
    if e.verdict == "stop" and a.stopped is None:
        return {"stopped": Stopped(e.stop, e.rule, e.layer, e.reason)}
    if e.verdict == "cut":
        why = Stopped(e.stop, e.rule, e.layer, e.reason)
        if e.rule == "shares":  # the agent is cut, not the round
            return {"left_off": why}
        cut = why if e.layer == "tool" else a.loop(e.loop).cut
        off = why if e.subject == StepStreams.kind else a.left_off
        return {"loops": _in_loop(a, e.loop, said_cut=e.reason, cut=cut), "left_off": off}
    return {}


def _user_turn(a: Account, e: ev.UserTurn) -> Changes:
    trust = a.trust.heard(e.text, e.held_back)
    for source in e.sources:
        trust = trust.got(source)
    return {"trust": trust}


def _asked(a: Account, e: ev.Asked) -> Changes:
    return {"asks": asking.asked(a.asks, e)}


def _answered(a: Account, e: ev.Answered) -> Changes:
    return {"asks": asking.answered(a.asks, e)}


def _nothing(a: Account, e: ev.Event) -> Changes:
    return {}


_FOLD: dict[str, Callable[[Account, Any], Changes]] = {
    ev.RunBegins.kind: _run_begins,
    ev.RunResumes.kind: _run_resumes,
    ev.RunEnds.kind: _run_ends,
    ev.RoundBegins.kind: _round_begins,
    ev.RoundEnds.kind: _round_ends,
    ev.StepBegins.kind: _step_begins,
    ev.StepEnds.kind: _step_ends,
    ev.ActionBegins.kind: _action_begins,
    ev.ActionEnds.kind: _action_ends,
    ev.ActionWaits.kind: _nothing,
    ev.ActionSettled.kind: _action_settled,
    ev.AgentEnters.kind: _agent_enters,
    ev.LineDrawn.kind: _nothing,
    ev.Reported.kind: _reported,
    ev.PlanMade.kind: _nothing,
    ev.PlanMarked.kind: _nothing,
    ev.PlanRevised.kind: _plan_revised,
    ev.UserTurn.kind: _user_turn,
    ev.Asked.kind: _asked,
    ev.Answered.kind: _answered,
    ev.Chance.kind: _nothing,
    ev.Ruled.kind: _ruled,
}


_NO_WORK = frozenset({ev.RunResumes.kind, ev.ActionSettled.kind})
"""Written after a time in which nobody worked on the run, as is what a person answers."""


def apply(account: Account, event: ev.Event) -> Account:
    """The account after this record."""
    idle = event.kind in _NO_WORK or (isinstance(event, ev.Answered) and event.decision)
    active = account.active if idle else account.active_at(event.at)
    changes = _FOLD[event.kind](account, event)
    return evolve(
        account,
        **{
            "active": active,
            "last_at": event.at,
            "stuck": remember(account.stuck, event),
            "work": follow(account.work, event),
            **changes,
        },
    )
