"""The connection of a live session, seen through: what goes in, what comes out, what it used.

Most of a live session passes no hook of the engine: text replies, usage, history that is sent again
after a restart. All of it passes the connection, so the guarded model hands out one of these.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.adk.live_talk import LiveTalk
from roundsman.adk.replies import Reply
from roundsman.adk.reports import STOP_CODE
from roundsman.adk.screening import Screen
from roundsman.adk.settling import Settler
from roundsman.guard import Kind, Verdict
from roundsman.guard.events import StepBegins
from roundsman.ledger import LiveRun

_LOOK = 0.5
"""Seconds between looks at whether the run was stopped while nothing comes."""


class GuardedConnection(BaseLlmConnection):
    """One connection of a run. A turn of the model is a step: proposed when somebody spoke or the
    model begins, settled when the turn ends. At a limit the session ends with an event.

    Args:
        inner: the model's own connection.
        run: whose account it is.
        talk: what the session knows beyond one connection.
        screen: the checks of texts.
        step: the proposal of a turn, but for its id.
        hidden: the agent's instructions, which a reply must not repeat.
    """

    def __init__(
        self,
        inner: BaseLlmConnection,
        run: LiveRun,
        talk: LiveTalk,
        screen: Screen,
        step: Any,
        hidden: str,
    ) -> None:
        self._inner, self._run, self._talk, self._screen = inner, run, talk, screen
        self._propose, self._hidden = step, hidden
        self._settler: Settler | None = None
        self._step: StepBegins | None = None
        self._reply: Reply | None = None
        self._text = ""
        self._spoken = ""
        self._usage: Any = None
        self._over: Verdict | None = None
        self._ended = False
        self._wake = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    # -- towards the model

    async def send_history(self, history: list[types.Content]) -> None:
        """Send what was said before, without what was blocked."""
        await self._inner.send_history([self._talk.scrubbed(c) for c in history])

    async def send_content(self, content: types.Content) -> None:
        """Send a turn, when the run may take another step."""
        await self._send_content(content)

    async def _send_content(self, content: types.Content, *, partial: bool = False) -> None:
        if any(p.function_response for p in content.parts or []):
            self._end_turn()  # what the model makes of a result is another step, as everywhere
        if not partial and not self._begin():
            return
        await self._inner._send_content(await self._results(content), partial=partial)

    async def send_realtime(self, blob: Any) -> None:
        """Send audio or a picture; nothing more once the session is over."""
        if self._over is None and self._run.account.stopped is None:
            await self._inner.send_realtime(blob)

    async def close(self) -> None:
        """Close the model's connection."""
        self.settle()
        await self._inner.close()

    def settle(self) -> None:
        """Charge the turn that is under way: the connection is over."""
        self._end_turn()

    async def _results(self, content: types.Content) -> types.Content:
        """Results of tools as the checks leave them: those of streaming tools pass no other hook."""
        if not self._screen or not any(p.function_response for p in content.parts or []):
            return content
        parts = [await self._result(p) if p.function_response else p for p in content.parts or []]
        return content.model_copy(update={"parts": parts})

    async def _result(self, part: types.Part) -> types.Part:
        answer = part.function_response
        assert answer is not None
        if (
            answer.id in self._talk.cleaned
        ):  # once; what a streaming tool sends later has the id, too
            self._talk.cleaned.discard(answer.id)
            return part
        shown = await self._screen.result(self._run, str(answer.name), "", answer.response)
        if shown is answer.response:
            return part
        changed = answer.model_copy(update={"response": shown})
        return part.model_copy(update={"function_response": changed})

    # -- from the model

    async def receive(self) -> AsyncIterator[LlmResponse]:
        """What the model says, judged; at a limit one last response that says so."""
        if self._ended:
            return
        responses = aiter(self._inner.receive())
        try:
            while (response := await self._next(responses)) is not None:
                async for one in self._judged(response):
                    yield one
                if self._over is not None:
                    break
            if self._over is not None:
                self._ended = True
                self._end_turn()
                yield LlmResponse(
                    error_code=STOP_CODE, error_message=self._over.reason, turn_complete=True
                )
        finally:
            if hasattr(responses, "aclose"):
                with suppress(RuntimeError):
                    await responses.aclose()

    async def _next(self, responses: Any) -> LlmResponse | None:
        """The next response; None when there is none, or the session is over."""
        coming = asyncio.ensure_future(anext(responses))
        woken = asyncio.ensure_future(self._wake.wait())
        try:
            while not coming.done() and self._over is None:
                await asyncio.wait(
                    {coming, woken}, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED
                )
                self._look()
            if self._over is not None:
                return None
            try:
                return coming.result()
            except StopAsyncIteration:
                return None
        finally:
            woken.cancel()
            if not coming.done():
                coming.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await coming

    def _look(self) -> None:
        stopped = self._run.account.stopped
        if stopped is not None and self._over is None:
            self._over = Verdict(Kind.STOP, stopped.rule, stopped.layer, stopped.detail)

    async def _judged(self, response: LlmResponse) -> AsyncIterator[LlmResponse]:
        heard = response.input_transcription
        if heard is not None and heard.finished and heard.text:
            self._talk.spoken = heard.text
        if _speaks(response) and not self._begin():
            return
        self._usage = response.usage_metadata or self._usage
        if self._settler is not None:
            self._count(response)
        if self._step is not None and self._too_long():
            self._over = Verdict(Kind.STOP, "tokens", "model", "the reply is longer than is left")
            return
        for one in await self._screened(response):
            yield one
        if response.turn_complete or response.interrupted:
            self._end_turn()

    async def _screened(self, response: LlmResponse) -> list[LlmResponse]:
        """The response as it may leave; a blocked one as a sign for the hook that restarts."""
        told = response.output_transcription
        due = bool(response.turn_complete or response.interrupted or _asks(response))
        if (instead := await self._talk.heard_after_all(wait=due)) is not None:
            return [self._blocked(instead)]
        self._spoken += (told.text or "") if told is not None and not told.finished else ""
        texts = [p for p in (response.content.parts if response.content else None) or [] if p.text]
        if self._reply is None:
            return [response]
        if response.content is not None and response.content.role == "user":
            return [response]
        if texts and response.partial:
            piece = self._reply.piece(response)
            if piece is None:
                return [self._blocked(self._reply.instead(response))]
            return [piece]
        if texts:
            tail, whole = self._reply.tail(), await self._reply.whole(response)
            if self._reply.was_blocked:
                return [self._blocked(whole)]
            return [*([tail] if tail is not None else []), whole]
        if self._spoken and not self._reply.goes_on(self._spoken):
            return [self._blocked(self._reply.instead(response))]
        if (response.turn_complete or (told is not None and told.finished)) and self._spoken:
            said, self._spoken = self._spoken, ""
            talk = self._talk
            instead = talk.spoken_reply(self._screen, self._run, said, self._hidden)
            if (instead := instead or await self._reply.last_word(said)) is not None:
                return [self._blocked(instead)]
        if (response.turn_complete or response.interrupted) and self._reply.pending:
            return await self._rest(response)
        return [response]

    async def _rest(self, response: LlmResponse) -> list[LlmResponse]:
        """A turn that ends without its whole text: what was held back is judged as the rest of it."""
        assert self._reply is not None
        tail = self._reply.tail()
        passed = await self._reply.whole(self._reply.so_far())
        if self._reply.was_blocked:
            return [self._blocked(passed)]
        return [*([tail] if tail is not None else []), response]

    def _blocked(self, instead: LlmResponse) -> LlmResponse:
        self._talk.instead = instead.content
        return LlmResponse(
            output_transcription=types.Transcription(text=LiveTalk.SIGN, finished=False),
            partial=True,
        )

    # -- the account

    def _begin(self) -> bool:
        """Whether the model may take a turn; begins its step when none is under way."""
        self._look()
        if self._over is not None:
            self._wake.set()
            return False
        if self._settler is not None:
            return True
        verdict, step = self._run.propose(self._propose())
        if verdict.kind > Kind.AMEND:
            self._run.stop(verdict.stop or "aborted", verdict.reason, verdict.rule, verdict.layer)
            self._over = verdict
            self._wake.set()
            return False
        self._step, self._settler = step, Settler(self._run, step)
        if self._screen:
            self._reply = Reply(self._screen, self._run, step.agent, self._hidden)
        return True

    def _count(self, response: LlmResponse) -> None:
        parts = list((response.content.parts if response.content else None) or [])
        told = response.output_transcription
        if told is not None and told.text and not told.finished:
            parts.append(types.Part(text=told.text))
        if response.content is not None and response.partial is False and self._text:
            parts = [p for p in parts if not p.text]  # the pieces were counted
        self._text += "".join(p.text or "" for p in parts)
        assert self._settler is not None
        self._settler.saw(
            LlmResponse(
                content=types.Content(role="model", parts=parts),
                partial=True,
                usage_metadata=response.usage_metadata,
            )
        )

    def _too_long(self) -> bool:
        far = self._settler.streaming() if self._settler is not None else None
        return far is not None and far.output > far.most and self._run.judge(far).kind > Kind.AMEND

    def _end_turn(self) -> None:
        if self._settler is None:
            return
        content = types.Content(role="model", parts=[])
        self._settler.saw(LlmResponse(content=content, partial=False, usage_metadata=self._usage))
        self._settler.close()
        self._settler = self._step = self._reply = None
        self._text, self._spoken, self._usage = "", "", None


def _asks(response: LlmResponse) -> bool:
    """Whether the model asks for a tool."""
    parts = response.content.parts if response.content is not None else None
    return any(p.function_call for p in parts or [])


def _speaks(response: LlmResponse) -> bool:
    """Whether the model itself says or asks for something."""
    if response.output_transcription is not None:
        return True
    return response.content is not None and response.content.role != "user"
