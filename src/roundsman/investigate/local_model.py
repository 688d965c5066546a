"""A model behind an OpenAI-compatible server of one's own, on the engine's own class for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import httpx
import openai
from google.adk.integrations.openai import OpenAILlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from roundsman.adk.current import run_to_charge
from roundsman.errors import ModelServerError
from roundsman.guard.events import Ruled
from roundsman.investigate import model_errors, model_traffic, prompted
from roundsman.investigate.endpoint import Endpoint
from roundsman.investigate.fitting import TooSmall, chars, fitted, result_sizes
from roundsman.investigate.gauge import Gauge
from roundsman.investigate.model_traffic import Road

ANSWER_TOKENS = 1024
"""Most tokens of one reply, as far as the policy asks for no fewer."""
_PROBE = "note"
PROBE, PROBES = 60.0, 3
"""Seconds of the call that shows whether native calls come, and how often it is made."""


class LocalModel(OpenAILlm):
    """Calls tools natively or prompted, and keeps every prompt within the model's context.

    A call that fails raises ModelServerError; what asks again is the guard, by `wait_after`, since
    each request is a step of the account.
    """

    context: int = 0
    endpoint_url: str = ""
    tools: str = "auto"
    _road: Any = PrivateAttr(default=None)
    _prompted: bool | None = PrivateAttr(default=None)
    _probes: int = PrivateAttr(default=0)
    _why: str = PrivateAttr(default="")
    _takes_schema: bool | None = PrivateAttr(default=None)  # None until a reply has told
    _gauge: Gauge = PrivateAttr(default_factory=Gauge)

    @classmethod
    def at(cls, endpoint: Endpoint, model: str, context: int) -> LocalModel:
        """The model of that name at the endpoint; `context` in tokens, 0 when it is not known."""
        road = Road(endpoint)
        client = openai.AsyncOpenAI(
            base_url=endpoint.url,
            api_key="none",  # the road sends the endpoint's own headers, or none
            organization="",
            project="",
            max_retries=0,
            timeout=httpx.Timeout(model_traffic.WHOLE, connect=model_traffic.CONNECT),
            http_client=httpx.AsyncClient(transport=road, trust_env=False),
        )
        made = cls(
            model=model,
            client=client,
            context=context,
            endpoint_url=endpoint.url,
            tools=endpoint.tools,
            max_tokens=_reply_tokens(context),
        )
        made._road = road
        made._prompted = True if endpoint.tools == "prompted" else None
        return made

    @property
    def most_prompt_tokens(self) -> int:
        """What a prompt can come to at most, 0 when the context is not known."""
        return self.context

    def wait_after(self, error: Exception, attempt: int) -> float | None:
        """See `model_errors.pause_after`; read by `roundsman.adk.attempts`."""
        return model_errors.pause_after(error, attempt)

    async def aclose(self) -> None:
        """Give the connections back; the model can be used again."""
        await self._road.aclose()

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One reply, never streamed: its calls are ordinary ones, however the model made them."""
        declared = prompted.declared_in(llm_request.config.tools if llm_request.config else None)
        spent: types.GenerateContentResponseUsageMetadata | None = None
        if declared and self._prompted is None:
            spent = await self._probe()
        by_prompt = bool(declared) and bool(self._prompted)
        request = self._constrained(llm_request, declared) if by_prompt else llm_request
        request = self._fitted(request)
        talk = prompted.as_talk(request.contents) if by_prompt else request.contents
        try:
            replies = await self._asked(request.model_copy(update={"contents": talk}))
        except ModelServerError as error:
            raise self._eased(error, by_prompt) from None
        self._learn(request, replies)
        if by_prompt and self._takes_schema is None:
            self._takes_schema = True
        for reply in replies:
            if by_prompt:
                _as_calls(reply, declared)
            elif names := prompted.printed_in(_text_of(reply), declared):
                self._tell(f"a call of {names} came as text and was not made: --tools prompted")
            if spent is not None:
                reply.usage_metadata, spent = _sum(reply.usage_metadata, spent), None
            yield reply

    async def _probe(self) -> types.GenerateContentResponseUsageMetadata | None:
        """Whether native calls come: a short call that must name a tool. Its tokens count with the
        step that asked."""
        number = types.Schema(type=types.Type.INTEGER)
        schema = types.Schema(type=types.Type.OBJECT, properties={"number": number})
        about = types.FunctionDeclaration(name=_PROBE, description="Note it.", parameters=schema)
        must = types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY)
        ask = types.Part(text="Call the tool note with the number 7.")
        config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=[about])],
            tool_config=types.ToolConfig(function_calling_config=must),
            max_output_tokens=48,
        )
        contents = [types.Content(role="user", parts=[ask])]
        request = LlmRequest(model=self.model, contents=contents, config=config)
        try:
            replies = await self._asked(request, PROBE)
        except ModelServerError as error:
            replies = self._unanswered(error)
        calls = [
            part.function_call
            for reply in replies
            for part in (reply.content.parts if reply.content else None) or []
            if part.function_call is not None and part.function_call.name == _PROBE
        ]
        if not calls and self.tools == "native":
            raise ModelServerError(
                f"{self.endpoint_url}: the server ignores tool_choice, or {self.model} makes no "
                "tool calls; use --tools prompted"
            )
        self._prompted = not calls
        if self._prompted:
            self._tell(f"tools are called prompted: {self._why or 'no native call came'}")
        return next((reply.usage_metadata for reply in replies), None)

    def _unanswered(self, error: ModelServerError) -> list[LlmResponse]:
        """No replies when the probe is over without one. Raises the error while it may be made again,
        as a step of its own."""
        if model_errors.takes_no_tools(error):
            self._why = f"the server takes no tools: {error}"
            return []
        if not error.passing or error.unspent:  # it says nothing of tools
            raise error
        self._probes += 1
        if self._probes < PROBES or self.tools == "native":
            raise error
        self._why = f"could not tell whether native calls come, in {PROBES} tries: {error}"
        return []

    def _tell(self, why: str) -> None:
        """Put on record, where there is a run, how tools are called and why."""
        run = run_to_charge()
        if run is not None:
            run.write(Ruled(verdict="amend", rule="tools", layer="model", reason=why[:400]), False)

    async def _asked(self, request: LlmRequest, seconds: float = 0.0) -> list[LlmResponse]:
        """Every reply of one request. Raises ModelServerError, in one line."""
        seconds = seconds or model_traffic.WHOLE
        try:
            async with asyncio.timeout(seconds):
                return [one async for one in OpenAILlm.generate_content_async(self, request)]
        except TimeoutError:
            why = f"still answering after {seconds:g} s"
            # a short call may find the model still being loaded; a whole one had its time
            again = seconds < model_traffic.WHOLE
            raise ModelServerError(f"{self.endpoint_url}: {why}", passing=again) from None
        except openai.APIStatusError as error:
            raise model_errors.of_status(error, self.endpoint_url, self.model, self._road) from None
        except openai.APIConnectionError as error:
            raise model_errors.of_connection(error, self.endpoint_url) from None
        except openai.OpenAIError as error:
            text = " ".join(str(error).split())[:200]
            raise ModelServerError(f"{self.endpoint_url}: {text}") from None

    def _constrained(
        self, request: LlmRequest, declared: Sequence[types.FunctionDeclaration]
    ) -> LlmRequest:
        system = request.config.system_instruction or ""
        text = f"{system}\n\n{prompted.told(declared)}".strip()
        config = request.config.model_copy(
            update={
                "tools": None,
                "tool_config": None,
                "system_instruction": text,
                "response_schema": None
                if self._takes_schema is False
                else prompted.step_schema(declared),
                "temperature": request.config.temperature,
            }
        )
        return request.model_copy(update={"config": config})

    def _fitted(self, request: LlmRequest) -> LlmRequest:
        """The request with tool answers cut to what the context leaves for them."""
        if not self.context:
            return request
        asked = request.config.max_output_tokens if request.config else None
        reply = min(asked or self.max_tokens, self.max_tokens)
        if request.config is not None:
            limits = {"max_output_tokens": reply}
            request = request.model_copy(
                update={"config": request.config.model_copy(update=limits)}
            )
        try:
            contents = fitted(request, self.context, reply, self._gauge)
        except TooSmall as error:
            raise ModelServerError(
                f"{self.endpoint_url}: a context of {self.context} tokens is too small: "
                f"instruction, tools and question alone take about {error.tokens} beside {reply} "
                "for a reply",
                unspent=True,
            ) from None
        return request.model_copy(update={"contents": contents})

    def _learn(self, request: LlmRequest, replies: Sequence[LlmResponse]) -> None:
        usage = replies[0].usage_metadata if replies else None
        results = sum(result_sizes(request.contents or []))
        tokens = (usage.prompt_token_count if usage else None) or 0
        self._gauge.learn(chars(request) - results, results, tokens)

    def _eased(self, error: ModelServerError, by_prompt: bool) -> ModelServerError:
        """The error, to be asked again after when the next request can ask for less."""
        if error.too_long:
            if self.context and self._gauge.tighten():
                error.passing = True
        elif by_prompt and self._takes_schema is None and model_errors.may_be_the_schema(error):
            self._takes_schema, error.passing = False, True
            self._tell(
                f"asked without the schema from now on, which may be what it refused: {error}"
            )
        return error


def _reply_tokens(context: int) -> int:
    return min(ANSWER_TOKENS, context // 4) if context else ANSWER_TOKENS


def _as_calls(reply: LlmResponse, declared: Sequence[types.FunctionDeclaration]) -> None:
    """Put the call a reply stands for in place of its text."""
    text = _text_of(reply)
    if not text:
        return
    step = prompted.read_step(text, declared)
    part = types.Part(text=step) if isinstance(step, str) else types.Part(function_call=step)
    reply.content = types.Content(role="model", parts=[part])


def _text_of(reply: LlmResponse) -> str:
    """What a reply says; empty when it makes calls."""
    parts = (reply.content.parts if reply.content else None) or []
    if any(part.function_call is not None for part in parts):
        return ""
    return "".join(part.text for part in parts if part.text and not part.thought)


def _sum(
    mine: types.GenerateContentResponseUsageMetadata | None,
    other: types.GenerateContentResponseUsageMetadata,
) -> types.GenerateContentResponseUsageMetadata | None:
    """The step's usage with the probe's; a step that reports none is estimated as ever."""
    if mine is None:
        return None
    names = ("prompt_token_count", "candidates_token_count", "total_token_count")
    sums = {n: (getattr(mine, n) or 0) + (getattr(other, n) or 0) for n in names}
    return mine.model_copy(update=sums)
