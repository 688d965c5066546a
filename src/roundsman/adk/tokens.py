"""Token counts: what a request will cost, what a reply did cost."""

from __future__ import annotations

from typing import Any

from roundsman.guard.prints import canonical, digest

CHARS_PER_TOKEN = 3.5
"""Characters a token in an estimate: on the cautious side of the four usual for English."""
MEDIA_TOKENS = 1_000
BYTES_PER_TOKEN = 500
"""Of sound and documents, roughly as providers count them."""

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
        size += len(text) + media(content)
        chain = digest(f"{chain}\n{content.role}\n{text}")
    if key:
        counted[key] = (max(1, len(contents)), size, chain)
    first = text_of(contents[0]) if contents else ""
    size += len(first) + (media(contents[0]) if contents else 0)
    config = request.config
    if config is not None:
        size += len(str(config.system_instruction or ""))
        size += sum(300 for tool in config.tools or [] for _ in _declared(tool))
    return int(size / CHARS_PER_TOKEN) + 1, digest(f"{first}\n{chain}")


def media(content: Any) -> int:
    """Characters that stand for a content's pictures, sounds and files: a thousand tokens each, more
    for a large one that is no picture."""
    size = 0
    for part in content.parts or []:
        held = part.inline_data
        if held is None and part.file_data is None:
            continue
        picture = str(getattr(held or part.file_data, "mime_type", "")).startswith("image/")
        large = 0 if picture else len(getattr(held, "data", None) or b"") // BYTES_PER_TOKEN
        size += int(max(MEDIA_TOKENS, large) * CHARS_PER_TOKEN)
    return size


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
