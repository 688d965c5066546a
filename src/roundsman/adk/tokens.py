"""Token counts: what a request will cost, what a reply did cost."""

from __future__ import annotations

from typing import Any

CHARS_PER_TOKEN = 3.5
"""Characters a token in an estimate: on the cautious side of the four usual for English."""


def estimate_prompt(request: Any, counted: dict[str, tuple[int, int]], agent: str) -> int:
    """Tokens the request's text, declarations and instruction come to, roughly.

    `counted` remembers for each agent how many contents were counted and their size, so that a
    long history is not read again at every step; a history that got shorter (a new round,
    compaction) is counted afresh. The first content is always read.
    """
    contents = request.contents or []
    seen, size = counted.get(agent, (1, 0))
    if len(contents) < seen:
        seen, size = 1, 0
    size += sum(_size(content) for content in contents[seen:])
    counted[agent] = (max(1, len(contents)), size)
    size += sum(_size(content) for content in contents[:1])
    config = request.config
    if config is not None:
        size += len(str(config.system_instruction or ""))
        size += sum(300 for tool in config.tools or [] for _ in _declared(tool))
    return int(size / CHARS_PER_TOKEN) + 1


def _size(content: Any) -> int:
    return len(text_of(content))


def text_of(content: Any) -> str:
    """A content's text, calls and results as one text, without call ids."""
    pieces = []
    for part in content.parts or []:
        if part.text:
            pieces.append(part.text)
        if part.function_call is not None:
            pieces.append(f"{part.function_call.name} {part.function_call.args}")
        if part.function_response is not None:
            pieces.append(f"{part.function_response.name} {part.function_response.response}")
    return "\n".join(pieces)


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
