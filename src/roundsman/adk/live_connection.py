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
from roundsman.adk.live_turn import LiveTurn
from roundsman.adk.replies import Reply
from roundsman.adk.reports import STOP_CODE
from roundsman.adk.screening import Screen
from roundsman.guard import Kind, Verdict
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
        self._turn: LiveTurn | None = None
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
        if self._turn is not None:
            self._turn.count(response)
        if self._turn is not None and self._turn.is_too_long():
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
        turn, reply = self._turn, self._turn.reply if self._turn is not None else None
        if turn is not None and told is not None and not told.finished:
            turn.spoken += told.text or ""
        texts = [p for p in (response.content.parts if response.content else None) or [] if p.text]
        if turn is None or reply is None:
            return [response]
        if response.content is not None and response.content.role == "user":
            return [response]
        if texts and response.partial:
            piece = reply.piece(response)
            return [self._blocked(reply.instead(response)) if piece is None else piece]
        if texts:
            tail, whole = reply.tail(), await reply.whole(response)
            if reply.was_blocked:
                return [self._blocked(whole)]
            return [*([tail] if tail is not None else []), whole]
        if turn.spoken and not reply.goes_on(turn.spoken):
            return [self._blocked(reply.instead(response))]
        if (response.turn_complete or (told is not None and told.finished)) and turn.spoken:
            said, turn.spoken = turn.spoken, ""
            talk = self._talk
            instead = talk.spoken_reply(self._screen, self._run, said, self._hidden)
            if (instead := instead or await reply.last_word(said)) is not None:
                return [self._blocked(instead)]
        if (response.turn_complete or response.interrupted) and reply.pending:
            return await self._rest(reply, response)
        return [response]

    async def _rest(self, reply: Reply, response: LlmResponse) -> list[LlmResponse]:
        """A turn that ends without its whole text: what was held back is judged as the rest of it."""
        tail = reply.tail()
        passed = await reply.whole(reply.so_far())
        if reply.was_blocked:
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
        if self._turn is not None:
            return True
        verdict, step = self._run.propose(self._propose())
        if verdict.kind > Kind.AMEND:
            self._run.stop(verdict.stop or "aborted", verdict.reason, verdict.rule, verdict.layer)
            self._over = verdict
            self._wake.set()
            return False
        looks = Reply(self._screen, self._run, step.agent, self._hidden) if self._screen else None
        self._turn = LiveTurn(self._run, step, looks)
        return True

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.end(self._usage)
            self._turn = self._usage = None


def _asks(response: LlmResponse) -> bool:
    """Whether the model asks for a tool."""
    parts = response.content.parts if response.content is not None else None
    return any(p.function_call for p in parts or [])


def _speaks(response: LlmResponse) -> bool:
    """Whether the model itself says or asks for something."""
    if response.output_transcription is not None:
        return True
    return response.content is not None and response.content.role != "user"
