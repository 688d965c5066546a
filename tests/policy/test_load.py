from __future__ import annotations

from roundsman.policy import PRESETS, Policy, load_policy


def test_presets_load() -> None:
    for name in PRESETS:
        assert load_policy(name).name == name


def test_baseline_holds_the_reference_limits_and_nothing_else() -> None:
    p = load_policy("baseline")
    assert (p.loop.max_rounds, p.loop.stop_after_idle_rounds, p.run.tokens) == (6, 2, 30_000)
    assert (p.round.steps, p.round.timeout, p.loop.accept_done) == (8, 120.0, "with_findings")
    assert (p.run.accounting, p.loop.progress, p.repetition.mode) == ("settle", "reference", "off")
    unset = (p.run.usd, p.run.wall_clock, p.run.steps, p.run.actions, p.agents.max_depth)
    assert unset == (None,) * 5
    assert p.plan.max_replans is None
    assert p.agents.recursion == "allow"


def test_with_tools_keeps_what_the_policy_says(tmp_path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("tools: {allow: {query_logs: {args: {window_minutes: {max: 30}}}}}\n")
    declared = {"default": "refuse", "allow": {
        "query_logs": {"effect": "read", "args": {"window_minutes": {"max": 60}}},
        "list_deploys": {"effect": "read"},
    }}  # fmt: skip
    p = load_policy(file).with_tools(declared)
    assert isinstance(p, Policy)
    assert p.tools.default == "refuse"
    assert p.tools.allow["query_logs"].effect == "read"
    assert p.tools.allow["query_logs"].args["window_minutes"].max == 30
    assert set(p.tools.allow) == {"query_logs", "list_deploys"}
    assert p.digest != load_policy(file).digest
