"""The eight guardrails of `baseline`, and the rules beside them, one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roundsman.guard import Account, Kind, Verdict, apply, decide, rules_for
from roundsman.guard import events as ev
from roundsman.guard.account import LoopState, Reserved
from roundsman.guard.rules.budgets import UNSAID_REPLY
from roundsman.policy import RULE_NAMES, Policy, load_policy
from roundsman.policy.agents import Share

TOOLS = {
    "default": "refuse",
    "allow": {"read_sensor": {"effect": "read", "args": {"minutes": {"min": 1, "max": 60}}}},
}


def said(account: Account, event: ev.Event, policy: Policy | str = "baseline") -> Verdict:
    loaded = policy if isinstance(policy, Policy) else load_policy(policy)
    return decide(rules_for(loaded.with_tools(TOOLS)), account, event).verdict


def standing(**loop: int) -> Account:
    """An account whose (only) loop stands so."""
    return Account(loops={"": LoopState(**loop)})


def test_policy_and_guard_know_the_same_rules() -> None:
    policy = load_policy("strict").with_tools(TOOLS)
    tools = policy.tools.allow["read_sensor"].model_copy(
        update={"max_calls": 3, "approve": "always"}
    )
    policy = policy.model_copy(
        update={
            "tools": policy.tools.model_copy(update={"allow": {"read_sensor": tools}}),
            "agents": policy.agents.model_copy(update={"shares": {"a": Share(steps=1)}}),
            "run": policy.run.model_copy(
                update={"usd": 1.0, "wall_clock": 60.0, "steps": 9, "actions": 9, "tokens": 99}
            ),
        }
    )
    assert {p.rule.name for p in rules_for(policy)} == set(RULE_NAMES)


@pytest.mark.parametrize("name", RULE_NAMES)
def test_a_rule_can_be_switched_off_and_put_in_shadow(name: str) -> None:
    policy = load_policy("strict").with_tools(TOOLS)
    off = rules_for(policy.model_copy(update={"rules": {name: "off"}}))
    assert name not in {p.rule.name for p in off}
    shadow = rules_for(policy.model_copy(update={"rules": {name: "shadow"}}))
    assert {p.mode for p in shadow if p.rule.name == name} <= {"shadow"}


def test_most_rounds() -> None:
    assert said(Account(rounds=5), ev.RoundBegins(index=6)).kind is Kind.ALLOW
    verdict = said(Account(rounds=6), ev.RoundBegins(index=7))
    assert (verdict.kind, verdict.stop, verdict.layer) == (Kind.STOP, "max_rounds", "loop")


def test_idle_rounds() -> None:
    assert said(Account(), ev.RoundEnds(new=0)).kind is Kind.ALLOW
    assert said(standing(idle=1), ev.RoundEnds(new=1, held=1)).kind is Kind.ALLOW
    assert said(standing(idle=1), ev.RoundEnds(new=0)).stop == "no_progress"


def test_done_needs_a_finding() -> None:
    assert said(Account(), ev.RoundEnds(done=True)).kind is Kind.REFUSE
    assert said(Account(), ev.RoundEnds(done=True, new=1, held=1)).stop == "done"


def test_done_is_looked_at_before_idle() -> None:
    verdict = said(standing(idle=1, held=2), ev.RoundEnds(done=True, new=0, held=2))
    assert (verdict.kind, verdict.stop) == (Kind.STOP, "done")


def test_rounds_are_looked_at_before_tokens() -> None:
    assert said(Account(rounds=6, tokens=99_999), ev.RoundBegins(index=7)).stop == "max_rounds"


def test_an_unreadable_answer_is_on_record_and_idle() -> None:
    event = ev.RoundEnds(index=1, readable=False, at=1.0)
    assert said(Account(), event).rule == "readable_answer"
    assert apply(Account(), event).loop("").idle == 1


@pytest.mark.parametrize("spent", [29_999, 30_000])
def test_token_budget_of_baseline_ends_the_next(spent: int) -> None:
    account, over = Account(tokens=spent, rounds=1), spent >= 30_000
    assert said(account, ev.RoundBegins(index=2)).kind is (Kind.STOP if over else Kind.ALLOW)
    assert said(account, ev.StepBegins()).kind is (Kind.CUT if over else Kind.ALLOW)


def test_reserving_counts_what_is_in_flight() -> None:
    busy = Account(tokens=20_000, reserved={"s1": Reserved(9_000, 0.0)})
    step = ev.StepBegins(id="s2", prompt_tokens=500, prices=(0, 0))
    waits = said(busy, step, "default")
    assert (waits.kind, waits.wait) == (Kind.CUT, True)  # alone it would have 9,500 for its reply
    free = replace(busy, reserved={"s1": Reserved(4_000, 0.0)})
    verdict = said(free, step, "default")
    assert isinstance(verdict.event, ev.StepBegins)
    assert verdict.event.max_output_tokens == 5_500
    assert verdict.event.reserved_tokens == 6_000
    full = said(replace(busy, tokens=29_490), step, "default")
    assert (full.kind, full.wait) == (Kind.CUT, False)  # nothing to wait for


def test_a_request_without_a_limit_of_its_own_is_given_one_that_models_accept() -> None:
    verdict = said(Account(), ev.StepBegins(id="s1", prompt_tokens=500), "default")
    assert isinstance(verdict.event, ev.StepBegins)
    assert verdict.event.max_output_tokens == UNSAID_REPLY
    assert verdict.changes == ()


def test_round_steps() -> None:
    assert said(standing(rounds=1, steps=7), ev.StepBegins()).kind is Kind.ALLOW
    verdict = said(standing(rounds=1, steps=8), ev.StepBegins())
    assert (verdict.kind, verdict.rule) == (Kind.CUT, "round_steps")


def test_allowlist_names_what_is_allowed() -> None:
    verdict = said(Account(), ev.ActionBegins(tool="turn_valve"))
    assert verdict.kind is Kind.REFUSE
    assert "read_sensor" in verdict.reason


def test_window_is_lowered() -> None:
    event = ev.ActionBegins(tool="read_sensor", effect="read", args={"minutes": 240})
    verdict = said(Account(), event)
    assert isinstance(verdict.event, ev.ActionBegins)
    assert verdict.event.args == {"minutes": 60}


def test_a_hung_round_is_cut() -> None:
    verdict = said(Account(), ev.RoundEnds(timed_out=True, readable=False))
    assert (verdict.kind, verdict.rule, verdict.layer) == (Kind.CUT, "round_timeout", "scheduler")


def test_wall_clock_counts_up_to_now() -> None:
    account = Account(active=590.0, last_at=1_000.0)
    assert said(account, ev.RoundBegins(at=1_009.0), "default").kind is Kind.ALLOW
    assert said(account, ev.RoundBegins(at=1_010.0), "default").stop == "wall_clock"


def test_a_preset_ceiling_is_off_for_an_unknown_price_and_a_users_is_not() -> None:
    policy = load_policy("default")
    step = ev.StepBegins(model="homemade", prices=None, prompt_tokens=10)
    assert said(Account(), step, policy).kind <= Kind.AMEND
    mine = policy.model_copy(update={"usd_from_preset": False})
    assert said(Account(), step, mine).stop == "usd"


def test_depth_and_recursion() -> None:
    deep = ev.AgentEnters(agent="d", chain=("a", "b", "c"))
    assert said(Account(), deep, "default").kind is Kind.REFUSE
    assert said(Account(), ev.AgentEnters(agent="a", chain=("a",)), "default").kind is Kind.REFUSE
    assert (
        said(Account(), ev.AgentEnters(agent="c", chain=("a", "b")), "default").kind is Kind.ALLOW
    )
    assert said(Account(), deep).kind is Kind.ALLOW


def test_plans() -> None:
    assert said(Account(replans=1), ev.PlanRevised(), "default").kind is Kind.ALLOW
    assert said(Account(replans=2), ev.PlanRevised(), "default").kind is Kind.REFUSE
