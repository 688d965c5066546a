"""A model that plays a script: deterministic, without a key, with usage as told."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from roundsman.errors import UsageError

Script = Callable[[LlmRequest, int], Any]


def call(name: str, **args: Any) -> types.Part:
    """A part that asks for a tool."""
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


class ScriptedModel(BaseLlm):
    """Answers what its script says.

    The script is called with the request and the number of the call (from 0) and returns a string,
    a part, or a list of parts. Every final reply reports `tokens_per_call` tokens in all, less
    when the request allows fewer output tokens (a third of a call is output).
    """

    model: str = "scripted"
    tokens_per_call: int = 1500
    calls: int = 0
    _script: Script = PrivateAttr()

    def __init__(self, script: Script | list[Any], **data: Any) -> None:
        super().__init__(**data)
        if callable(script):
            self._script = script
        else:
            if not isinstance(script, list | tuple) or not script:
                raise UsageError(
                    f"ScriptedModel takes a function or a list of answers that is not empty, "
                    f"got {type(script).__name__}"
                )
            steps = list(script)
            self._script = lambda request, n: steps[min(n, len(steps) - 1)]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        number, self.calls = self.calls, self.calls + 1
        said = self._script(llm_request, number)
        parts = [_part(p) for p in (said if isinstance(said, list) else [said])]
        prompt = self.tokens_per_call - self.tokens_per_call // 3
        output = self.tokens_per_call - prompt
        most = llm_request.config.max_output_tokens if llm_request.config else None
        if most is not None:
            output = min(output, most)
        usage = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=prompt,
            candidates_token_count=output,
            total_token_count=prompt + output,
        )
        content = types.Content(role="model", parts=parts)
        yield LlmResponse(content=content, usage_metadata=usage)


def _part(piece: Any) -> types.Part:
    return piece if isinstance(piece, types.Part) else types.Part(text=str(piece))
