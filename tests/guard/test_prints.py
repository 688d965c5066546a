"""What makes two calls, two results or two failures the same."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.guard.effects import looks_like_a_write
from roundsman.guard.faults import fault, reports_failure
from roundsman.guard.gist import BINS, gist, likeness
from roundsman.guard.prints import call_print, call_prints, result_prints
from roundsman.guard.volatile import mask, shape


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 2024-05-01T10:00:00Z", "at 2025-11-30T23:59:59.123+02:00"),
        ("10:00:01 up", "23:15:59 up"),
        ("took 1.5 ms", "took 900 ms"),
        ("request_id=ab12", "request_id=zz99"),
        ('{"trace_id": "77aa"}', '{"trace_id": "b3c4"}'),
        ("123e4567-e89b-12d3-a456-426614174000", "00000000-e89b-12d3-a456-426614174fff"),
        ("<obj at 0x7f00deadbeef>", "<obj at 0x7f11cafebabe>"),
    ],
)
def test_volatile_values_are_no_difference(one: str, other: str) -> None:
    assert mask(one) == mask(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 rows", "6 rows"),
        ("f32a3a97638afeb2ee2a15cfe335ab72", "c4ca4238a0b923820dcc509a6f75849b"),
        ("page 2 of 9", "page 3 of 9"),
        ("no_id", "some_id"),
    ],
)
def test_other_values_are(one: str, other: str) -> None:
    assert mask(one) != mask(other)


def test_a_shape_is_what_is_left_without_numbers() -> None:
    assert shape("5 rows of 10") == shape("600 rows of 1")
    assert shape("5 rows") != shape("5 lines")


@given(st.text(), st.text())
def test_likeness_is_a_share_and_knows_no_order(one: str, other: str) -> None:
    a, b = gist(one), gist(other)
    assert len(a) in (0, 2 * BINS)
    assert 0.0 <= likeness(a, b) <= 1.0
    assert likeness(a, b) == likeness(b, a)
    assert likeness(a, a) == (1.0 if a else 0.0)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_likeness_is_near_the_share_of_common_words(share: float) -> None:
    """A sketch is an estimate: one may be off, many are not."""
    dice, size = random.Random(1), 20
    found = []
    for _ in range(200):
        words = ["".join(dice.choices("abcdefgh", k=6)) for _ in range(size)]
        kept = words[: int(share * size)]
        found.append(likeness(gist(" ".join(words)), gist(" ".join(reversed(kept)))))
    assert sum(found) / len(found) == pytest.approx(share, abs=0.08)


@pytest.mark.parametrize(
    ("tool", "args", "writes"),
    [
        ("edit_file", {}, True),
        ("createTicket", {}, True),
        ("get_orders", {}, False),
        ("list_created_tickets", {}, False),
        ("search", {"query": "update of the kernel"}, False),
        ("bash", {"command": "grep -r foo . 2>/dev/null"}, False),
        ("bash", {"command": "cat a.txt > b.txt"}, True),
        ("bash", {"command": "cat > a.py <<'EOF'\nprint(1)\nEOF"}, True),
        ("bash", {"command": "run 2>&1 | tail"}, False),
        ("bash", {"command": "echo x > a.py && python a.py"}, True),
        ("python", {"code": "while a > b:\n    pass"}, False),
        ("bash", {"command": "cd /x && rm -rf y"}, True),
        ("bash", {"command": "find . -name rm"}, False),
        ("bash", {"command": "sed -i s/a/b/ f"}, True),
        ("bash", {"command": "git commit -m x"}, True),
        ("bash", {"command": "git diff"}, False),
        ("bash", {"command": "kubectl -n shop rollout restart deploy/x"}, True),
        ("bash", {"command": "kubectl get pods"}, False),
        ("sql", {"query": "SELECT a FROM b WHERE c >= 3"}, False),
        ("sql", {"query": "select a from b where c > 3"}, False),
        ("sql", {"query": "UPDATE b SET a = 1"}, True),
        ("editor", {"command": "view", "path": "x"}, False),
        ("editor", {"command": "str_replace", "path": "x"}, True),
        ("http", {"method": "GET", "url": "x"}, False),
        ("http", {"method": "POST", "url": "x"}, True),
    ],
)
def test_what_looks_like_a_write(tool: str, args: dict[str, Any], writes: bool) -> None:
    assert looks_like_a_write(tool, args) is writes


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Error: no such table", True),
        ("ls: cannot access 'x': No such file or directory", True),
        ("/bin/sh: foo: command not found", True),
        ("Traceback (most recent call last):\n ...\nValueError: x", True),
        ("Could not find [Foo]. Similar: [Bar]", True),
        ("[('ford', 80)]", False),
        ("3 errors were fixed last week", False),
        ("error rate 0.2 %", True),  # taken for a failure: it begins like one
        ("", False),
    ],
)
def test_what_reads_like_a_failure(text: str, failed: bool) -> None:
    assert reports_failure(text) is failed


def test_a_kind_of_failure_is_what_is_left_without_names() -> None:
    assert fault("Unknown column 'a.b' in row 3") == fault("Unknown column 'zz' in row 9")
    assert fault("Unknown column 'a'") != fault("Unknown table 'a'")


def test_a_tool_that_says_it_went_well_is_believed() -> None:
    result = {"status": "ok", "lines": ["ERROR: timeout"]}
    assert result_prints(result, "ok", declared=True)["fault"] == ""
    assert result_prints("ERROR: timeout", "ok")["fault"]
    assert result_prints({"x": 1}, "error")["fault"]


def test_declared_effects_win_over_looks() -> None:
    assert call_prints("edit_file", {}, "read")["alters"] == ""
    assert call_prints("look", {}, "write")["alters"] == "declared"
    assert call_prints("edit_file", {}, None)["alters"] == "seems"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(), st.dictionaries(st.text(), JSON, max_size=4), JSON)
def test_prints_are_made_of_anything(tool: str, args: dict[str, Any], result: Any) -> None:
    made = call_prints(tool, args, None)
    assert made["call"] == call_print(tool, dict(reversed(args.items())))
    assert result_prints(result, "ok") == result_prints(result, "ok")
