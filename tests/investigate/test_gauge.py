"""Prompts are kept within a context, whatever a server's tokens are like."""

from __future__ import annotations

import pytest

from roundsman.investigate.gauge import Gauge


@pytest.mark.parametrize("words", [1.6, 2.6, 3.5, 4.5])
@pytest.mark.parametrize("results", [1.0, 1.5, 2.0, 2.6])
def test_answers_full_of_numbers_fit_after_a_prompt_of_words(words: float, results: float) -> None:
    """What a prompt of words told says nothing of the tokens of results."""
    gauge, others, context = Gauge(), 3400, 3072
    gauge.learn(others, 0, int(others / words))
    sent = 400
    gauge.learn(others, sent, int(others / words + sent / results))
    room = gauge.room(context, others)
    assert others / words + room / results <= context
    assert room > 0


def test_a_count_that_cannot_be_teaches_nothing() -> None:
    gauge = Gauge()
    before = gauge.room(8192, 3400)
    for tokens in (0, 40, 3500, 10**9):
        gauge.learn(3400, 0, tokens)
    assert gauge.room(8192, 3400) == before


def test_what_is_no_tool_answer_must_fit_by_itself() -> None:
    assert Gauge().room(1000, 3400) < 0


def test_less_is_taken_each_time_a_prompt_did_not_fit_and_not_for_ever() -> None:
    gauge = Gauge()
    rooms = [gauge.room(8192, 1000)]
    while gauge.tighten():
        rooms.append(gauge.room(8192, 1000))
    assert rooms == sorted(rooms, reverse=True)
    assert len(set(rooms)) == len(rooms) == 4
