"""A run through ADK's own runner, without the guard."""

from __future__ import annotations

import asyncio
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from roundsman.testing import run_guarded

PATIENCE = 300
MOST = 60
"""Model calls after which a run that nothing ends has failed."""


async def unguarded(app: Any, most_calls: int = 0) -> list[Any]:
    """Events of one run over "go"; `most_calls` is the engine's own limit, 0 for none."""
    app = app if isinstance(app, App) else App(name=app.name, root_agent=app)
    service = InMemorySessionService()
    session = await service.create_session(app_name=app.name, user_id="u")
    content = types.Content(role="user", parts=[types.Part(text="go")])
    runner = Runner(app=app, session_service=service)
    stream = runner.run_async(
        user_id="u",
        session_id=session.id,
        new_message=content,
        run_config=RunConfig(max_llm_calls=most_calls),
    )
    return [event async for event in stream]


async def events_of(app: Any, policy: Any = None) -> list[Any]:
    """Events of one run, guarded under `policy` when there is one."""
    if policy is None:
        return await asyncio.wait_for(unguarded(app, MOST), PATIENCE)
    return (await asyncio.wait_for(run_guarded(app, "go", policy), PATIENCE)).events


def answers(events: list[Any], tool: str) -> list[dict[str, Any]]:
    """What the model was given for its calls of `tool`."""
    return [
        dict(r.response or {}) for e in events for r in e.get_function_responses() if r.name == tool
    ]


def last_text(events: list[Any]) -> str:
    """The text of the last event that has some."""
    for event in reversed(events):
        parts = (event.content.parts if event.content else None) or []
        text = "".join(p.text for p in parts if p.text)
        if text:
            return text
    return ""
