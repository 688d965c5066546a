from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.report.text import as_number, as_time, clean, short_times, show_time


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]0;owned\x07title", "title"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPdcs\x1b\\after", "after"),
        ("\x1b]never ended\nnext", "never ended next"),
        ("\x1b", ""),
        ("a\rb\x08\x00c", "a bc"),
        ("user\u202egpj.exe", "usergpj.exe"),
        ("half \ud800 pair", "half \ufffd pair"),
        ("  too   many\tblanks ", "too many blanks"),
        (None, ""),
        ({"a": 1}, '{"a": 1}'),
        (240, "240"),
        ("Größe 漢字 🚑", "Größe 漢字 🚑"),
    ],
)
def test_clean_leaves_only_what_can_be_shown(raw: object, shown: str) -> None:
    assert clean(raw) == shown


def test_clean_says_how_much_was_left_off() -> None:
    shown = clean("x" * 100_000, 50)
    assert shown == "x" * 50 + "… (100,000 characters in all)"


@given(st.text(st.characters(exclude_categories=[])), st.booleans())
def test_clean_never_lets_a_control_through(raw: str, lines: bool) -> None:
    shown = clean(raw, 200, lines=lines)
    shown.encode("utf-8")
    allowed = "\n" if lines else ""
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in allowed]
    assert len(shown) < 260


def test_times_without_a_zone_are_utc_and_others_are_moved_there() -> None:
    assert show_time("2026-01-31T10:07:00") == "2026-01-31 10:07 UTC"
    assert show_time("2026-01-31T12:07:30+02:00") == "2026-01-31 10:07:30 UTC"
    assert show_time("around ten") == "around ten"
    assert as_time(float("nan")) is None
    assert as_time(1e30) is None


def test_numbers_that_cannot_be_drawn_are_none() -> None:
    values = [float("nan"), float("inf"), None, True, "x", 10**400, [], "2"]
    assert [as_number(one) for one in values] == [None] * 7 + [2.0]


def test_instants_in_a_sentence_are_said_as_people_say_them() -> None:
    text = "deploy at 2026-01-31T10:00:22Z, errors from 2026-01-31T10:00:29.403Z to 2026-02-01T00:00:00Z"
    assert short_times(text, "2026-01-31") == (
        "deploy at 10:00:22 UTC, errors from 10:00:29 UTC to 2026-02-01 00:00:00 UTC"
    )
    assert short_times("at 10:00 on 2026-01-31", "2026-01-31") == "at 10:00 on 2026-01-31"
