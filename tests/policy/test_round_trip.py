from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from roundsman.policy import PRESETS, RULE_NAMES, Policy, json_schema, load_policy, to_yaml
from roundsman.policy.model import SIGNALS
from roundsman.policy.render import to_data
from roundsman.policy.units import format_duration, parse_duration

limits = st.integers(1, 10**12)
numbers = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
seconds = st.integers(1, 10**6).map(float) | st.floats(0.001, 1e6).map(lambda x: round(x, 3))
scalars = st.none() | st.booleans() | numbers | names | st.sampled_from(["off", "1e5", "09", "~"])


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


args = st.dictionaries(
    names,
    some(max=numbers, on_excess=st.sampled_from(["clamp", "refuse"]))
    | some(allowed=st.lists(scalars, min_size=1, max_size=3)),
    max_size=2,
)
tool = some(
    effect=st.sampled_from(["read", "poll", "write", "destructive"]),
    args=args,
    max_calls=limits,
    spans=st.lists(
        st.fixed_dictionaries(
            {"args": st.just(["from", "to"]), "max": seconds.map(format_duration)},
            optional={"on_excess": st.sampled_from(["clamp", "refuse"])},
        ),
        max_size=2,
    ),
    resource=names.filter(lambda text: not set(text) & set("{}")) | st.just("db/{name}"),
)
policies = some(
    loop=some(max_rounds=limits | st.none(), accept_done=st.just("always")),
    run=some(
        tokens=limits | st.none(),
        usd=st.floats(1e-6, 1e6) | st.none(),
        wall_clock=seconds | st.none(),
        accounting=st.sampled_from(["reserve", "settle"]),
    ),
    round=some(timeout=seconds, steps=limits),
    tools=some(
        default=st.sampled_from(["refuse", "allow"]),
        allow=st.dictionaries(names, tool, max_size=3),
    ),
    repetition=some(
        mode=st.sampled_from(["off", "simple", "results"]),
        window=st.integers(1, 50),
        poll=seconds | st.none(),
        stop=st.floats(3, 100),
        another_round=st.sampled_from(["with_findings", "always"]),
        signals=st.lists(st.sampled_from(SIGNALS), max_size=3),
    ),
    prices=st.dictionaries(
        names,
        st.fixed_dictionaries(
            {"input_per_million": st.floats(0, 100), "output_per_million": st.floats(0, 100)}
        ),
        max_size=2,
    ),
    rules=st.dictionaries(
        st.sampled_from(RULE_NAMES), st.sampled_from(["off", "shadow", "enforce"]), max_size=3
    ),
    exceptions=st.lists(st.fixed_dictionaries({"path": names, "why": names}), max_size=2),
    name=names,
).map(Policy.model_validate)


@given(policies)
@example(Policy(name="\x85 \u2028\n"))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_shown_loads_back_equal(tmp_path: Path, policy: Policy) -> None:
    file = tmp_path / "shown.yaml"
    file.write_text(to_yaml(policy), encoding="utf-8", newline="")
    loaded = load_policy(file)
    assert loaded == policy
    assert loaded.digest == policy.digest
    declared = {"query_logs": {"effect": "read"}}
    assert loaded.with_tools(declared) == policy.with_tools(declared)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_shown_loads_back_equal(tmp_path: Path, preset: str) -> None:
    policy = load_policy(preset).with_tools({"a": {"args": {"n": {"max": 60}}}})
    (tmp_path / "shown.yaml").write_text(to_yaml(policy))
    loaded = load_policy(tmp_path / "shown.yaml")
    assert loaded == policy
    assert loaded.usd_from_preset == policy.usd_from_preset


@given(seconds)
def test_a_duration_reads_back(value: float) -> None:
    assert parse_duration(format_duration(value)) == value


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_durations_add_up(hours: int, minutes: int, secs: int) -> None:
    if hours + minutes + secs:
        total = parse_duration(f"{hours}h{minutes}m{secs}s")
        assert total == hours * 3600 + minutes * 60 + secs


@given(st.text(max_size=12))
def test_any_other_duration_is_a_value_error(text: str) -> None:
    try:
        assert parse_duration(text) > 0
    except ValueError as err:
        assert "accepted" in str(err) or "unit" in str(err)  # noqa: PT017


def test_seconds_in_code_are_seconds() -> None:
    assert Policy.model_validate({"run": {"wall_clock": 600}}).run.wall_clock == 600.0
    assert Policy.model_validate({"run": {"wall_clock": "10m"}}).run.wall_clock == 600.0


def test_whole_numbers_of_a_clamp_stay_whole() -> None:
    rule = {"tools": {"allow": {"t": {"args": {"n": {"max": 60}}}}}}
    assert type(Policy.model_validate(rule).tools.allow["t"].args["n"].max) is int


def test_the_schema_names_every_key_and_no_default() -> None:
    schema = json_schema()
    assert schema["$schema"].endswith("2020-12/schema")
    assert set(schema["properties"]) >= set(to_data(load_policy("default")))
    tools = schema["$defs"]["Tools"]["properties"]
    assert set(tools) == {"default", "allow", "approval_expires"}
    assert schema["$defs"]["Run"]["properties"]["wall_clock"]["anyOf"][0]["type"] == "string"
    assert '"default": null' not in json.dumps(schema)
