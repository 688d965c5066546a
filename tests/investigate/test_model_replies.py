"""What is read of a reply of a model's server, and what of its usage can be."""

from __future__ import annotations

from typing import Any

import pytest

from roundsman.investigate.model_replies import plain


def _usage(message: dict[str, Any], output: int) -> dict[str, Any] | None:
    counts = {"prompt_tokens": 300, "completion_tokens": output, "total_tokens": 300 + output}
    used: dict[str, Any] | None = plain({"choices": [{"message": message}], "usage": counts}).get(
        "usage"
    )
    return used


@pytest.mark.parametrize(
    ("message", "output"),
    [
        ({"content": "ok"}, 1),
        ({"content": ""}, 0),
        ({"tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}, 1),
        ({"content": "日本語のログを見る"}, 2),
    ],
)
def test_a_short_answer_takes_few_tokens(message: dict[str, Any], output: int) -> None:
    used = _usage(message, output)
    assert used is not None
    assert used["completion_tokens"] == output


@pytest.mark.parametrize(
    "message",
    [
        {"content": "x" * 41},
        {"tool_calls": [{"function": {"name": "look", "arguments": {"text": "x" * 41}}}]},
    ],
)
def test_a_long_answer_of_one_token_cannot_be(message: dict[str, Any]) -> None:
    assert _usage(message, 1) is None
