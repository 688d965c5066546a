"""The analyst as a model: it asks through the same tools and writes the same JSON, without a key."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.investigate.analyst import plan

NO_TOKENS = types.GenerateContentResponseUsageMetadata(
    prompt_token_count=0, candidates_token_count=0, total_token_count=0
)


class AnalystModel(BaseLlm):
    """A planner over structured tool results. It sees what a model would see, nothing else, and
    spends no tokens, so none are reserved for what it reads."""

    spends_no_tokens: ClassVar[bool] = True
    model: str = "analyst"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        prompt, exchanges = _read(llm_request)
        said = plan(prompt, exchanges)
        if isinstance(said, dict):
            parts = [types.Part(text=json.dumps(said, ensure_ascii=False))]
        else:
            parts = [
                types.Part(function_call=types.FunctionCall(name=c["name"], args=c["args"]))
                for c in said
            ]
        content = types.Content(role="model", parts=parts)
        yield LlmResponse(content=content, usage_metadata=NO_TOKENS)


def _read(request: LlmRequest) -> tuple[str, list[tuple[str, dict[str, Any], dict[str, Any]]]]:
    """The prompt, and (tool, args, result) of everything asked in this round."""
    texts, exchanges = [], []
    calls: list[types.FunctionCall] = []
    for content in request.contents:
        for part in content.parts or []:
            if part.text and content.role == "user":
                texts.append(part.text)
            if part.function_call is not None:
                calls.append(part.function_call)
            if part.function_response is not None:
                answer = part.function_response
                # the engine takes its own ids off before a model is asked: then the order tells
                asked = next((c for c in calls if (c.id, c.name) == (answer.id, answer.name)), None)
                if asked is not None:
                    calls.remove(asked)
                args = dict(asked.args or {}) if asked else {}
                exchanges.append((answer.name or "", args, dict(answer.response or {})))
    return "\n".join(texts), exchanges
