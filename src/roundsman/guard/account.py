"""The account: what a run tree has spent and seen, and nothing but the fold of its journal.

`apply(account, event)` is pure and takes constant time a record: what it keeps of the past is
bounded (the last calls, see stuck.memory; one counter a tool, one share an agent).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from roundsman.guard import asking
from roundsman.guard import events as ev
from roundsman.guard.asking import Asks
from roundsman.guard.evolve import evolve
from roundsman.guard.states import LOOP_ENDS, LoopState, Reserved, Share, Stopped
from roundsman.guard.stuck import Memory, remember
from roundsman.guard.trust import Trust
from roundsman.guard.work import Report, Work, follow

__all__ = ["LOOP_ENDS", "Account", "LoopState", "Reserved", "Share", "Stopped", "apply"]


@dataclass(frozen=True)
class Account:
    """All counters of one run tree. Tokens and dollars count what was settled; what is in flight
    is in `reserved`, by step. `cached` are those of `tokens` that a provider read from its cache.
    `over` are tokens billed beyond what a reply was allowed to have, `unpriced` steps of models
    whose price is unknown. `nested` counts agents called
    by others, `calling` are the actions in flight that do so. `cut` is set when an action was cut:
    the round (without rounds: the run) takes no further step; `share_cut` when the last step asked
    for was one its agent had no share left for. `active` is seconds of wall clock without the time
    no process was working, or only a person was waited for (`asks`). `stuck` is what the
    repetition rules look at."""

    run_id: str = ""
    policy: str = ""
    rounds: int = 0
    loops: Mapping[str, LoopState] = field(default_factory=dict)
    steps: int = 0
    actions: int = 0
    tokens: int = 0
    tokens_estimated: int = 0
    cached: int = 0
    over: int = 0
    usd: float = 0.0
    unpriced: int = 0
    share_cut: Stopped | None = None
    nested: int = 0
    calling: frozenset[str] = frozenset()
    replans: int = 0
    active: float = 0.0
    last_at: float | None = None
    asks: Asks = field(default_factory=Asks)
    reserved: Mapping[str, Reserved] = field(default_factory=dict)
    open_actions: Mapping[str, str] = field(default_factory=dict)
    by_tool: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, Share] = field(default_factory=dict)
    stuck: Memory = field(default_factory=Memory)
    work: Work = field(default_factory=Work)
    trust: Trust = field(default_factory=Trust)
    stopped: Stopped | None = None
    loop_ended: Stopped | None = None
    ended: bool = False

    def loop(self, path: str) -> LoopState:
        """State of the loop at this path; a fresh one when nothing happened there yet."""
        return self.loops.get(path, _NEW_LOOP)

    @property
    def ending(self) -> Stopped | None:
        """Why the run ends: it was stopped, or else how the loop that ended last did, or because an
        agent had no share left and nobody went on after it."""
        return self.stopped or self.loop_ended or self.share_cut

    @property
    def reserved_tokens(self) -> int:
        """Tokens promised to calls in flight."""
        return sum(r[0] for r in self.reserved.values())

    @property
    def reserved_usd(self) -> float:
        """Dollars promised to calls in flight."""
        return sum(r[1] for r in self.reserved.values())

    def active_at(self, at: float) -> float:
        """Seconds of wall clock at that time. They stand still while a person is waited for and
        nothing else is under way."""
        if self.last_at is None or (self.asks.open and not self.reserved and not self._working):
            return self.active
        return self.active + max(0.0, at - self.last_at)

    @property
    def _working(self) -> bool:
        asked = {*self.asks.open, *(q.subject for q in self.asks.open.values())}
        return any(action not in asked for action in self.open_actions)


_NEW_LOOP = LoopState()


def _in_loop(a: Account, path: str, **changes: Any) -> dict[str, LoopState]:
    return {**a.loops, path: evolve(a.loop(path), **changes)}


def _with(mapping: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    return {**mapping, key: value}


def _without(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in mapping.items() if k != key}


def _run_begins(a: Account, e: ev.RunBegins) -> Account:
    return evolve(a, run_id=e.run_id, policy=e.policy, trust=a.trust.heard(e.question))


def _run_resumes(a: Account, e: ev.RunResumes) -> Account:
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
    return evolve(
        a,
        policy=e.policy or a.policy,
        last_at=e.at,
        tokens=a.tokens + spent,
        tokens_estimated=a.tokens_estimated + spent,
        usd=a.usd + usd,
        shares=shares,
        asks=evolve(a.asks, open={}),  # what is left open has expired
        reserved={},
        open_actions={},
        calling=frozenset(),
    )


def _run_ends(a: Account, e: ev.RunEnds) -> Account:
    return evolve(a, ended=True, stopped=Stopped(e.reason, e.rule, e.layer, e.detail))


def _round_begins(a: Account, e: ev.RoundBegins) -> Account:
    loops = _in_loop(a, e.loop, rounds=e.index, steps=0, said_cut="", cut=None)
    return evolve(a, rounds=a.rounds + 1, loops=loops)


def _round_ends(a: Account, e: ev.RoundEnds) -> Account:
    idle = 0 if e.new else a.loop(e.loop).idle + 1
    return evolve(a, loops=_in_loop(a, e.loop, idle=idle, held=e.held))


def _step_begins(a: Account, e: ev.StepBegins) -> Account:
    share = a.shares.get(e.agent, Share())
    return evolve(
        a,
        steps=a.steps + 1,
        unpriced=a.unpriced + (e.prices is None),
        loops=_in_loop(a, e.loop, steps=a.loop(e.loop).steps + 1) if e.loop else a.loops,
        share_cut=None,
        reserved=_with(a.reserved, e.id, Reserved(e.reserved_tokens, e.reserved_usd, e.agent)),
        shares=_with(a.shares, e.agent, evolve(share, steps=share.steps + 1)),
    )


def _step_ends(a: Account, e: ev.StepEnds) -> Account:
    share = a.shares.get(e.agent, Share())
    return evolve(
        a,
        tokens=a.tokens + e.tokens - e.corrects,
        tokens_estimated=a.tokens_estimated + (e.tokens if e.estimated else 0) - e.corrects,
        cached=a.cached + e.cached,
        over=a.over + e.over,
        usd=a.usd + e.usd,
        reserved=_without(a.reserved, e.id),
        shares=_with(
            a.shares,
            e.agent,
            evolve(
                share,
                tokens=share.tokens + e.tokens - e.corrects,
                cached=share.cached + e.cached,
                usd=share.usd + e.usd,
            ),
        ),
    )


def _action_begins(a: Account, e: ev.ActionBegins) -> Account:
    share = a.shares.get(e.agent, Share())
    return evolve(
        a,
        actions=a.actions + 1,
        nested=a.nested + e.nested,
        calling=a.calling | {e.id} if e.nested else a.calling,
        by_tool=_with(a.by_tool, e.tool, a.by_tool.get(e.tool, 0) + 1),
        open_actions=_with(a.open_actions, e.id, e.tool),
        asks=asking.begun(a.asks, e.id, e.approval) if e.approval else a.asks,
        shares=_with(a.shares, e.agent, evolve(share, actions=share.actions + 1)),
    )


def _action_ends(a: Account, e: ev.ActionEnds) -> Account:
    calling = a.calling - {e.id} if e.id in a.calling else a.calling
    trust = a.trust if e.status in ("blocked", "unknown") else a.trust.got(e.tool)
    return evolve(
        a,
        open_actions=_without(a.open_actions, e.id),
        calling=calling,
        asks=asking.ended(a.asks, e.id),
        trust=trust,
    )


def _agent_enters(a: Account, e: ev.AgentEnters) -> Account:
    return evolve(a, nested=a.nested + 1) if e.called else a


def _action_settled(a: Account, e: ev.ActionSettled) -> Account:
    change = asking.again if e.decision == "again" else asking.ended
    return evolve(a, asks=change(a.asks, e.id))


def _plan_revised(a: Account, e: ev.PlanRevised) -> Account:
    return evolve(a, replans=a.replans + 1)


def _reported(a: Account, e: ev.Reported) -> Account:
    if not e.ends_run or a.stopped is not None:
        return a
    report = Report(e.complete, e.summary, e.undone)
    return evolve(a, stopped=Stopped(report.reason, "finish", "loop", report.line()))


def _ruled(a: Account, e: ev.Ruled) -> Account:
    if not e.applied:
        return a
    if e.verdict == "stop" and e.layer == "loop" and e.stop in LOOP_ENDS:
        how = Stopped(e.stop, e.rule, e.layer, e.reason)
        return evolve(a, loops=_in_loop(a, e.loop, ended=how), loop_ended=how)
    if e.verdict == "stop" and a.stopped is None:
        return evolve(a, stopped=Stopped(e.stop, e.rule, e.layer, e.reason))
    if e.verdict == "cut":
        why = Stopped(e.stop, e.rule, e.layer, e.reason)
        if e.rule == "shares":  # the agent is cut, not the round
            return evolve(a, share_cut=why)
        cut = why if e.layer == "tool" else a.loop(e.loop).cut
        return evolve(a, loops=_in_loop(a, e.loop, said_cut=e.reason, cut=cut))
    return a


def _user_turn(a: Account, e: ev.UserTurn) -> Account:
    trust = a.trust.heard(e.text)
    for source in e.sources:
        trust = trust.got(source)
    return evolve(a, trust=trust)


def _asked(a: Account, e: ev.Asked) -> Account:
    return evolve(a, asks=asking.asked(a.asks, e))


def _answered(a: Account, e: ev.Answered) -> Account:
    return evolve(a, asks=asking.answered(a.asks, e))


def _nothing(a: Account, e: ev.Event) -> Account:
    return a


_FOLD: dict[str, Callable[[Account, Any], Account]] = {
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
    stuck = remember(account.stuck, event)
    account = evolve(
        account,
        active=active,
        last_at=event.at,
        stuck=stuck,
        work=follow(account.work, event),
    )
    return _FOLD[event.kind](account, event)
