"""One guarded run through ADK's real runner, with everything a test wants to look at."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from google.adk.agents.run_config import RunConfig
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from roundsman.adk import guarded
from roundsman.guard import Account
from roundsman.ledger import Record, Store
from roundsman.ledger.asking import told
from roundsman.ledger.fold import fold
from roundsman.policy import Policy


@dataclass(frozen=True, repr=False)
class GuardedResult:
    """What a run left. `text` is that of the last event that has some; `error` what the runner
    raised, None when it ended by itself; `status` as `roundsman runs list` shows it; `stop` why the
    run ended: `done`, or the limit that stopped it (`steps`, `tokens`, `repetition` ...); `asked` while
    it waits for a person, and `waits` then says for what. `kept`: whether its journal is still there."""

    text: str
    events: list[Any]
    account: Account
    records: list[Record]
    run_id: str
    status: str
    error: BaseException | None = None
    output: Any = None
    outputs: list[Any] = field(default_factory=list)
    kept: bool = True

    @property
    def stop(self) -> str:
        """The stop reason, as reports have it: `asked` while it waits for a person; empty when the
        run left no record, or was left without an end."""
        if self.account.stopped is not None:
            return self.account.stopped.reason
        return "asked" if self.account.asks.open else ""

    @property
    def waits(self) -> str:
        """What the run waits for, by which question's id, and the command that answers it; empty
        when it waits for nobody."""
        open_ = list(self.account.asks.open.values())
        if not open_ or self.account.stopped is not None:
            return ""
        gone = (
            "" if self.kept else "; its journal was temporary: to answer, give run_guarded a store"
        )
        return told(self.run_id, open_) + gone

    def __repr__(self) -> str:
        used = self.account
        return (
            f"<GuardedResult {self.run_id}: {self.waits or self.stop or self.status or 'no record'}, "
            f"{used.steps} steps, {used.actions} actions, {used.tokens} tokens>"
        )

    def results(self, tool: str) -> list[dict[str, Any]]:
        """The results of `tool` as the model was given them, refusals too."""
        found = []
        for event in self.events:
            for part in (event.content.parts if event.content else None) or []:
                response = part.function_response
                if response is not None and response.name == tool:
                    found.append(dict(response.response or {}))
        return found


async def run_guarded(
    app: Any,
    message: str = "go",
    policy: Policy | str | Path = "default",
    *,
    store: Store | None = None,
    clock: Callable[[], float] = time.time,
    run_config: RunConfig | None = None,
    catch: bool = False,
) -> GuardedResult:
    """Guard `app` (an ADK App or an agent) and run it once over `message`.

    Args:
        app: it is guarded in place; an earlier guard on it is replaced.
        message: the user's message.
        policy: a loaded policy, a preset's name or a file.
        store: by default a journal in a temporary folder that is gone afterwards.
        clock: what the journal takes for the time; a `FakeClock` for tests of time limits.
        run_config: of the engine; by default its own call limit is off, since the guard counts.
        catch: keep what the runner raises in `error`; otherwise it passes through.
    """
    with tempfile.TemporaryDirectory(prefix="roundsman-test-") as folder:
        own = store is None
        journal = Store(Path(folder) / "runs.sqlite") if store is None else store
        try:
            bounded = guarded(app, policy, store=journal, clock=clock)
            result = await _run(bounded, message, journal, run_config, catch)
            return replace(result, kept=not own)
        finally:
            if own:
                journal.close()


async def _run(
    app: Any, message: str, store: Store, config: RunConfig | None, catch: bool
) -> GuardedResult:
    before = {info.run_id for info in store.runs()}
    service = InMemorySessionService()
    runner = Runner(app=app, session_service=service)
    session = await service.create_session(app_name=app.name, user_id="tester")
    content = types.Content(role="user", parts=[types.Part(text=message)])
    events: list[Any] = []
    error: BaseException | None = None
    stream = runner.run_async(
        user_id="tester",
        session_id=session.id,
        new_message=content,
        run_config=config or RunConfig(max_llm_calls=0),
    )
    try:
        async with aclosing(stream) as incoming:
            async for event in incoming:
                events.append(event)
    except Exception as raised:
        if not catch:
            raise
        error = raised
    new = [info for info in store.runs() if info.run_id not in before]
    records = store.records(new[-1].run_id) if new else []
    outputs = [e.output for e in events if e.output is not None]
    return GuardedResult(
        text=next((t for t in map(_text, reversed(events)) if t), ""),
        events=events,
        account=fold(records),
        records=records,
        run_id=new[-1].run_id if new else "",
        status=new[-1].status if new else "",
        error=error,
        output=outputs[-1] if outputs else None,
        outputs=outputs,
    )


def _text(event: Any) -> str:
    parts = (event.content.parts if event.content else None) or []
    return "".join(p.text for p in parts if p.text and not p.thought)
