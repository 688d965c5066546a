"""Run a guarded app once and keep its account, whatever happens."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.genai import types

from roundsman.adk import plugin_of
from roundsman.ledger import LiveRun


async def execute(
    app: App, run: LiveRun, question: str, sessions: BaseSessionService | None = None
) -> dict[str, Any]:
    """The loop's output, or what was held when it broke off; the run is ended on every way out.

    `sessions` is the engine's own store (default: memory, since the journal is what counts).

    The engine's own call limit is off (the guarded model counts): it would raise before the model
    is reached and knows nothing of nested runs.
    """
    logging.getLogger("google_adk").setLevel(logging.ERROR)  # its hints are not for on-call people
    service = sessions or InMemorySessionService()
    runner = Runner(app=app, session_service=service)
    session = await service.create_session(app_name=app.name, user_id="oncall")
    plugin_of(app).expect(session.id, run)
    message = types.Content(role="user", parts=[types.Part(text=question)])
    output: dict[str, Any] = {}
    try:
        async for event in runner.run_async(
            user_id="oncall",
            session_id=session.id,
            new_message=message,
            run_config=RunConfig(max_llm_calls=0),
        ):
            if isinstance(event.output, dict) and "findings" in event.output:
                output = event.output
    except (KeyboardInterrupt, asyncio.CancelledError):
        run.end("aborted", detail="interrupted by Ctrl-C")
        raise
    except Exception as error:
        run.end("failed", layer="model", detail=f"{type(error).__name__}: {error}"[:500])
    stopped = run.account.ending
    if stopped is None:
        run.end("failed", detail="the engine ended the run without an answer")
    else:
        run.end(stopped.reason, stopped.rule, stopped.layer, stopped.detail)
    return output
