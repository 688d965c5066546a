"""The section on texts: what it accepts, and what it says of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundsman.errors import PolicyError
from roundsman.guard import rules_for
from roundsman.policy import load_policy, worst_case


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("checks: {x: {on: [input], patterns: ['(a+)+$']}}", "repetition inside a repetition"),
        ("checks: {x: {on: [input], patterns: ['(x+x+)+y']}}", "repetition inside a repetition"),
        ("checks: {x: {on: [input], patterns: ['a(?=b)']}}", "not a pattern of RE2"),
        ("checks: {x: {on: [input], patterns: ['[']}}", "not a pattern of RE2"),
        ("checks: {x: {on: [input]}}", "looks for nothing"),
        ("checks: {injction: {}}", "did you mean 'injection'"),
        ("checks: {x: {phrases: [a]}}", "runs nowhere"),
        ("checks: {secrets: {phrases: [a]}}", "is built in"),
        ("checks: {x: {on: [inptu], phrases: [a]}}", "input"),
        ("checks: {x: {on: [input], phrases: [a], max_chars: 5}}", "make two checks"),
        ("checks: {x: {on: [input], python: 'os.system'}}", "package.module:name"),
        ("checks: {x: {on: [input], phrases: [a], budget: 50}}", "has no unit"),
        ("checks: {x: {on: [input], phrases: [a], budget: 0ms}}", "duration above zero"),
        ("checks: {x: {on: [input], phrases: [a], on_timeout: ignore}}", "block"),
        ("checks: {secrets: {heavy: true}}", "give action: block"),
        ("checks: {x: {on: [call], phrases: [a], heavy: true}}", "leave call out"),
        ("chekcs: {}", "did you mean"),
        ("taint: {mode: on}", "off"),
        ("look_back: -1", "look_back"),
    ],
)
def test_what_cannot_be_accepted_is_said_with_its_line(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"version: 1\nconversation:\n  {text}\n")
    with pytest.raises(PolicyError, match=rf"p\.yaml:3: .*{said}"):
        load_policy(file)


@pytest.mark.parametrize("path", ["no.such:check", "json:nothing", "json:decoder"])
def test_a_check_that_is_not_there_is_said_when_rules_are_made(tmp_path: Path, path: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"conversation: {{checks: {{mine: {{on: [input], python: '{path}'}}}}}}\n")
    with pytest.raises(PolicyError, match=r"conversation\.checks\.mine"):
        rules_for(load_policy(file))


def test_modes_are_those_of_each_check(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        "conversation: {checks: {secrets: {mode: shadow}, personal: {mode: off}, injection: {}},"
        " taint: {mode: enforce}}\n"
    )
    placed = [p for p in rules_for(load_policy(file)) if p.rule.layer == "conversation"]
    modes = {p.rule.name: p.mode for p in placed}
    assert modes == {"secrets": "shadow", "injection": "enforce", "taint": "enforce"}


@pytest.mark.parametrize(
    ("conversation", "noted"),
    [
        ("taint: {mode: enforce, trusted_tools: [list_ordrs]}", "did you mean 'list_orders'?"),
        ("taint: {mode: enforce, constants: {refnd: {to: [a]}}}", "no 'refnd' under tools.allow"),
        ("taint: {mode: enforce, constants: {list_orders: {to: [a]}}}", "not judged"),
        ("checks: {secrets: {tools: [list_order]}}", "checks.secrets.tools: no 'list_order'"),
        ("taint: {mode: enforce, trusted_tools: [list_orders], constants: {refund: {}}}", ""),
    ],
)
def test_names_of_tools_nobody_declares_are_noted(
    tmp_path: Path, conversation: str, noted: str
) -> None:
    tools = "{list_orders: {effect: read}, refund: {effect: write}}"
    file = tmp_path / "p.yaml"
    file.write_text(f"tools: {{allow: {tools}}}\nconversation: {{{conversation}}}\n")
    notes = [n for n in worst_case(load_policy(file))["notes"] if n.startswith("conversation")]
    assert len(notes) == bool(noted)
    assert noted in "".join(notes)


def test_a_taint_rule_without_a_write_to_judge_is_noted(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("tools: {allow: {a: {}}}\nconversation: {taint: {mode: enforce}}\n")
    assert "nothing is judged" in str(worst_case(load_policy(file))["notes"])
