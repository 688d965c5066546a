"""Texts of a content's parts: said ones, and those that come as code, its output, or an inline text file."""

from __future__ import annotations

from google.genai import types

READABLE = ("text/", "application/json", "application/xml", "application/yaml")
"""Kinds of inline data whose bytes are a text. Pictures, sounds and documents are not read."""


def part_text(part: types.Part) -> str:
    """What can be read in a part; empty for calls, results and what is no text. Bytes that are no UTF-8
    are read as far as they are."""
    if part.text:
        return part.text
    if part.executable_code is not None:
        return part.executable_code.code or ""
    if part.code_execution_result is not None:
        return part.code_execution_result.output or ""
    blob = part.inline_data
    if blob is not None and blob.data and (blob.mime_type or "").startswith(READABLE):
        return blob.data.decode("utf-8", "replace")
    return ""


def with_text(part: types.Part, text: str) -> types.Part:
    """The same part with another text in the same place."""
    if part.text:
        return part.model_copy(update={"text": text})
    if part.executable_code is not None:
        code = part.executable_code.model_copy(update={"code": text})
        return part.model_copy(update={"executable_code": code})
    if part.code_execution_result is not None:
        result = part.code_execution_result.model_copy(update={"output": text})
        return part.model_copy(update={"code_execution_result": result})
    assert part.inline_data is not None
    blob = part.inline_data.model_copy(update={"data": text.encode("utf-8", "replace")})
    return part.model_copy(update={"inline_data": blob})


def all_text(parts: list[types.Part]) -> str:
    """The readable texts of all parts, a line each."""
    return "\n".join(text for text in map(part_text, parts) if text)
