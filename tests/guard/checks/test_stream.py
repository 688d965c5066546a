"""A text in pieces: nothing forbidden leaves, everything else does."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.guard.checks.base import Hit
from roundsman.guard.checks.secrets import Secrets
from roundsman.guard.checks.stream import Held
from roundsman.guard.checks.text import Text

TOKEN = "ghp_" + "a1B2" * 9


def look(text: str) -> list[Hit]:
    return list(Secrets().find(Text(text)))


def cut(text: str, sizes: list[int]) -> list[str]:
    pieces = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    return [*pieces, text]


@settings(deadline=None)
@given(
    st.text(st.sampled_from("abc .,\n"), max_size=600),
    st.text(st.sampled_from("abc .,\n"), max_size=600),
    st.lists(st.integers(1, 50), max_size=60),
)
def test_a_secret_never_leaves_whole_wherever_it_is_cut(
    before: str, after: str, sizes: list[int]
) -> None:
    held = Held(look)
    out = [held.add(p) for p in cut(f"{before} {TOKEN} {after}", sizes)] + [held.end()]
    assert TOKEN[8:] not in "".join(out)
    assert "".join(out) == f"{before} [github token removed] {after}"


@given(st.text(st.sampled_from("abc ."), max_size=800), st.lists(st.integers(1, 40), max_size=30))
def test_an_innocent_text_leaves_as_it_came(text: str, sizes: list[int]) -> None:
    held = Held(lambda _: [])
    assert "".join([*map(held.add, cut(text, sizes)), held.end()]) == text


def test_ten_thousand_pieces_of_one_character_are_few_looks() -> None:
    looks = []

    def counting(text: str) -> list[Hit]:
        looks.append(len(text))
        return []

    held = Held(counting)
    out = "".join(held.add("x") for _ in range(10_000)) + held.end()
    assert len(out) == 10_000
    assert len(looks) < 400
    assert max(looks) < 1_400  # a word is not cut in two up to a thousand characters


def test_a_text_of_another_script_is_not_held_up_for_a_blank() -> None:
    held = Held(lambda _: [])
    assert len("".join(held.add("注文番号") for _ in range(200))) > 400


DISGUISES = {
    "spread by invisible characters": ("\u200b" * 400).join(TOKEN),
    "at the end of a long encoded text": base64.b64encode(
        f"{'all is well ' * 30}{TOKEN}".encode()
    ).decode(),
    "with a blank after each letter": " ".join(TOKEN),
}


@pytest.mark.parametrize("name", DISGUISES)
@pytest.mark.parametrize("size", [1, 50])
def test_a_secret_in_disguise_does_not_leave_in_pieces(name: str, size: int) -> None:
    text = f"{'word ' * 100}{DISGUISES[name]} {'word ' * 100}"
    held = Held(look)
    out = "".join(held.add(text[i : i + size]) for i in range(0, len(text), size)) + held.end()
    assert out == f"{'word ' * 100}[github token removed] {'word ' * 100}"
