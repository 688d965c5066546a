"""Instructions in order, and limits that leave the model alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.adk.agents import LlmAgent
from google.genai import types

from roundsman import guarded, load_policy
from roundsman.adk.instructions import instruction, lint
from roundsman.errors import RefusedToStart
from roundsman.testing import ScriptedModel


def test_limits_come_last_each_with_its_way_out() -> None:
    text = instruction(
        "You help customers.",
        ["Be brief."],
        {"Never quote a price.": "say that prices are online."},
    )
    assert text.index("You help") < text.index("Be brief") < text.index("Never quote")
    assert lint(text) == []
    with pytest.raises(ValueError, match="no way out"):
        instruction("p", [], {"Never quote a price.": " "})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Never quote a price.", ["Never quote a price."]),
        ("Never quote a price. If asked, say that prices are online.", []),
        ("Do not talk of politics; offer to help with an order instead.", []),
        ("Be kind. You must not give medical advice.\nBe brief.", ["You must not give medical advice."]),
        ("Answer questions about orders.", []),
    ],
)  # fmt: skip
def test_a_limit_without_a_way_out_is_found(text: str, found: list[str]) -> None:
    assert lint(text) == found


def test_required_safety_settings_are_checked_at_start(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("conversation: {safety_settings: required}\n")
    rules = load_policy(file)
    bare = LlmAgent(name="clerk", model=ScriptedModel(["x"]))
    with pytest.raises(RefusedToStart, match="clerk: no safety_settings"):
        guarded(bare, rules, home=tmp_path)
    setting = types.SafetySetting(
        category=types.HarmCategory.HARM_CATEGORY_HARASSMENT,
        threshold=types.HarmBlockThreshold.BLOCK_LOW_AND_ABOVE,
    )
    config = types.GenerateContentConfig(safety_settings=[setting])
    guarded(bare.clone(update={"generate_content_config": config}), rules, home=tmp_path)
