"""Token counts: what a request will cost, what a reply did cost."""

from __future__ import annotations

from typing import Any

CHARS_PER_TOKEN = 3.5
"""Characters a token in an estimate: on the cautious side of the four usual for English."""


def estimate_prompt(request: Any) -> int:
    """Tokens the request's text, declarations and instruction come to, roughly."""
    size = 0
    for content in request.contents or []:
        for part in content.parts or []:
            if part.text:
                size += len(part.text)
            for piece in (part.function_call, part.function_response):
                if piece is not None:
                    body = getattr(piece, "args", None) or getattr(piece, "response", None)
                    size += len(str(body)) + len(piece.name or "")
    config = request.config
    if config is not None:
        size += len(str(config.system_instruction or ""))
        size += sum(300 for tool in config.tools or [] for _ in _declared(tool))
    return int(size / CHARS_PER_TOKEN) + 1


def _declared(tool: Any) -> list[Any]:
    return getattr(tool, "function_declarations", None) or []


def reported(response: Any) -> int | None:
    """Tokens of the whole call as the model reports them, None when it does not.

    `total_token_count` holds prompt, output, thoughts and tool prompts; when it is absent they are
    added up (thoughts are not part of candidates).
    """
    usage = response.usage_metadata
    if usage is None:
        return None
    if usage.total_token_count or (usage.total_token_count == 0 == usage.prompt_token_count):
        return int(usage.total_token_count)
    parts = (
        usage.prompt_token_count,
        usage.candidates_token_count,
        usage.thoughts_token_count,
        usage.tool_use_prompt_token_count,
    )
    total = sum(p for p in parts if p)
    return total or None


def cost(response: Any, tokens: int, prices: tuple[float, float] | None) -> float:
    """Dollars of a call at `prices` (input, output, a million tokens); 0 when unknown."""
    if prices is None:
        return 0.0
    usage = response.usage_metadata if response is not None else None
    prompt = (usage.prompt_token_count or 0) if usage is not None else 0
    prompt = min(prompt, tokens)
    return (prompt * prices[0] + (tokens - prompt) * prices[1]) / 1e6
