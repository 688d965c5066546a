"""Ids of the calls in a reply: on record with it, so that they are the same when it is given back.

The engine names a call when its model has not, anew in each process. A node that runs as a tool has the
id of its call in its path, and by its path a loop below it knows its finished rounds.
"""

from __future__ import annotations

from uuid import uuid4

from google.adk.models.llm_response import LlmResponse
from google.genai import types

_OF_ENGINE = "adk-"
"""What the engine begins its own ids with, and takes out of a request again by."""


def with_call_ids(response: LlmResponse) -> LlmResponse:
    """The reply with an id for each call that has none; a piece of a stream as it is."""
    parts = (response.content.parts if response.content else None) or []
    if response.partial or all(p.function_call is None or p.function_call.id for p in parts):
        return response
    assert response.content is not None
    named = response.content.model_copy(update={"parts": [_named(part) for part in parts]})
    return response.model_copy(update={"content": named})


def _named(part: types.Part) -> types.Part:
    call = part.function_call
    if call is None or call.id:
        return part
    return part.model_copy(
        update={"function_call": call.model_copy(update={"id": f"{_OF_ENGINE}{uuid4()}"})}
    )
