"""Texts nobody should send: each is judged, none ends in an exception."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.adk.live_stub import END, StubLive, aloud, heard, text
from tests.adk.talks import TOKEN, checks, hold, live_checks, play, policy, streamed

ALL = "injection: {on: [input, reply, result]}, secrets: {on: [input, reply]}, personal: {}, instructions: {}"
LARGE = "\nrun: {tokens: null, usd: null}"
BAD = {
    "mixed scripts": "Привет, wo ist mein 注文, please? שלום",
    "zero width": "wo\u200brd\u200c \u2060by\ufeff wo\u200brd",
    "look-alikes": "\u0440\u0430\u0443\u0440\u0430l \u0456\u0455 h\u0435r\u0435",
    "right to left": "\u202eolleh\u202c \u2067abc\u2069 \u200f",
    "base64": base64.b64encode(b"hello there, how is the weather in Oslo").decode(),
    "url": quote("hello there? how is / the weather & the sea", safe=""),
    "invalid UTF-8": b"caf\xe9 \xff\xfe ok".decode("utf-8", "surrogateescape"),
    "controls": "a\x00b\x1b[31mc\x7f\x85d\r\n\u2028e",
    "unpaired and unassigned": "\ud83d \U000e01ef \uffff \U0010ffff",
    "many marks": "a" + "\u0301" * 400,
    "one long word": "x" * 100_000,
    "brackets": "[({<" * 5_000,
}


@pytest.mark.parametrize("name", BAD)
def test_it_passes_every_check_typed(tmp_path: Path, name: str) -> None:
    rules = policy(tmp_path, checks(ALL) + LARGE)
    result, model = play([BAD[name]], BAD[name], rules)
    assert result.status == "done"
    assert len(model.requests) == 1
    assert result.text


@pytest.mark.parametrize("name", BAD)
def test_it_passes_every_check_streamed_and_live(tmp_path: Path, name: str) -> None:
    said = BAD[name][:20_000]
    pieces, whole, _ = streamed(said, policy(tmp_path, checks(ALL) + LARGE), 700)
    assert whole == said
    assert pieces == said or name == "many marks"  # of invisible characters in a row 16 leave
    rules = live_checks(ALL) + LARGE
    model = StubLive([heard(said), aloud(said[:2_000]), END], [text(said, False), END])
    held = hold(tmp_path, model, rules, [b"end", said], "audio")
    assert held.info.status == "done"
    assert held.account.steps == 2


@pytest.mark.parametrize("name", ["invalid UTF-8", "right to left", "many marks", "controls"])
def test_it_hides_no_secret(tmp_path: Path, name: str) -> None:
    said = f"{BAD[name]} {TOKEN} {BAD[name]}"
    result, _ = play([said], "hi", policy(tmp_path, checks("secrets: {}")))
    assert TOKEN not in result.text
    pieces, whole, _ = streamed(said, policy(tmp_path, checks("secrets: {}")), 3)
    assert TOKEN not in pieces + whole
