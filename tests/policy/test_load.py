from __future__ import annotations

import re
from pathlib import Path

import pytest

from roundsman.errors import PolicyError
from roundsman.guard import rules
from roundsman.guard.stuck.fold import RULE
from roundsman.policy import PRESETS, RULE_NAMES, Policy, load_policy


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


def test_with_tools_keeps_what_the_policy_says(tmp_path: Path) -> None:
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


def test_a_missing_file_lists_the_presets() -> None:
    want = r"no policy file or preset 'defualt'; did you mean 'default'\? presets: baseline, "
    with pytest.raises(PolicyError, match=want):
        load_policy("defualt")


def test_a_near_file_name_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("version: 1\n")
    with pytest.raises(PolicyError, match=r"did you mean 'policy.yaml'"):
        load_policy(tmp_path / "polcy.yaml")


def test_a_folder_is_no_policy(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="is a folder"):
        load_policy(tmp_path)


@pytest.mark.parametrize("bad", ["", "\0", "x" * 5000, "a/b/c.yaml"])
def test_odd_names_are_refused_in_one_line(bad: str) -> None:
    with pytest.raises(PolicyError):
        load_policy(bad)


def test_extends_defaults_to_the_default_preset(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("run: {tokens: 5}\n")
    policy = load_policy(tmp_path / "p.yaml")
    assert (policy.name, policy.run.tokens, policy.run.steps) == ("p", 5, 48)
    assert policy.usd_from_preset


def test_extends_a_file_beside_it_and_merges_deep(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "b.yaml").write_text(
        "extends: strict\nrun: {usd: 1}\ntools: {allow: {a: {effect: read, max_calls: 2}}}\n"
    )
    (tmp_path / "top.yaml").write_text(
        "extends: base/b.yaml\nrun: {tokens: null}\ntools: {allow: {a: {max_calls: 3}}}\n"
    )
    policy = load_policy(tmp_path / "top.yaml")
    assert (policy.run.tokens, policy.run.usd, policy.loop.max_rounds) == (None, 1.0, 4)
    assert not policy.usd_from_preset
    rule = policy.tools.allow["a"]
    assert (rule.effect, rule.max_calls) == ("read", 3)


def test_a_circle_of_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("version: 1\nextends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("extends: a.yaml\n")
    with pytest.raises(PolicyError, match=r"b\.yaml:1: extends: a circle of files \(a.yaml -> b"):
        load_policy(tmp_path / "a.yaml")


def test_a_missing_base_blames_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("version: 1\nextends: strit\n")
    with pytest.raises(PolicyError, match=r"a\.yaml:2: extends: no policy file .*'strict'"):
        load_policy(tmp_path / "a.yaml")


def test_files_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("tools: {allow: {t: {args: {n: {max: 5}}}}}\n")
    (tmp_path / "a.yaml").write_text(
        "extends: b.yaml\ntools: {allow: {t: {args: {n: {min: 9}}}}}\n"
    )
    with pytest.raises(PolicyError, match=r"a\.yaml:2: .*min 9 above max 5"):
        load_policy(tmp_path / "a.yaml")


def test_usd_is_soft_only_from_a_preset(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("run: {usd: 0.50}\n")
    assert load_policy("default").usd_from_preset
    assert not load_policy("baseline").usd_from_preset
    assert not load_policy(tmp_path / "p.yaml").usd_from_preset
    assert load_policy(tmp_path / "p.yaml").digest != load_policy("default").digest


def test_a_bad_declaration_is_a_policy_error() -> None:
    with pytest.raises(PolicyError, match=r"declared tools: tools.allow.a.effect"):
        load_policy("default").with_tools({"a": {"effect": "raed"}})


def test_an_explicit_default_beats_the_declaration(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("tools: {default: allow}\n")
    policy = load_policy(tmp_path / "p.yaml").with_tools({"a": {"effect": "read"}})
    assert policy.tools.default == "allow"


def test_rule_names_are_those_of_the_guard() -> None:
    files = Path(rules.__file__).parent.glob("*.py")
    text = "".join(
        f.read_text() for f in files if f.name != "taint.py"
    )  # its mode is its section's
    names = set(re.findall(r'name: ClassVar\[str\] = "(\w+)"', text)) | {RULE}
    assert names == set(RULE_NAMES)
