"""The rules, and which of them a policy asks for. A new rule: one class in one file here, one line
in `rules_for`, its section in the policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from roundsman.guard.decide import Placed, Rule
from roundsman.guard.rules.agents import AgentCalls, AgentDepth, Replans
from roundsman.guard.rules.approval import ApprovalNeeded
from roundsman.guard.rules.arguments import Bound, Clamp
from roundsman.guard.rules.budgets import (
    ActionBudget,
    DollarBudget,
    RoundSteps,
    StepBudget,
    TokenBudget,
    WallClock,
)
from roundsman.guard.rules.finish import ReportDue
from roundsman.guard.rules.repetition import OnlyTalk, SimpleRepetition, Stuck
from roundsman.guard.rules.rounds import (
    AcceptDone,
    IdleRounds,
    MaxRounds,
    ReadableAnswer,
    RoundTimeout,
)
from roundsman.guard.rules.shares import ShareLimit, Shares
from roundsman.guard.rules.spans import Span, SpanLimit
from roundsman.guard.rules.tools import Allowlist, MaxCalls

if TYPE_CHECKING:
    from roundsman.policy import Policy

FRAMEWORK_TOOLS = frozenset(
    {
        "transfer_to_agent", "set_model_response", "finish_task", "exit_loop",
        "adk_request_input", "adk_request_confirmation", "adk_request_credential",
        "load_artifacts", "task_completed", "stop_streaming", "adk_handle_model_error",
        "report_complete", "report_partial", "make_plan", "mark_step", "revise_plan",
    }
)  # fmt: skip
"""Tools the engine and the guard add by themselves; an allowlist that refused them would break transfers and
structured output."""

REPORTS = ("report_complete", "report_partial")
ANSWERS = frozenset({"set_model_response", "finish_task", "exit_loop", "task_completed", *REPORTS})
"""Framework tools by which an agent ends: withholding one would keep it going."""


ASKED_AT = frozenset({"max_rounds", "wall_clock", "steps", "tokens", "usd", "actions"})
"""Limits at which a person can grant more, under `on_limit: ask`."""

_UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}


def rules_for(policy: Policy) -> tuple[Placed, ...]:
    """The rules this policy asks for, in the order they are looked at (done before idle, rounds
    before tokens), each in its mode."""
    rules: list[Rule] = [AcceptDone(policy.loop.accept_done), ReadableAnswer()]
    loop, run, rnd = policy.loop, policy.run, policy.round
    reserve, free_cached = run.accounting == "reserve", run.cached_tokens == "free"
    if rnd.timeout is not None:
        rules.append(RoundTimeout(rnd.timeout))
    if loop.stop_after_idle_rounds is not None:
        rules.append(IdleRounds(loop.stop_after_idle_rounds))
    if loop.max_rounds is not None:
        rules.append(MaxRounds(loop.max_rounds))
    if run.wall_clock is not None:
        rules.append(WallClock(run.wall_clock))
    if rnd.steps is not None:
        rules.append(RoundSteps(rnd.steps))
    if run.steps is not None:
        rules.append(StepBudget(run.steps))
    if run.tokens is not None:
        rules.append(TokenBudget(run.tokens, reserve, free_cached))
    if run.usd is not None:
        rules.append(DollarBudget(run.usd, not policy.usd_from_preset))
    if policy.agents.shares:
        limits = {
            name: ShareLimit(s.tokens, s.usd, s.steps, s.actions)
            for name, s in policy.agents.shares.items()
        }
        rules.append(Shares(limits, reserve, free_cached))
    rules += _tool_rules(policy)
    if policy.agents.max_calls is not None:
        rules.append(AgentCalls(policy.agents.max_calls))
    if policy.agents.max_depth is not None or policy.agents.recursion != "allow":
        rules.append(AgentDepth(policy.agents.max_depth, policy.agents.recursion))
    if policy.plan.max_replans is not None:
        rules.append(Replans(policy.plan.max_replans))
    rules.append(ReportDue(policy.finish.report_after_steps))
    modes: Mapping[str, str] = policy.rules
    asks = run.on_limit == "ask"
    placed = [
        Placed(rule, modes.get(rule.name, "enforce"), asks and rule.name in ASKED_AT)
        for rule in rules
    ]
    placed += _conversation_rules(policy)
    return tuple(p for p in placed if p.mode != "off")


def _conversation_rules(policy: Policy) -> list[Placed]:
    """Nothing for a policy without a word about texts: their checks take time to load."""
    talk, rules = policy.conversation, list[Placed]()
    if talk.taint.mode != "off":
        from roundsman.guard.rules.taint import taint_rule

        rules.append(Placed(taint_rule(policy), talk.taint.mode))
    if talk.checks:
        from roundsman.guard.rules.conversation import text_rules

        rules += text_rules(talk)
    return rules


def _tool_rules(policy: Policy) -> list[Rule]:
    tools, rules = policy.tools, list[Rule]()
    closed = tools.default == "refuse"
    if closed or tools.allow:
        rules.append(Allowlist(frozenset(tools.allow), FRAMEWORK_TOOLS, closed))
    limits = {name: t.max_calls for name, t in tools.allow.items() if t.max_calls is not None}
    if limits:
        rules.append(MaxCalls(limits))
    bounds = {
        name: {
            arg: Bound(
                a.min,
                a.max,
                a.on_excess,
                None if a.allowed is None else tuple(a.allowed),
                a.type,
                _UNITS[a.unit] if a.unit else 0,
            )
            for arg, a in t.args.items()
        }
        for name, t in tools.allow.items()
        if t.args
    }
    if bounds:
        rules.append(Clamp(bounds, tools.approval_expires))
    spans = {
        name: tuple(Span(*s.args, s.seconds, s.on_excess) for s in t.spans)
        for name, t in tools.allow.items()
        if t.spans
    }
    if spans:
        rules.append(SpanLimit(spans))
    approved = frozenset(name for name, t in tools.allow.items() if t.approve == "always")
    if approved:  # after the bounds: it is the call as it would run
        rules.append(ApprovalNeeded(approved, tools.approval_expires))
    if policy.run.actions is not None:
        rules.append(ActionBudget(policy.run.actions))
    return rules + _repetition_rules(policy)


def _repetition_rules(policy: Policy) -> list[Rule]:
    rep = policy.repetition
    if rep.mode == "off":
        return []
    if rep.mode == "simple":
        return [SimpleRepetition(rep.window, rep.limit)]
    signals = frozenset(rep.signals)
    levels = (rep.warn, rep.withhold, rep.stop)
    asked = frozenset(n for n, t in policy.tools.allow.items() if t.approve == "always")
    stuck = Stuck(signals, *levels, rep.poll, ANSWERS, rep.another_round, asked)
    return [stuck, OnlyTalk(signals)]
