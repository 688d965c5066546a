"""What is spent and promised never passes a ceiling, whatever runs beside what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from roundsman.guard import Account, Kind, apply, decide, rules_for
from roundsman.guard import events as ev
from roundsman.guard.account import LoopState, Reserved, Share
from roundsman.guard.asking import Asks, Question
from roundsman.guard.rules.budgets import SMALLEST_REPLY, room_for
from roundsman.guard.said import Said
from roundsman.guard.streaming import StepStreams
from roundsman.policy import Policy, load_policy
from roundsman.policy.model import Sections

TOKENS, USD, STEPS, ACTIONS = 20_000, 0.05, 30, 25
SHARE = {"tokens": 6_000, "usd": 0.02, "steps": 7, "actions": 5}
LIMITS: dict[str, Any] = {
    "run": {"tokens": TOKENS, "usd": USD, "steps": STEPS, "actions": ACTIONS},
    "agents": {"shares": {"beta": SHARE}, "max_calls": 4, "recursion": "allow"},
    "tools": {"allow": {"look": {"effect": "read", "max_calls": 6}, "inner": {"effect": "read"}}},
}
PRICES = st.sampled_from([(0.0, 0.0, 0.0), (1.0, 4.0, 0.1), (2.0, 0.0, 2.0), (0.0, 8.0, 0.0)])
AGENT = st.sampled_from(["alpha", "beta", "gamma"])
HAPPENS = st.one_of(
    st.tuples(
        st.just("step"), AGENT, st.integers(0, 6_000), st.none() | st.integers(1, 9_000), PRICES
    ),
    st.tuples(st.just("reply"), st.integers(0, 9), st.floats(0, 1), st.floats(0, 1)),
    st.tuples(st.just("action"), AGENT, st.sampled_from(["look", "inner", "other"])),
    st.tuples(st.just("crash")),
)


def bounded(**sections: Any) -> Policy:
    return Policy.model_validate({**LIMITS, **sections})


def check(a: Account) -> None:
    beta = a.shares.get("beta", Share())
    promised = [Reserved._make(r) for r in a.reserved.values() if r[2] == "beta"]
    assert a.tokens + a.reserved_tokens <= TOKENS
    assert a.usd + a.reserved_usd <= USD + 1e-9
    assert a.steps <= STEPS
    assert a.actions <= ACTIONS
    assert a.nested <= 4
    assert a.by_tool.get("look", 0) <= 6
    assert beta.tokens + sum(r.tokens for r in promised) <= SHARE["tokens"]
    assert beta.usd + sum(r.usd for r in promised) <= SHARE["usd"] + 1e-9
    assert beta.steps <= SHARE["steps"]
    assert beta.actions <= SHARE["actions"]
    assert sum(s.tokens for s in a.shares.values()) == a.tokens
    assert sum(s.usd for s in a.shares.values()) == pytest.approx(a.usd)


@settings(deadline=None, max_examples=300)
@given(st.lists(HAPPENS, max_size=60))
def test_spent_and_promised_never_pass_the_ceiling(story: list[Any]) -> None:
    rules, account = rules_for(bounded()), Account()
    flying: dict[str, ev.StepBegins] = {}
    for number, (what, *rest) in enumerate(story):
        if what == "step":
            agent, prompt, wanted, prices = rest
            step = ev.StepBegins(
                at=1.0, id=f"s{number}", agent=agent, prompt_tokens=prompt, prices=prices,
                max_output_tokens=wanted, reserved_tokens=prompt + (wanted or 0),
            )  # fmt: skip
            verdict = decide(rules, account, step).verdict
            if verdict.kind <= Kind.AMEND:
                allowed = verdict.event or step
                assert isinstance(allowed, ev.StepBegins)
                assert allowed.max_output_tokens is not None
                assert allowed.max_output_tokens >= 1
                flying[step.id] = allowed
                account = apply(account, allowed)
        elif what == "reply" and flying:
            index, produced, read = rest
            step = flying.pop(sorted(flying)[index % len(flying)])
            output = int((step.max_output_tokens or 0) * produced)
            prompt = int(step.prompt_tokens * read)  # an estimate is not below what is billed
            price_in, price_out, _ = step.prices or (0.0, 0.0, 0.0)
            usd = (prompt * price_in + output * price_out) / 1e6
            ends = ev.StepEnds(
                at=1.0, id=step.id, agent=step.agent, tokens=prompt + output, usd=usd
            )
            account = apply(account, ends)
        elif what == "action":
            agent, tool = rest
            action = ev.ActionBegins(
                at=1.0, id=f"a{number}", agent=agent, tool=tool, nested=tool == "inner"
            )
            if decide(rules, account, action).verdict.kind <= Kind.AMEND:
                account = apply(account, action)
        elif what == "crash":
            account, flying = apply(account, ev.RunResumes(at=1.0)), {}
        check(account)


@given(st.floats(-100, 1e6), st.floats(0, 1e6), st.none() | st.integers(1, 10**6))
def test_room_is_never_more_than_what_is_left(
    left: float, flying: float, wanted: int | None
) -> None:
    room = room_for(left, flying, wanted)
    if room.most is not None:
        assert room.most + flying <= left
        assert room.most <= (wanted or 10**9)
    if room.wait:  # waiting is of use: alone the same request has room
        assert flying > 0
        assert room_for(left, 0, wanted).most is not None


def one_more(account: Account, event: ev.Event, policy: Policy) -> Kind:
    return decide(rules_for(policy), account, event).verdict.kind


def share_of(**limits: Any) -> dict[str, Any]:
    return {"agents": {"shares": {"beta": limits}}}


STEP = ev.StepBegins(at=1.0, id="s", agent="beta", prompt_tokens=1, prices=(0.0, 0.0, 0.0))
DEAR = replace(
    STEP, prompt_tokens=10**6, reserved_tokens=10**6, prices=(1.0, 0.0, 1.0), reserved_usd=1.0
)
LOOK = ev.ActionBegins(at=1.0, id="a", agent="beta", tool="look")
INNER = replace(LOOK, tool="inner", nested=True)
CALLED = ev.AgentEnters(at=1.0, agent="beta", called=True)


@pytest.mark.parametrize(
    ("account", "event", "sections"),
    [
        (lambda n: Account(steps=n), STEP, {"run": {"steps": 3}}),
        (lambda n: Account(loops={"": LoopState(1, steps=n)}), STEP, {"round": {"steps": 3}}),
        (lambda n: Account(actions=n), LOOK, {"run": {"actions": 3}}),
        (lambda n: Account(by_tool={"look": n}), LOOK, {"tools": {"allow": {"look": {"max_calls": 3}}}}),
        (lambda n: Account(nested=n), INNER, {"agents": {"max_calls": 3}}),
        (lambda n: Account(nested=n), CALLED, {"agents": {"max_calls": 3}}),
        (lambda n: Account(shares={"beta": Share(steps=n)}), STEP, share_of(steps=3)),
        (lambda n: Account(shares={"beta": Share(actions=n)}), LOOK, share_of(actions=3)),
        (lambda n: Account(replans=n), ev.PlanRevised(at=1.0), {"plan": {"max_replans": 3}}),
        (lambda n: Account(loops={"": LoopState(rounds=n)}), None, {"loop": {"max_rounds": 3}}),
        (lambda n: Account(tokens=n), STEP, {"run": {"tokens": 3, "accounting": "settle"}}),
        (lambda n: Account(active=float(n), last_at=1.0), STEP, {"run": {"wall_clock": 3}}),
        (lambda n: Account(usd=float(n)), DEAR, {"run": {"usd": 3.0}}),
        (lambda n: Account(shares={"beta": Share(tokens=n)}), STEP,
         {**share_of(tokens=3), "run": {"accounting": "settle"}}),
        (lambda n: Account(shares={"beta": Share(usd=float(n))}), DEAR, share_of(usd=3.0)),
    ],
)  # fmt: skip
def test_a_limit_of_three_means_three_and_not_a_fourth(
    account: Any, event: Any, sections: Any
) -> None:
    policy = Policy.model_validate(sections)
    asked = [event or ev.RoundBegins(at=1.0, index=n + 1) for n in range(5)]
    allowed = [one_more(account(n), asked[n], policy) <= Kind.AMEND for n in range(5)]
    assert allowed == [True, True, True, False, False]


def test_idle_rounds_depth_and_recursion_to_the_last() -> None:
    idle = Policy.model_validate({"loop": {"stop_after_idle_rounds": 2}})
    kinds = [
        one_more(Account(loops={"": LoopState(idle=n)}), ev.RoundEnds(at=1.0, new=0), idle)
        for n in range(2)
    ]
    assert kinds == [Kind.ALLOW, Kind.STOP]  # the second idle round in a row is the last
    deep = Policy.model_validate({"agents": {"max_depth": 3}})
    chains = [("a", "b", "c")[:n] for n in range(4)]
    entered = [one_more(Account(), ev.AgentEnters(agent="x", chain=c), deep) for c in chains]
    assert entered == [Kind.ALLOW] * 3 + [Kind.REFUSE]
    for most, again in (("refuse", 0), (0, 0), (2, 2)):
        policy = Policy.model_validate({"agents": {"recursion": most}})
        kinds = [
            one_more(Account(), ev.AgentEnters(agent="a", chain=("a",) * n), policy)
            for n in range(5)
        ]
        assert kinds.count(Kind.ALLOW) == 1 + again


@pytest.mark.parametrize(
    ("sections", "event"),
    [
        ({"run": {"actions": 0}}, LOOK),
        ({"tools": {"allow": {"look": {"max_calls": 0}}}}, LOOK),
        ({"agents": {"max_calls": 0}}, INNER),
        ({"agents": {"shares": {"beta": {"actions": 0}}}}, LOOK),
        ({"plan": {"max_replans": 0}}, ev.PlanRevised(at=1.0)),
        ({"run": {"usd": 0}}, replace(STEP, prices=(0.1, 0.0, 0.1))),
        ({"run": {"usd": 0}}, replace(STEP, prices=(0.0, 0.1, 0.0))),
        ({"run": {"usd": 0}}, replace(STEP, prices=None)),
    ],
)
def test_zero_means_not_even_one(sections: Any, event: ev.Event) -> None:
    assert one_more(Account(), event, Policy.model_validate(sections)) > Kind.AMEND


def test_a_ceiling_of_nothing_lets_models_run_that_cost_nothing() -> None:
    policy = Policy.model_validate({"run": {"usd": 0}})
    assert one_more(Account(), STEP, policy) is Kind.ALLOW
    assert one_more(Account(), ev.RoundBegins(at=1.0), policy) is Kind.ALLOW


@pytest.mark.parametrize("left", [SMALLEST_REPLY - 1, SMALLEST_REPLY])
def test_less_than_the_smallest_reply_is_nothing(left: int) -> None:
    policy = Policy.model_validate({"run": {"tokens": 1_000}})
    kind = one_more(Account(tokens=999 - left), STEP, policy)
    assert kind is (Kind.AMEND if left >= SMALLEST_REPLY else Kind.CUT)


def test_cached_tokens_can_be_left_out() -> None:
    """26 requests of 20,000 tokens, 19,000 of them from the cache, under 100,000."""
    account, policy = Account(), Policy.model_validate(
        {"run": {"tokens": 100_000, "cached_tokens": "free"}}
    )  # fmt: skip
    for number in range(26):
        step = replace(STEP, id=f"s{number}", prompt_tokens=20_000, max_output_tokens=100)
        verdict = decide(rules_for(policy), account, step).verdict
        assert verdict.kind <= Kind.AMEND
        account = apply(account, step)
        account = apply(account, ev.StepEnds(at=1.0, id=step.id, tokens=20_000, cached=19_000))
    assert account.tokens - account.cached == 26_000
    counted = Policy.model_validate({"run": {"tokens": 100_000}})
    assert one_more(account, STEP, counted) is Kind.CUT


@pytest.mark.parametrize(
    "bounds",
    [
        {"run": {"tokens": 30_000, "cached_tokens": "free"}},
        {"run": {"tokens": None, "cached_tokens": "free"},
         "agents": {"shares": {STEP.agent: {"tokens": 30_000}}}},
    ],
    ids=["tree", "share"],
)  # fmt: skip
def test_a_prompt_the_cache_holds_does_not_end_a_run_early(bounds: dict[str, Any]) -> None:
    """26 requests of 20,000 tokens, 19,000 of them from the cache: 26,000 fresh ones, of 30,000."""
    account, policy, done = Account(), Policy.model_validate(bounds), 0
    for number in range(26):
        step = replace(STEP, id=f"s{number}", prompt_tokens=20_000, max_output_tokens=100)
        verdict = decide(rules_for(policy), account, step).verdict
        if verdict.kind > Kind.AMEND:
            break
        account, done = apply(account, verdict.event or step), number + 1
        ends = ev.StepEnds(at=1.0, id=step.id, agent=step.agent, tokens=20_000, cached=19_000)
        account = apply(account, ends)
    assert (done, account.tokens - account.cached) == (26, 26_000)


def test_what_the_cache_held_is_that_of_the_last_reply() -> None:
    account = Account()
    for number, (cached, error) in enumerate([(500, ""), (0, "lost"), (300, "")]):
        step = replace(STEP, id=f"s{number}")
        account = apply(account, step)
        ends = ev.StepEnds(at=1.0, id=step.id, agent=step.agent, cached=cached, error=error)
        account = apply(account, ends)
        assert account.shares[STEP.agent].reused == (cached or 500)
    later = ev.StepEnds(at=1.0, id="s2", agent=STEP.agent, cached=40)
    assert apply(account, later).shares[STEP.agent].reused == 340


def test_an_agent_without_a_share_left_is_cut_and_the_others_go_on() -> None:
    policy = Policy.model_validate({"agents": {"shares": {"beta": {"tokens": 500}}}})
    account = Account(shares={"beta": Share(tokens=495)})
    verdict = decide(rules_for(policy), account, STEP).verdict
    assert (verdict.kind, verdict.rule, verdict.stop) == (Kind.CUT, "shares", "tokens")
    assert verdict.reason == "agent 'beta' used 495 of the 500 tokens of its share"
    assert one_more(account, replace(STEP, agent="gamma"), policy) is Kind.ALLOW


def test_the_clock_stands_still_while_only_a_person_is_waited_for() -> None:
    account = Account()
    for event in (
        ev.RunBegins(at=100.0),
        ev.ActionBegins(at=101.0, id="a1", tool="pay"),
        ev.Asked(at=102.0, id="a1"),
        ev.StepBegins(at=110.0, id="s1"),  # 8 s of waiting alone
        ev.StepEnds(at=115.0, id="s1"),  # 5 s of work beside it
        ev.Answered(at=500.0, id="a1"),  # and 385 s of waiting alone
        ev.ActionEnds(at=503.0, id="a1", tool="pay"),
    ):
        account = apply(account, event)
    assert account.active == 2.0 + 5.0 + 3.0
    policy = load_policy("default")
    still = replace(account, asks=Asks(open={"a1": Question("a1")}), active=599.0)
    assert one_more(still, replace(LOOK, at=9_000.0), policy) is Kind.ALLOW
    assert one_more(replace(still, asks=Asks()), replace(LOOK, at=9_000.0), policy) is Kind.STOP


def test_a_reply_is_cut_where_it_should_have_ended() -> None:
    policy = load_policy("default")
    for output, most, estimated, kind in (
        (100, 100, False, Kind.ALLOW), (101, 100, False, Kind.CUT),
        (141, 100, True, Kind.ALLOW), (142, 100, True, Kind.CUT),
    ):  # fmt: skip
        far = StepStreams(at=1.0, id="s1", output=output, most=most, estimated=estimated)
        assert one_more(Account(), far, policy) is kind
        assert one_more(Account(), far, load_policy("baseline")) is Kind.ALLOW


PINNED = {
    "test_a_limit_of_three_means_three_and_not_a_fourth": {
        "run.steps", "run.actions", "run.tokens", "run.usd", "run.wall_clock", "round.steps",
        "loop.max_rounds", "tools.allow.max_calls", "agents.max_calls", "agents.shares.tokens",
        "agents.shares.usd", "agents.shares.steps", "agents.shares.actions", "plan.max_replans",
    },
    "test_idle_rounds_depth_and_recursion_to_the_last": {
        "loop.stop_after_idle_rounds", "agents.max_depth",
    },
    "test_simple_does_not_run_the_third_identical_call_and_never_ends_the_run": {"repetition.limit"},
    "test_simple_remembers_the_last_five_calls": {"repetition.window"},
    "test_after_fifteen_steps_only_a_partial_report_is_left": {"finish.report_after_steps"},
    "test_a_hung_round_is_cut": {"round.timeout"},
    "test_a_poll_is_bounded_by_time_and_not_by_count": {"repetition.poll"},
    "test_first_a_warning_then_withheld_then_the_end": {
        "repetition.warn", "repetition.withhold", "repetition.stop",
    },
    "test_what_has_expired_is_asked_anew": {"tools.approval_expires"},
    "test_a_text_of_just_the_limit_passes_and_one_more_does_not": {"conversation.checks.max_chars"},
    "test_a_built_in_check_is_held_to_its_budget_too": {"conversation.checks.budget"},
}  # fmt: skip
"""The test that pins a limit to its last value -> the limits, by their path in a policy."""
NO_LIMITS = {"schedule.threads", "conversation.look_back"}


def limits_of(model: Any, path: str = "") -> Iterator[str]:
    """Paths of what bounds a number or a time."""
    for name, info in model.model_fields.items():
        here = f"{path}.{name}" if path else name
        below = list(_models(info.annotation))
        for inner in below:
            yield from limits_of(inner, here)
        said = f"{info.annotation} {info.metadata}"
        if not below and any(word in said for word in ("Gt(", "Ge(", "_seconds")):
            yield here


def _models(annotation: Any) -> Iterator[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def test_every_limit_of_a_policy_is_pinned_by_a_test() -> None:
    found = {p for p in limits_of(Sections) if not p.startswith("prices.")}
    assert found - NO_LIMITS == set().union(*PINNED.values())
    tests = "".join(p.read_text("utf-8") for p in Path(__file__).parents[1].rglob("test_*.py"))
    assert [name for name in PINNED if f"def {name}(" not in tests] == []


@pytest.mark.parametrize("more", [0, 1])
def test_a_text_of_just_the_limit_passes_and_one_more_does_not(more: int) -> None:
    check = {"max_chars": 30, "on": ["input"]}
    policy = Policy.model_validate({"conversation": {"checks": {"long": check}}})
    said = Said(where="input", text="a b " * 7 + "xy" + "z" * more)
    kind = decide(rules_for(policy), Account(), said).verdict.kind
    assert kind is (Kind.REFUSE if more else Kind.ALLOW)
