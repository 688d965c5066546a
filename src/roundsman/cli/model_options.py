"""The options that name a model's own server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from roundsman.investigate.endpoint import Endpoint

_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "--base-url",
        {
            "metavar": "URL",
            "help": "For openai/NAME: the server that has it (llama.cpp, Ollama, vLLM), as in "
            "http://127.0.0.1:8080/v1; no key. Also: $ROUNDSMAN_BASE_URL.",
        },
    ),
    (
        "--tools",
        {
            "type": click.Choice(["auto", "native", "prompted"]),
            "help": "How that model calls tools; prompted: one JSON step at a time. Default: auto, "
            "a short first call shows it.",
        },
    ),
    (
        "--context",
        {
            "metavar": "TOKENS",
            "type": click.IntRange(0),
            "help": "That model's context; by default what its server says.",
        },
    ),
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--base-url`, `--tools` and `--context`."""
    for name, attributes in reversed(_OPTIONS):
        command = click.option(name, **attributes)(command)
    return command


def endpoint_of(
    model: str,
    base_url: str | None,
    tools: str | None,
    context: int | None,
    headers: tuple[str, ...],
) -> Endpoint | None:
    """The server that was named, None when there is none. Raises UsageError.

    What the environment names counts for `openai/...` only: other models have no use for it.
    """
    from roundsman.investigate.endpoint import PREFIX, Endpoint, chosen

    if base_url or tools or context:
        return chosen(base_url, tools, context, headers)
    return Endpoint.from_environment(headers) if model.startswith(PREFIX) else None
