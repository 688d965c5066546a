"""A live model without a network: what it is sent is kept, what it says is a script of turns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr


def text(said: str, partial: bool = True) -> LlmResponse:
    content = types.Content(role="model", parts=[types.Part(text=said)])
    return LlmResponse(content=content, partial=partial)


def aloud(said: str, finished: bool = False) -> LlmResponse:
    return LlmResponse(
        output_transcription=types.Transcription(text=said, finished=finished), partial=not finished
    )


def heard(said: str) -> LlmResponse:
    return LlmResponse(input_transcription=types.Transcription(text=said, finished=True))


def audio(data: bytes = b"0") -> LlmResponse:
    part = types.Part(inline_data=types.Blob(data=data, mime_type="audio/pcm"))
    return LlmResponse(content=types.Content(role="model", parts=[part]))


def calls(name: str, **args: Any) -> LlmResponse:
    part = types.Part(function_call=types.FunctionCall(id="c1", name=name, args=args))
    return LlmResponse(content=types.Content(role="model", parts=[part]))


def used(tokens: int) -> LlmResponse:
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=tokens - 1, candidates_token_count=1, total_token_count=tokens
    )
    return LlmResponse(usage_metadata=usage)


END = LlmResponse(turn_complete=True)


class StubLive(BaseLlm):
    """Answers each turn of the person (content, or the audio b"end") by the script's next turn."""

    model: str = "stub-live"
    _turns: list[list[LlmResponse]] = PrivateAttr(default_factory=list)
    _log: list[tuple[str, str]] = PrivateAttr(default_factory=list)

    def __init__(self, *turns: list[LlmResponse], **data: Any) -> None:
        super().__init__(**data)
        self._turns = list(turns)

    @property
    def log(self) -> list[tuple[str, str]]:
        """(what, text) of everything the model was sent."""
        return self._log

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> Any:
        raise AssertionError("a live model is not asked otherwise")
        yield

    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncIterator[BaseLlmConnection]:
        self._log.append(("connect", ""))
        yield _Connection(self)


class _Connection(BaseLlmConnection):
    def __init__(self, model: StubLive) -> None:
        self._model = model
        self._queue: asyncio.Queue[LlmResponse | None] = asyncio.Queue()

    def _answer(self) -> None:
        for response in self._model._turns.pop(0) if self._model._turns else [END]:
            self._queue.put_nowait(response)

    async def send_history(self, history: list[types.Content]) -> None:
        self._model._log.append(("history", str([p.text for c in history for p in c.parts or []])))

    async def send_content(self, content: types.Content) -> None:
        said = str([p.text or p.function_response for p in content.parts or []])
        self._model._log.append(("content", said))
        self._answer()

    async def send_realtime(self, blob: Any) -> None:
        data = getattr(blob, "data", None) or b""
        self._model._log.append(("audio", data.decode()))
        if data == b"end":
            self._answer()

    async def receive(self) -> AsyncIterator[LlmResponse]:
        while (response := await self._queue.get()) is not None:
            yield response
            if response.turn_complete:
                return

    async def close(self) -> None:
        self._queue.put_nowait(None)
