from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.errors import PolicyError
from roundsman.policy import load_policy
from roundsman.policy.load import _checked

WHOLE = """\
version: 1
name: whole
extends: default
loop:
  max_rounds: 6
  stop_after_idle_rounds: 2
  accept_done: with_findings
  progress: grounded
run:
  tokens: 30000
  usd: 0.50
  wall_clock: 10m
  steps: 48
  actions: 100
  on_limit: finish
  accounting: reserve
round:
  steps: 8
  timeout: 2m
tools:
  default: refuse
  allow:
    query_logs:
      effect: read
      max_calls: 20
      resource: logs
      args:
        window_minutes:
          max: 60
          min: 1
          on_excess: clamp
        level:
          allowed: [error, 5, true]
repetition:
  mode: results
  window: 10
  limit: 3
  poll: 5m
  stop: 4.5
  signals: [repeat, near]
agents:
  max_depth: 3
  recursion: refuse
plan:
  max_replans: 2
prices:
  local/model:
    input_per_million: 0
    output_per_million: 0.5
rules:
  tokens: enforce
  wall_clock: off
exceptions:
  - path: root.helper
    why: reviewed by hand
"""
OWN_NAMES = ("query_logs", "window_minutes", "level", "local/model")
KEYS = [
    (n, line.strip(" -").split(":")[0])
    for n, line in enumerate(WHOLE.splitlines(), start=1)
    if line.strip(" -").split(":")[0] not in OWN_NAMES
]


def refusal(text: str) -> str:
    with pytest.raises(PolicyError) as caught:
        _checked(text.encode(), "policy.yaml")
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_whole_file_is_accepted() -> None:
    _checked(WHOLE.encode(), "policy.yaml")


@settings(deadline=None)
@given(st.sampled_from(KEYS), st.data())
def test_any_typo_is_met_with_did_you_mean_on_its_line(
    entry: tuple[int, str], data: st.DataObject
) -> None:
    line, key = entry
    at = data.draw(st.integers(0, len(key) - 1))
    letter = data.draw(st.sampled_from("qxz_"))
    kind = data.draw(st.sampled_from(["drop", "add", "change", "swap", "upper", "hyphen"]))
    typo = {
        "drop": key[:at] + key[at + 1 :],
        "add": key[:at] + letter + key[at:],
        "change": key[:at] + letter + key[at + 1 :],
        "swap": key[:at] + key[at : at + 2][::-1] + key[at + 2 :],
        "upper": key.upper(),
        "hyphen": key.replace("_", "-"),
    }[kind]
    siblings = {k for _, k in KEYS}
    if typo in siblings:
        return
    lines = WHOLE.splitlines()
    lines[line - 1] = lines[line - 1].replace(f"{key}:", f"{typo}:", 1)
    message = refusal("\n".join(lines))
    assert message.startswith(f"policy.yaml:{line}: unknown key {typo!r}"), message
    assert "did you mean" in message


def test_the_message_for_a_typo_is_exactly_this() -> None:
    text = "version: 1\nloop:\n  max_round: 6\n"
    want = "policy.yaml:3: unknown key 'max_round' in loop; did you mean 'max_rounds'?"
    assert refusal(text) == want


def test_a_key_in_the_wrong_section_is_sent_home() -> None:
    assert "did you mean run.tokens?" in refusal("loop: {tokens: 5}\n")
    assert "did you mean loop.max_rounds?" in refusal("max_rounds: 5\n")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("loop: {max_rounds: 0}", "loop.max_rounds is 0; accepted: above 0"),
        ("loop: {max_rounds: -3}", "loop.max_rounds is -3; accepted: above 0"),
        ("loop: {max_rounds: true}", "loop.max_rounds is true; accepted: a whole number above 0"),
        ("loop: {max_rounds: 1.5}", "loop.max_rounds is 1.5; accepted: a whole number above 0"),
        ("loop: {max_rounds: '6'}", "loop.max_rounds is '6'; accepted: a whole number above 0"),
        ("run: {usd: -0.01}", "run.usd is -0.01; accepted: 0 or above"),
        ("run: {actions: -1}", "run.actions is -1; accepted: 0 or above"),
        ("run: {steps: 0}", "accepted: above 0 (a run without model calls has nothing to bound"),
        ("loop: {stop_after_idle_rounds: 0}", "accepted: above 0 (1 stops at the first idle"),
        ("agents: {max_depth: 0}", "accepted: above 0 (1 lets no agent call another"),
        ("agents: {recursion: -1}", "agents.recursion is -1; accepted: 'refuse', 'allow', or how"),
        ("agents: {recursion: true}", "agents.recursion is true; accepted: 'refuse', 'allow'"),
        ("preset: strict", "unknown key 'preset'; did you mean 'extends'?"),
        ("base: strict", "unknown key 'base'; did you mean 'extends'?"),
        ("tools: {allow: {a: {args: {b: {max: 1h, min: 5}}}}}", "one bound with a unit and one"),
        ("tools: {allow: {a: {args: {b: {max: 4 weeks}}}}}", "b.max is '4 weeks'; accepted: a num"),
        ("tools: {allow: {a: {args: {b: {max: 2h, min: 90m, type: integer}}}}}", "type integer"),
        ("tools: {allow: {a: {args: {b: {max: 60, type: duration}}}}}", "bound without a unit"),
        ("tools: {allow: {a: {args: {b: {max: 1.5, type: integer}}}}}", "not whole; round it"),
        ("tools: {allow: {a: {args: {b: {max: 1h, min: 90m}}}}}", "has min 90m above max 1h"),
        ("tools: {allow: {a: {args: {b: {unit: week}}}}}", "unit is 'week'; accepted: 'seconds'"),
        ("run: {usd: true}", "run.usd is true; accepted: a number"),
        ("run: {usd: $0.50}", "run.usd is '$0.50'; accepted: a number"),
        ("run: {usd: 1e999}", "run.usd is inf; accepted: a finite number"),
        ("run: {tokens: 30k}", "run.tokens is '30k'; accepted: a whole number above 0"),
        ("run: {tokens: " + "9" * 5000 + "}", "run.tokens is '9999"),
        ("run: {wall_clock: 600}", "run.wall_clock is 600, which has no unit; write '600s'"),
        ("run: {wall_clock: 0s}", "run.wall_clock is '0s'; accepted: a duration above zero"),
        ("run: {wall_clock: -2m}", "run.wall_clock is '-2m'; accepted: a duration"),
        ("run: {wall_clock: 2 weeks}", "run.wall_clock is '2 weeks'; accepted: a duration"),
        ("run: {wall_clock: 1:30}", "run.wall_clock is '1:30'; accepted: a duration"),
        ("run: {wall_clock: true}", "run.wall_clock is true; accepted: a duration"),
        ("run: {on_limit: finsh}", "accepted: 'finish' or 'ask'; did you mean 'finish'?"),
        ("repetition: {mode: false}", "repetition.mode is false; accepted: 'off'"),
        ("round: [1]", "round is a list; accepted: a mapping with steps, timeout"),
        ("round:", "round is empty (null); accepted: a mapping with steps, timeout"),
        ("tools: {allow: [a]}", "tools.allow is a list; accepted: a mapping"),
        ("tools: {allow: {a: {args: {b: {max: x}}}}}", "tools.allow.a.args.b.max is 'x'"),
        ("tools: {allow: {args: {effct: read}}}", "did you mean 'effect'?"),
        ("tools: {allow: {a: {args: {b: {max: 1, min: 2}}}}}", "has min 2 above max 1"),
        ("prices: {m: {input_per_million: 1}}", "prices.m has no 'output_per_million'; add it"),
        ("prices: {m: {input_per_million: -1, output_per_million: 1}}", "accepted: 0 or above"),
        ("rules: {token: off}", "unknown key 'token' in rules; did you mean 'tokens'?"),
        ("rules: {tokens: on}", "rules.tokens is 'on'; accepted: 'off', 'shadow' or 'enforce'"),
        ("exceptions: [{path: x}]", "exceptions.0 has no 'why'; add it"),
        ("version: 2", "version is 2; accepted: 1"),
        ("version: true", "version is true; accepted: 1"),
        ("version: '1'", "version is '1'; accepted: 1, without quotes"),
        ("version: 'l'", "version is 'l'; accepted: 1"),
        ("extends:", "extends is empty (null); accepted: a preset"),
        ("usd_from_preset: true", "unknown key 'usd_from_preset'"),
        ("plan: {max_replans: 1}\nplan: {max_replans: 2}", "duplicate key 'plan' (first on line 1"),
        ("- a", "not a mapping"),
        ("just text", "not a mapping"),
        ("", "empty"),
        ("# only a comment", "empty"),
        ("a: &x {}\nb: *x", "aliases are not read"),
        ("run: !!python/object:os.system {}", "is not read"),
        ("run: {", "not valid YAML"),
        ("version: 1\n---\nversion: 1", "not valid YAML"),
        ("? [a]\n: 1", "a key must be plain text"),
        ("version: 1\n\x00", "a control character"),
        ("[" * 5000, "nested too deeply"),
        ("version: 1\nloop: " + "[" * 3000 + "]" * 3000 + "\n", ":2: nested too deeply"),
        ("run: " + "{a: " * 300 + "1" + "}" * 300, "unknown key 'a' in run"),
    ],
)
def test_refusals_name_the_value_and_the_way_out(text: str, want: str) -> None:
    message = refusal(text)
    assert message.startswith("policy.yaml")
    assert want in message
    assert "did you mean '1'" not in message


def test_lines_are_those_of_the_value() -> None:
    message = refusal("version: 1\nrun:\n  tokens: 5\n  usd:\n    -1\n")
    assert message.startswith("policy.yaml:5: run.usd is -1")


def test_every_error_is_kept_and_the_first_is_shown() -> None:
    text = "run:\n  tokens: 0\n  steps: 0\nloop: {max_rounds: 0}\n"
    message = refusal(text)
    assert message.startswith("policy.yaml:2: run.tokens")
    assert message.endswith("(and 2 more)")
    with pytest.raises(PolicyError) as caught:
        _checked(text.encode(), "policy.yaml")
    places = [e.split(" is ")[0] for e in caught.value.errors]
    assert places == [
        "policy.yaml:2: run.tokens", "policy.yaml:3: run.steps", "policy.yaml:4: loop.max_rounds",
    ]  # fmt: skip


def test_a_typo_does_not_hide_what_is_missing_elsewhere() -> None:
    text = "exceptions: [{path: x}]\nprices: {m: {input_per_million: 1, output_per_milion: 1}}\n"
    with pytest.raises(PolicyError) as caught:
        _checked(text.encode(), "policy.yaml")
    first, second = caught.value.errors
    assert "exceptions.0 has no 'why'" in first
    assert "did you mean 'output_per_million'?" in second


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("plan: {max_replans: 0}", "plan.max_replans"),
        ("run: {actions: 0}", "run.actions"),
        ("run: {usd: 0}", "run.usd"),
        ("agents: {recursion: 0}", "agents.recursion"),
        ("tools: {allow: {t: {max_calls: 0}}}", "tools.allow.t.max_calls"),
        ("tools: {allow: {t: {args: {n: {max: 0}}}}}", "tools.allow.t.args.n.max"),
    ],
)
def test_zero_can_be_written_where_it_means_none_at_all(
    text: str, path: str, tmp_path: Path
) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    found = load_policy(file).model_dump()
    for part in path.split("."):
        found = found[part]
    assert found == 0


def test_off_and_on_are_text_not_truth(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("repetition: {mode: off}\nrules: {tokens: off}\n")
    policy = load_policy(file)
    assert (policy.repetition.mode, policy.rules) == ("off", {"tokens": "off"})


def test_not_utf8_names_the_line() -> None:
    with pytest.raises(PolicyError, match=r"policy.yaml:2: not UTF-8"):
        _checked(b"version: 1\n\xff", "policy.yaml")


def test_a_byte_order_mark_is_no_harm() -> None:
    _checked(b"\xef\xbb\xbfversion: 1\n", "policy.yaml")


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(raw: bytes) -> None:
    try:
        _checked(raw, "policy.yaml")
    except PolicyError as err:
        assert "\n" not in str(err)  # noqa: PT017


@settings(deadline=None)
@given(st.text(alphabet="verson:1{}[]-&*!?|>'\"#%@ \n\tru", max_size=60))
def test_no_yaml_like_text_raises_anything_else(text: str) -> None:
    try:
        _checked(text.encode(), "policy.yaml")
    except PolicyError as err:
        assert "\n" not in str(err)  # noqa: PT017
