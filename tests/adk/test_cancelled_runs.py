"""A run that is cancelled from outside is closed at once, whoever cancels it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.workflow import START, Workflow
from google.genai import types

from roundsman.adk import guarded, loop_until_done
from roundsman.ledger import Store
from roundsman.policy import load_policy
from roundsman.testing import ScriptedModel, run_guarded

REACHED: list[asyncio.Event] = []


class Hanging(BaseLlm):
    """Says that it was reached, then never answers."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        REACHED[-1].set()
        await asyncio.Event().wait()
        yield LlmResponse()


def agent() -> Any:
    return LlmAgent(name="slow", model=Hanging(model="hanging"))


def workflow() -> Any:
    rounds = loop_until_done(agent(), load_policy("default"))
    return Workflow(name="flow", edges=[(START, rounds)])


async def drive(root: Any, store: Store) -> None:
    app = guarded(root, "default", store=store)
    service = InMemorySessionService()
    session = await service.create_session(app_name=app.name, user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    runner = Runner(app=app, session_service=service)
    events = runner.run_async(user_id="u", session_id=session.id, new_message=message)
    async with aclosing(events) as incoming:
        async for _ in incoming:
            pass


def ended(store: Store) -> tuple[str, str]:
    (info,) = store.runs()
    store.verify(info.run_id)
    return info.status, store.records(info.run_id)[-1].body["reason"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    REACHED.append(asyncio.Event())
    return Store(tmp_path / "runs.sqlite")


@pytest.mark.parametrize("root", [agent, workflow])
async def test_a_cancelled_task_closes_its_run(store: Store, root: Any) -> None:
    task = asyncio.create_task(drive(root(), store))
    await REACHED[-1].wait()
    assert store.runs()[0].status == "running"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended(store) == ("stopped", "aborted")


@pytest.mark.parametrize("root", [agent, workflow])
async def test_a_time_limit_around_the_run_closes_it_while_the_task_lives_on(
    store: Store, root: Any
) -> None:
    async def expire(limit: asyncio.Timeout) -> None:
        await REACHED[-1].wait()
        limit.reschedule(0)

    async def limited() -> None:
        async with asyncio.timeout(None) as limit:
            waiting = asyncio.create_task(expire(limit))
            await drive(root(), store)
        await waiting

    with pytest.raises(TimeoutError):
        await limited()
    assert ended(store) == ("stopped", "aborted")


async def test_leaving_after_the_answer_is_no_cancellation(store: Store) -> None:
    root = LlmAgent(name="quick", model=ScriptedModel(["first"]))
    app = guarded(root, "default", store=store)
    service = InMemorySessionService()
    session = await service.create_session(app_name=app.name, user_id="u")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    events = Runner(app=app, session_service=service).run_async(
        user_id="u", session_id=session.id, new_message=message
    )
    async with aclosing(events) as incoming:
        async for _ in incoming:
            break
    assert ended(store) == ("done", "done")


async def test_the_engines_hint_on_its_call_limit_is_dropped_and_no_other(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.WARNING):
        result = await run_guarded(LlmAgent(name="a", model=ScriptedModel(["hi"])))
        RunConfig(max_llm_calls=0)
        assert "max_llm_calls" not in caplog.text
        monkeypatch.setenv("ADK_MAX_LLM_CALLS", "many")
        RunConfig()
    assert "ADK_MAX_LLM_CALLS" in caplog.text
    assert result.stop == "done"
