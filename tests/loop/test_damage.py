"""A part of `python -m benchmarks.answers`: nothing raised, no wrong value, nearly all recovered."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.answers import check, ours, reader
from benchmarks.damage import CLASSES

from roundsman.loop import read_answer


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_damage(name: str) -> None:
    make, recoverable = CLASSES[name]
    rng = random.Random(f"test {name}")
    seen = [check(make(rng), ours, not recoverable) for _ in range(120)]
    assert [got for verdict, got in seen if verdict in ("wrong", "exception")] == []
    recovered = sum(verdict == "recovered" for verdict, _ in seen)
    assert recovered >= 0.95 * len(seen) or not recoverable


def test_the_measure_sees_wrong_values() -> None:
    make, _ = CLASSES["thinking without an answer"]
    rng = random.Random(1)
    verdicts = {check(make(rng), reader("naive"), False)[0] for _ in range(60)}
    assert "wrong" in verdicts


_NONSENSE = [
    "{",
    "[",
    '"',
    '{"a":',
    '{"a":[',
    "{'",
    '{"a": "b" ',
    '{"a":1 x}',
    "<think>",
    '{"a": /*',
]


@pytest.mark.parametrize("shape", [*_NONSENSE, "\\", '"a" ', "]}"])
def test_long_nonsense_is_read_without_an_error(shape: str) -> None:
    answer = read_answer('{"findings": ["the disk is full"], "done": true}\n' + shape * 30_000)
    assert [claim.statement for claim in answer.claims] == ["the disk is full"]


@pytest.mark.slow
def test_ten_megabytes_with_a_slip_are_read() -> None:
    rows = [{"statement": f"node-{n} is full", "evidence": ["a1"]} for n in range(180_000)]
    text = json.dumps({"findings": rows, "done": True})
    assert len(text) > 9_000_000
    answer = read_answer(text[:-1] + ",}")
    assert len(answer.claims) == len(rows)
    assert answer.done
    assert len(read_answer(text[:-20]).claims) == len(rows) - 1
