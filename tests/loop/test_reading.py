"""Any object out of a model's text: what is recovered, what is said to be lost, what is never made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.loop.printed_calls import PrintedCall
from roundsman.loop.reading import clean, read_object
from roundsman.loop.schema import fit

CASES = {
    c["id"]: c
    for c in map(
        json.loads,
        (Path(__file__).parents[1] / "cases" / "guard_cases.jsonl").read_text("utf-8").splitlines(),
    )
    if c["kind"].startswith("json_")
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)


@pytest.mark.parametrize("case_id", sorted(i for i, c in CASES.items() if "value" in c["expected"]))
def test_recorded_slip_is_read(case_id: str) -> None:
    reading = read_object(CASES[case_id]["input"])
    assert reading.value == CASES[case_id]["expected"]["value"]
    assert reading.complete


@pytest.mark.parametrize(
    "text",
    [
        '{"finding": "disk full on no',
        '{"finding": "a path C:\\',
        '{"finding": "a set {x} and',
        "{'finding': 'disk",
        'Here it is:\n```json\n{"done": tr',
        '{"done": 12',
        '{"find',
        '{"',
    ],
)
def test_what_is_cut_in_its_first_value_is_said_to_be_cut(text: str) -> None:
    reading = read_object(text)
    assert (reading.value, reading.lost, reading.complete) == (None, "truncated", False)


@pytest.mark.parametrize("text", ["see {a, b} and {", 'a set {"a", "b"} of two', "no object", "{"])
def test_prose_with_braces_is_not_cut(text: str) -> None:
    assert read_object(text).lost == "nothing"


def test_case_071_cut_text_is_said_to_be_cut() -> None:
    case = CASES["case-071"]
    reading = read_object(case["input"])
    assert reading.lost == case["expected"]["error"] == "truncated"
    assert reading.value == case["expected"]["may_offer_partial"]
    assert not reading.complete


def test_case_075_quotes_inside_are_kept_or_refused() -> None:
    case = CASES["case-075"]
    reading = read_object(case["input"])
    assert reading.value == case["expected"]["error_or_value"]
    assert reading.slips == ("inner quotes",)
    odd = read_object(case["input"].replace('boss"', "boss"))
    assert not odd.complete
    assert odd.value is None


def test_case_078_the_last_complete_object_is_taken() -> None:
    case = CASES["case-078"]
    assert read_object(case["input"]).value == case["expected"]["last"]
    assert read_object(case["input"] + '\nRound 3: {"status": "con').value == {"status": "done"}


@given(OBJECTS, st.sampled_from([None, 1, 4]), st.booleans())
def test_json_is_read_as_it_is(value: dict[str, Any], indent: int | None, plain: bool) -> None:
    reading = read_object(json.dumps(value, indent=indent, ensure_ascii=plain))
    assert reading.value == json.loads(json.dumps(clean(value)[0]))


@given(OBJECTS)
def test_python_is_read_as_it_is(value: dict[str, Any]) -> None:
    reading = read_object(repr(value))
    assert reading.value == clean(value)[0] or not reading.complete


@given(st.text() | st.binary() | st.none() | st.lists(st.integers()) | OBJECTS)
def test_nothing_is_raised(raw: Any) -> None:
    read_object(raw, ("findings",), ("query_logs",))


@given(
    st.lists(
        st.sampled_from([*"{}[]()\"'“”,:\\`<>/#* \n", "a", "1", "true", "</think>", "```"]),
        max_size=60,
    )
)
def test_any_order_of_marks_is_read_without_an_error(marks: list[str]) -> None:
    read_object("".join(marks))


@given(OBJECTS.filter(bool), st.integers(0, 10_000))
def test_a_cut_text_gives_only_what_stood_in_it(value: dict[str, Any], at: int) -> None:
    text = json.dumps(value)
    reading = read_object(text[: at % len(text)])
    assert not reading.complete or not reading.value
    for key, item in (reading.value or {}).items():
        if (key,) != reading.open_at[:1]:
            assert item == clean(value)[0][clean({key: 0})[0].popitem()[0]]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 8G, "b": 96%, "c": 10:07, "d": 1,024}', {"a": "8G", "b": "96%", "c": "10:07", "d": "1,024"}),
        ('{"a": .5, "b": +3, "c": 007, "d": 1.}', {"a": 0.5, "b": 3, "c": "007", "d": 1.0}),
        ('{"a": NaN, "b": [1, Infinity], "c": 1e999}', {"a": None, "b": [1, None], "c": None}),
        ("{'a': ('x', 'y',), 'b': None}", {"a": ["x", "y"], "b": None}),
        ('{"a": "x" "b": ["y" "z"]}', {"a": "x", "b": ["y", "z"]}),
        ('{"a": ["x", "y"}', {"a": ["x", "y"]}),
        ('{"a": ["x"]], "b": 1}', {"a": ["x"], "b": 1}),
        ('{a: 1, /* n */ "b": 2, // n\n "c": 3}', {"a": 1, "b": 2, "c": 3}),
        ('{“a”: “the “pool” is full”}', {"a": "the “pool” is full"}),
        ("{'a': 'it's the node's disk'}", {"a": "it's the node's disk"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('{"a": "C:\\data"}', {"a": "C:\\data"}),
        ('{"a": "\\ud83d\\udea8 \\ud83d"}', {"a": "🚨 \ufffd"}),
        ("{\"a\": " + "7" * 5000 + "}", {"a": "7" * 5000}),
    ],
)  # fmt: skip
def test_slips_with_one_meaning(text: str, value: Any) -> None:
    assert read_object(text).value == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "5" disk is full", "b": "x"}',
        "{'a': 'the pods' limit', 'b': 'x'}",
        '{"a": ["the "pool", "b" is full", "c"]}',
    ],
)
def test_what_has_two_readings_is_not_read(text: str) -> None:
    reading = read_object(text)
    assert not (reading.value or {}).get("a")
    assert reading.lost


def test_a_part_of_a_broken_object_is_not_taken_for_the_whole() -> None:
    text = '{"a": "5" disk is full", "b": {"c": 1}, "d": [{"e": 2}]}'
    assert read_object(text).value is None
    assert read_object('{"x": 1, ' + text[1:]).value == {"x": 1}
    cut = read_object(text.replace('"c"', '"done"'), ("findings", "done"))
    assert cut.value is None
    assert read_object(text + '\nSo: {"f": 3}').value == {"f": 3}


def test_code_is_no_answer() -> None:
    assert read_object("```python\nrows = [{'a': 1}]\nplaces = {'b': (1, 2)}\n```").value is None
    assert read_object("print(f'{n:.2f} of {total}')").value is None


def test_thinking_is_no_answer_unless_it_ends_in_one() -> None:
    assert read_object('<think>{"a": 1}</think>').value is None
    assert read_object('<think>{"a": 1} or not').value is None
    assert read_object('perhaps {"a": 1}</think>{"a": 2}').value == {"a": 2}
    assert read_object('<think>so: {"a": 1}').value == {"a": 1}
    assert read_object(
        '<|channel|>analysis<|message|>{"a": 1}<|channel|>final<|message|>{"a": 2}'
    ).value == {"a": 2}


@pytest.mark.parametrize(
    "text",
    [
        '<response>\n{"name": "query_logs", "arguments": {"service": "api", "minutes": 10}}\n```',
        '<tool_call>{"name": "query_logs", "arguments": {"service": "api", "minutes": 10}}</tool_call>',
        '{"function": {"name": "query_logs", "arguments": "{\\"service\\": \\"api\\", \\"minutes\\": 10}"}}',
        '```json\n{"step": {"tool": "query_logs", "args": {"service": "api", "minutes": 10}}}\n```',
        'Action: query_logs\nAction Input: {"service": "api", "minutes": 10}',
        "```tool_code\nprint(query_logs(service='api', minutes=10))\n```",
        'I will call query_logs(service="api", minutes=10) now.',
    ],
)
def test_printed_calls_are_known_as_such(text: str) -> None:
    reading = read_object(text, ("findings", "done"), ("query_logs",))
    assert reading.value is None
    assert reading.calls == (PrintedCall("query_logs", {"service": "api", "minutes": 10}),)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "query_logs", "arguments": {"service": "api", "minu',
        '<tool_call>{"name": "query_logs", "arguments": {"service": "a',
        '{"step": {"tool": "query_logs", "args": {"service": "api", ',
    ],
)
def test_a_call_that_was_cut_in_its_arguments_is_no_other_call(text: str) -> None:
    reading = read_object(text, ("findings", "done"), ("query_logs",))
    assert reading.value is None
    assert reading.calls == ()


def test_a_call_that_lacks_only_its_last_brackets_is_whole() -> None:
    text = '{"step": {"tool": "query_logs", "args": {"service": "api"}'
    assert read_object(text, ("findings", "done")).calls == (
        PrintedCall("query_logs", {"service": "api"}),
    )


def test_a_name_that_is_no_tool_is_no_call() -> None:
    assert read_object("I ran restart(now=1) once.", ("findings",), ("query_logs",)).calls == ()


def test_a_schema_gives_the_types() -> None:
    schema = {
        "type": "object",
        "required": ["city", "open"],
        "properties": {
            "city": {"type": "string"},
            "people": {"type": "integer"},
            "share": {"type": ["number", "null"]},
            "open": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "window": {"type": "integer"},
        },
    }
    text = '{"city": "Rome", "people": "28", "share": "0.5", "tags": ["a", "z"], "window": "4h", "more": 1}'
    fitted, wrong = fit(read_object(text, ("city",)).value or {}, schema)
    assert fitted == {"city": "Rome", "people": 28, "share": 0.5, "tags": ["a"], "more": 1}
    assert wrong == ["tags[1]", "window", "open"]


@given(OBJECTS, OBJECTS)
def test_fitting_never_fails(value: dict[str, Any], schema: dict[str, Any]) -> None:
    fit(value, schema)
