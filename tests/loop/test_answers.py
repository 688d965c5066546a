"""Reading answers: leniently, never more than was written, and never worse than first `{` to last `}`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.loop import UNREADABLE, Held, read_answer, round_prompt
from roundsman.loop.answer import Claim
from roundsman.loop.carry import LONGEST, MOST
from roundsman.loop.progress import Finding

CASES = {
    c["id"]: c
    for c in map(
        json.loads,
        (Path(__file__).parents[1] / "cases" / "guard_cases.jsonl").read_text("utf-8").splitlines(),
    )
    if c["kind"].startswith("json_")
}
SHAPES = {
    "json_fence": "```json\n{A}\n```\n",
    "json_think": '<think>maybe {{"findings": "?"}} is right</think>\n{A}',
    "json_trailing_prose": "Answer: {A}. Details in [3] and {{see notes}}.",
    "json_truncated_fence": "```json\n{A}",
}
"""The recorded shapes around an answer of ours: the wrapping is what was recorded."""

FINDINGS = st.lists(
    st.fixed_dictionaries({"statement": st.text(min_size=1).filter(str.strip)}), max_size=3
)


@given(FINDINGS, st.booleans(), st.sampled_from(sorted(SHAPES)))
def test_wrapped_answers_are_read(findings: list[Any], done: bool, shape: str) -> None:
    text = SHAPES[shape].replace("{{", "{").replace("}}", "}")
    answer = read_answer(text.replace("{A}", json.dumps({"findings": findings, "done": done})))
    assert answer.readable
    assert answer.done is done
    assert [c.statement for c in answer.claims] == [f["statement"].strip() for f in findings]


@given(st.text() | st.none() | st.integers() | st.lists(st.integers()))
def test_anything_is_read_without_an_error(raw: Any) -> None:
    read_answer(raw)


@pytest.mark.parametrize("case_id", sorted(CASES))
def test_recorded_texts_never_become_findings(case_id: str) -> None:
    # None of them is an answer of ours; whatever is made of their text, it is no finding and not
    # done. (Case 078 says "done" as a status, which is another thing than done: true.)
    if CASES[case_id]["kind"] == "json_python_literal":
        assert read_answer(CASES[case_id]["input"]).done  # it does say 'done': True
        return
    answer = read_answer(CASES[case_id]["input"])
    assert answer.claims == ()
    assert not answer.done


@pytest.mark.parametrize(
    "text",
    [
        '{"findings": [{"statement": "a"},], "done": false,}',
        "{'findings': [{'statement': 'a'}], 'done': False}",
        '{"findings": ["a"], "done": false}',
        'Round 1: {"findings": []}\nRound 2: {"findings": [{"statement": "a"}]}',
        '{"findings": {"statement": "a"}}',
    ],
)
def test_slips_of_models_are_forgiven(text: str) -> None:
    assert [c.statement for c in read_answer(text).claims] == ["a"]


@pytest.mark.parametrize(
    "text", ["", "{", "}{", "<html><body>502</body></html>", '{"findings": [{"statement": "cut of']
)
def test_what_cannot_be_read_is_an_empty_answer(text: str) -> None:
    answer = read_answer(text)
    assert answer.claims == ()
    assert not answer.done
    assert answer == UNREADABLE


@pytest.mark.parametrize("done", ["yes", 1, None, "false", [], {}])
def test_only_true_is_done(done: Any) -> None:
    assert not read_answer({"findings": [], "done": done}).done


def test_a_repeat_differs_only_in_case_or_outer_blanks() -> None:
    held = Held("reference")
    assert held.take((Claim("The disk is full"),), 1, {}) == 1
    assert held.take((Claim("  the DISK is full "), Claim("The disk is full.")), 2, {}) == 1


def test_grounded_progress_holds_only_what_its_results_say() -> None:
    held = Held("grounded")
    results = {"a1": '{"errors": "18 % since 10:07 on cart-api"}'}
    assert held.take((Claim("cart-api errors at 18 % since 10:07", ("a1",)),), 1, results) == 1
    assert held.take((Claim("cart-api errors at 81 % since 10:07", ("a1",)),), 2, results) == 0
    assert held.take((Claim("cart-api is slow", ()),), 2, results) == 0
    assert [f.missing for f in held.unsupported] == [("81",), ("no result cited",)]


def test_the_prompt_carries_findings_and_nothing_else() -> None:
    held = Held("reference")
    held.take((Claim("one"), Claim("two")), 1, {})
    prompt = round_prompt("why?", 2, held.held)
    assert "Round: 2" in prompt
    assert "- one\n- two" in prompt


@given(st.lists(st.text(min_size=1, max_size=3000), max_size=60))
def test_the_prompt_is_bounded_whatever_is_held_and_keeps_the_newest(statements: list[str]) -> None:
    held = [Finding(f"f{n}", text, (), True, 1) for n, text in enumerate(statements)]
    prompt = round_prompt("why?", 9, held)
    assert len(prompt) <= len(round_prompt("why?", 9, ())) + MOST + 100
    if statements:
        assert statements[-1][: LONGEST - 1] in prompt
    if sum(min(len(text), LONGEST) + 3 for text in statements) <= MOST:
        assert "older ones" not in prompt
