"""Token counts: what a request will cost, what a reply did cost."""

from __future__ import annotations

from typing import Any

from roundsman.guard.prints import canonical, digest

CHARS_PER_TOKEN = 3.5
"""Characters a token in an estimate: on the cautious side of the four usual for English."""


Counted = dict[str, tuple[int, int, str]]
"""For each history: contents seen, their characters, and the chained digest of their texts."""


def measure_prompt(request: Any, counted: Counted, key: str) -> tuple[int, str]:
    """(tokens the request comes to, roughly; digest of its texts without call ids).

    `counted` remembers for each history `key` what was read of it, so that a long one is not read
    again at every step; one that got shorter (a new round, compaction) is read afresh. The first
    content is always read. An empty key reads everything.
    """
    contents = request.contents or []
    seen, size, chain = counted.get(key, (1, 0, "")) if key else (1, 0, "")
    if len(contents) < seen:
        seen, size, chain = 1, 0, ""
    for content in contents[seen:]:
        text = text_of(content)
        size += len(text)
        chain = digest(f"{chain}\n{content.role}\n{text}")
    if key:
        counted[key] = (max(1, len(contents)), size, chain)
    first = text_of(contents[0]) if contents else ""
    size += len(first)
    config = request.config
    if config is not None:
        size += len(str(config.system_instruction or ""))
        size += sum(300 for tool in config.tools or [] for _ in _declared(tool))
    return int(size / CHARS_PER_TOKEN) + 1, digest(f"{first}\n{chain}")


def text_of(content: Any) -> str:
    """A content's text, calls and results as one text, without call ids."""
    pieces = []
    for part in content.parts or []:
        if part.text:
            pieces.append(part.text)
        if part.function_call is not None:
            pieces.append(f"{part.function_call.name} {canonical(part.function_call.args)}")
        if part.function_response is not None:
            pieces.append(
                f"{part.function_response.name} {canonical(part.function_response.response)}"
            )
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
