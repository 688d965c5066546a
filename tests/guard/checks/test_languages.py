"""Languages told by words: what is short or a list passes, another language does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundsman.errors import PolicyError
from roundsman.guard.checks.text import Text
from roundsman.guard.rules.conversation import text_rules
from roundsman.policy import load_policy

pytest.importorskip("py3langid", reason="py3langid is not installed")
from roundsman.guard.checks.languages import SHORTEST, Languages

CHECK = Languages("x", ("en", "de"))


@pytest.mark.parametrize(
    "text",
    [
        "Le colis n'est jamais arrivé chez moi",
        "Gdzie jest moje zamówienie z marca?",
        "¿Cuánto tarda el envío a Noruega?",
        "注文番号は五五一二です。配送は明日の予定ですか。お知らせください。",
        "Мой заказ так и не пришёл, где он?",
    ],
)
def test_another_language_is_found(text: str) -> None:
    assert [h.kind[:8] for h in CHECK.find(Text(text))] == ["language"]


@pytest.mark.parametrize(
    "text",
    [
        "The parcel never arrived, where is it?",
        "Die Lampe ist kaputt und ich würde sie gern zurückschicken",
        "- Desk Lamp (White, Medium Brightness, USB)",
        "- Passengers: Aarav Ahmed and Daiki Lee",
        "c'est tout",
        "x" * (SHORTEST - 1),
        "",
        "5512 7781 9931 0000 1111 2222",
    ],
)
def test_allowed_languages_lists_and_short_texts_pass(text: str) -> None:
    assert list(CHECK.find(Text(text))) == []


def test_an_unknown_code_is_said_when_rules_are_made(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("conversation: {checks: {x: {on: [input], languages: [en, english]}}}\n")
    with pytest.raises(PolicyError, match=r"checks\.x\.languages: english unknown; known: .*de, "):
        list(text_rules(load_policy(file).conversation))
