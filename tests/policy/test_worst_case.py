from __future__ import annotations

from roundsman.policy import Policy, check_lines, load_policy, price_of, worst_case


def test_free_cached_tokens_are_noted() -> None:
    policy = Policy.model_validate({"run": {"tokens": 9, "cached_tokens": "free"}})
    assert any("cache is not counted" in note for note in worst_case(policy)["notes"])


def test_baseline_says_what_is_unbounded() -> None:
    worst = worst_case(load_policy("baseline"))
    assert (worst["rounds"], worst["steps"], worst["tokens"]) == (6, 48, 30_000)
    assert (worst["minutes"], worst["usd"]) == (12, None)
    assert worst["unbounded"] == ["actions", "usd"]
    assert any("plus one unbounded call" in note for note in worst["notes"])


def test_default_holds_every_limit_but_actions() -> None:
    worst = worst_case(load_policy("default"))
    assert (worst["steps"], worst["usd"], worst["minutes"]) == (48, 0.5, 10)
    assert worst["unbounded"] == ["actions"]
    assert any("come from a preset" in note for note in worst["notes"])


def test_strict_bounds_everything() -> None:
    assert worst_case(load_policy("strict"))["unbounded"] == []


def test_a_rule_in_shadow_bounds_nothing() -> None:
    policy = load_policy("strict").model_copy(update={"rules": {"tokens": "shadow"}})
    worst = worst_case(policy)
    assert worst["unbounded"] == ["tokens"]
    assert "rules: not enforced: tokens (shadow)" in worst["notes"]


def test_a_closed_counted_allowlist_bounds_actions() -> None:
    tools = {"a": {"max_calls": 3}, "b": {"max_calls": 4}}
    assert worst_case(load_policy("default").with_tools(tools))["actions"] == 7
    assert worst_case(load_policy("default").with_tools({**tools, "c": {}}))["actions"] is None


def test_no_limit_at_all_says_so() -> None:
    assert "worst case: no limit" in check_lines(Policy())


def test_prices_of_the_policy_come_first() -> None:
    price = {"input_per_million": 1.0, "output_per_million": 2.0}
    policy = Policy.model_validate({"prices": {"gemini-2.5-flash": price}})
    for name in ("gemini-2.5-flash", "gemini/gemini-2.5-flash"):
        found = price_of(name, policy)
        assert found is not None
        assert found.output_per_million == 2.0


def test_analyst_and_scripted_models_cost_nothing() -> None:
    for name in ("analyst", "scripted", "scripted-converge"):
        found = price_of(name, Policy())
        assert found is not None
        assert (found.input_per_million, found.output_per_million) == (0, 0)


def test_known_models_have_a_price_and_unknown_ones_none() -> None:
    for name in ("gemini-2.5-flash", "openai/gpt-4o", "gemini/gemini-2.5-flash"):
        found = price_of(name, Policy())
        assert found is not None
        assert found.input_per_million > 0
    for name in ("no-such-model", "openai/no-such-model", "", "/"):
        assert price_of(name, Policy()) is None


def test_what_an_app_without_rounds_may_use_is_said_where_it_is_more() -> None:
    def told(policy: Policy) -> list[str]:
        return [n for n in worst_case(policy)["notes"] if "without it" in n]

    assert told(load_policy("default")) == []
    assert told(load_policy("strict")) == [
        "rounds: their limits hold only inside loop_until_done; without it 5m"
    ]
