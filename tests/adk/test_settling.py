"""What a model call used is charged once, whatever its reply is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

from roundsman.adk import guarded
from roundsman.ledger import Store
from roundsman.policy import load_policy
from roundsman.testing import run_guarded


def look(where: str) -> dict[str, str]:
    """Look there."""
    return {"seen": where}


class Nested(BaseLlm):
    """Calls a tool with lists in lists, deeper than anything writes."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        inner: list[Any] = []
        for _ in range(400):
            inner = [inner]
        call = types.FunctionCall(name="look", args={"where": inner})
        used = types.GenerateContentResponseUsageMetadata(
            prompt_token_count=900, candidates_token_count=100, total_token_count=1000
        )
        content = types.Content(role="model", parts=[types.Part(function_call=call)])
        yield LlmResponse(content=content, usage_metadata=used)


def test_a_reply_that_nothing_can_keep_is_charged(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("version: 1\nextends: default\nrun: {tokens: 3000, usd: null}\n")
    store = Store(tmp_path / "s.sqlite")
    agent = LlmAgent(name="a", model=Nested(model="m"), tools=[look])
    app = guarded(App(name="a", root_agent=agent), load_policy(str(policy)), store=store)

    async def play() -> None:
        runner = InMemoryRunner(app=app)
        talk = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
        said = types.Content(role="user", parts=[types.Part(text="go")])
        async for _ in runner.run_async(user_id="u", session_id=talk.id, new_message=said):
            pass

    with suppress(Exception):
        asyncio.run(play())
    (run,) = store.runs()
    assert run.status != "running"
    assert run.usage["tokens"] == 1000 * run.usage["steps"] > 0
    assert run.usage["tokens_estimated"] == 0


class Mute(BaseLlm):
    """Answers without a part."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        yield LlmResponse(content=types.Content())


async def test_a_reply_of_nothing_is_no_failure() -> None:
    result = await run_guarded(
        LlmAgent(name="a", model=Mute(model="m")), "go", load_policy("default")
    )
    ends = [one.body for one in result.records if one.kind == "step_ends"]
    assert [one.get("error", "") for one in ends] == [""]
