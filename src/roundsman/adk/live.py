"""Live sessions: what the plugin's hooks do there. The rest passes the connection.

The engine calls model hooks at three places of a live session: typed text before it is sent, the growing
transcript of the model's speech, and the finished transcript of the person's. A block at the last two makes
it restart the session, with a history that `LiveTalk` has cleaned.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from roundsman.adk.current import GUARDS, current_run
from roundsman.adk.live_connection import GuardedConnection
from roundsman.adk.live_talk import LiveTalk, files_of, talk_of, user_turn
from roundsman.adk.screening import Screen
from roundsman.errors import RefusedToStart
from roundsman.guard.events import StepBegins
from roundsman.ledger import LiveRun

Connect = Callable[[LlmRequest], AbstractAsyncContextManager[BaseLlmConnection]]
Proposal = Callable[[LiveRun, str, BaseLlm, LlmRequest], StepBegins]

_AGENT: ContextVar[str] = ContextVar("roundsman_live_agent", default="")
"""The agent whose session is being opened: the engine does not tell the model."""


def is_live(context: Any) -> bool:
    """Whether an invocation is a live session."""
    return getattr(context, "live_request_queue", None) is not None


def entering(agent: str) -> None:
    """An agent is about to open a session."""
    _AGENT.set(agent)


def check_live(config: RunConfig | None, screen: Screen, blind: bool) -> None:
    """Refuse a session in which a layer would be blind.

    Raises:
        RefusedToStart: speech without a transcript while checks look at texts, unless the policy
            says so.
    """
    if not screen or blind:
        return
    config = config or RunConfig()
    off = [
        name
        for name in ("input_audio_transcription", "output_audio_transcription")
        if getattr(config, name) is None
    ]
    if off:
        raise RefusedToStart(
            f"{' and '.join(off)} off: the checks of the policy would not hear what is said; switch it "
            "on, or say conversation.blind: allow"
        )


def check_config(config: RunConfig | None) -> None:
    """Refuse what the engine runs as a live session inside of an ordinary one.

    Raises:
        RefusedToStart: compositional function calling.
    """
    if getattr(config, "support_cfc", False):
        raise RefusedToStart("compositional function calling is not guarded; leave support_cfc off")


def connected(connect: Connect, model: BaseLlm, request: LlmRequest, proposal: Proposal) -> Any:
    """The model's connection, seen through when it is opened inside of a run."""
    run = current_run()
    guard = None if run is None else GUARDS.get(run)
    if run is None or guard is None:
        return connect(request)
    agent = _AGENT.get()
    talk = talk_of(run)
    talk.agent = agent
    told = request.config.system_instruction if request.config else None

    @asynccontextmanager
    async def opened() -> Any:
        async with connect(request) as inner:
            connection = GuardedConnection(
                inner,
                run,
                talk,
                guard.screen,
                lambda: proposal(run, agent, model, request),
                told if isinstance(told, str) else "",
            )
            try:
                yield connection
            finally:
                connection.settle()

    return opened()


async def heard(
    run: LiveRun, screen: Screen, context: Any, request: LlmRequest
) -> LlmResponse | None:
    """Judge what a person typed or said; None: it may go on."""
    talk = talk_of(run)
    for content in request.contents or []:
        instead, text = await talk.heard(screen, run, content)
        if instead is not None:
            talk.scrub(context.session)
            return LlmResponse(content=instead, partial=False, custom_metadata=talk.metadata)
        if text:
            run.write(replace(user_turn(run, *screen.kept(text)), sources=files_of(content)))
    return None


def told(run: LiveRun, screen: Screen, context: Any, response: LlmResponse) -> LlmResponse | None:
    """Judge the growing transcript of a reply; None: it may go on.

    What is returned must not be partial: a partial event is not kept, the history would end with the
    person's turn, and a model would answer it again.
    """
    talk: LiveTalk = talk_of(run)
    said = response.output_transcription
    if said is None or not said.text:
        return None
    instead = talk.instead
    if instead is None and screen:
        hidden = screen.told.get(run, {}).get(talk.agent, "")
        blocked = talk.spoken_reply(screen, run, said.text, hidden, whole=False)
        instead = None if blocked is None else blocked.content
    talk.instead = None
    if instead is None:
        return None
    talk.block(said.text)
    talk.scrub(context.session)
    return LlmResponse(
        content=instead, partial=False, turn_complete=True, custom_metadata=talk.metadata
    )
