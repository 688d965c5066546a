"""What the matrix runs and how it looks at it. What ran is counted inside the models and the tools
themselves; the journal is only compared with that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from roundsman.adk import guarded
from roundsman.errors import RefusedToStart
from roundsman.guard import Account
from roundsman.ledger import Record, Store
from roundsman.ledger.fold import fold
from roundsman.policy import Policy, load_policy
from roundsman.testing import ScriptedModel, call

STEPS = 5
"""Model calls the policy of a case allows; every case would make more."""
MOST_DEPTH = 60
BUSY = 8
"""Model calls a busy agent makes before it answers."""


class Lab:
    """Counts what runs, in order."""

    def __init__(self) -> None:
        self.log: list[tuple[str, Any]] = []

    @property
    def steps(self) -> int:
        """Model calls that ran."""
        return sum(kind == "model" for kind, _ in self.log)

    @property
    def actions(self) -> int:
        """Tool runs."""
        return sum(kind in ("dig", "restart_pod") for kind, _ in self.log)

    def dig(self, depth: int = 1) -> dict[str, Any]:
        """Dig."""
        self.log.append(("dig", depth))
        return {"status": "ok", "depth": depth, "turn": len(self.log)}

    def restart_pod(self, pod: str = "a") -> dict[str, Any]:
        """Restart a pod."""
        self.log.append(("restart_pod", pod))
        return {"status": "ok"}

    def model(self, script: Any, **data: Any) -> ScriptedModel:
        """A model whose calls are counted."""
        steps = script if callable(script) else None

        def counted(request: LlmRequest, n: int) -> Any:
            self.log.append(("model", n))
            return steps(request, n) if steps else script[min(n, len(script) - 1)]

        return ScriptedModel(counted, **data)

    def busy(self) -> ScriptedModel:
        """A model that asks for what is forbidden, for too much, and then goes on and on."""
        return self.model(busy_script)

    def worker(self, name: str = "worker", **more: Any) -> LlmAgent:
        """A busy agent with both tools."""
        data = {"description": "digs", "model": self.busy(), **more}
        data.setdefault("tools", [self.dig, self.restart_pod])
        return LlmAgent(name=name, **data)


def busy_script(request: LlmRequest, n: int) -> Any:
    """By the number of the call."""
    if n == 0:
        return call("restart_pod", pod="b")
    if n == 1:
        return call("dig", depth=240)
    return call("dig", depth=n) if n < BUSY else "done"


@dataclass(frozen=True)
class Run:
    """What one run left: events, what the runner raised, and the journal when there was one."""

    lab: Lab
    events: list[Any]
    error: BaseException | None
    records: list[Record] = field(default_factory=list)

    @property
    def account(self) -> Account:
        return fold(self.records)


Drive = Callable[[App, Lab], Awaitable[list[Any]]]
Build = Callable[[Lab], Any]


async def once(app: App, lab: Lab) -> list[Any]:
    """One message, to the end."""
    return await converse(app, ["go"])


async def converse(app: App, messages: list[Any], **config: Any) -> list[Any]:
    """Messages of one session, one after another; texts or contents."""
    service = InMemorySessionService()
    runner = Runner(app=app, session_service=service, artifact_service=InMemoryArtifactService())
    session = await service.create_session(app_name=app.name, user_id="u")
    events: list[Any] = []
    for message in messages:
        if callable(message):
            message = message(events)
        if isinstance(message, str):
            message = types.Content(role="user", parts=[types.Part(text=message)])
        stream = runner.run_async(
            user_id="u",
            session_id=session.id,
            new_message=message,
            run_config=RunConfig(max_llm_calls=60, **config),
        )
        async for event in stream:
            events.append(event)
    return events


@asynccontextmanager
async def nothing(lab: Lab) -> AsyncIterator[None]:
    """A case without a server."""
    yield None


@dataclass(frozen=True)
class Case:
    """One construct.

    `build` makes the app (of the lab, and of what `serve` started); `tools` are declared beside
    `dig`; `checks` what an unguarded run breaks; `stop` why the guarded one must end, empty when it
    ends by itself; `path` names what is refused at start.
    """

    build: Callable[..., Any]
    tools: Mapping[str, Any] = field(default_factory=dict)
    checks: frozenset[str] = frozenset({"budget", "allowlist", "clamp"})
    stop: str = "steps"
    limits: Mapping[str, Any] = field(default_factory=lambda: {"steps": STEPS})
    drive: Drive = once
    serve: Callable[[Lab], AbstractAsyncContextManager[Any]] = nothing
    path: str = ""
    shares: frozenset[str] | None = None


def policy_of(case: Case) -> Policy:
    """The policy a case runs under: a strict allowlist, a clamp, and its limits."""
    base = load_policy("baseline")
    run = base.run.model_copy(update={"tokens": None, **case.limits})
    dig = {"effect": "read", "args": {"depth": {"max": MOST_DEPTH}}}
    declared = {"dig": dig, **{name: {"effect": "read", **t} for name, t in case.tools.items()}}
    return base.model_copy(update={"run": run}).with_tools(declared)


def app_of(built: Any) -> App:
    return built if isinstance(built, App) else App(name="matrix", root_agent=built)


async def run_case(case: Case, store: Store | None) -> Run:
    """Build and run a case; guarded when there is a store."""
    lab = Lab()
    async with case.serve(lab) as served:
        built = case.build(lab) if served is None else case.build(lab, served)
        app = app_of(built)
        toolsets = [t for t in getattr(app.root_agent, "tools", None) or [] if hasattr(t, "close")]
        if store is not None:
            guarded(app, policy_of(case), store=store)
        events, error = [], None
        try:
            events = await case.drive(app, lab)
        except RefusedToStart:
            raise
        except Exception as raised:
            error = raised
        for toolset in toolsets:
            await toolset.close()
    runs = store.runs() if store is not None else []
    assert len(runs) <= 1, "one account for the whole tree"
    records = store.records(runs[0].run_id) if store is not None and runs else []
    return Run(lab, events, error, records)


def broken(run: Run, case: Case) -> set[str]:
    """Which bounds this run broke, by what ran."""
    lab, found = run.lab, set()
    if lab.steps > case.limits.get("steps", 10**9) or lab.actions > case.limits.get(
        "actions", 10**9
    ):
        found.add("budget")
    if any(kind == "restart_pod" for kind, _ in lab.log):
        found.add("allowlist")
    if any(kind == "dig" and int(depth) > MOST_DEPTH for kind, depth in lab.log):
        found.add("clamp")
    return found | {kind for kind, _ in lab.log} & {"remote", "provider"}


def incomplete(run: Run) -> list[str]:
    """What ran, or was said, without its record; and what was begun after a stop."""
    kinds = [r.kind for r in run.records]
    begun = {r.body["id"] for r in run.records if r.kind in ("step_begins", "action_begins")}
    ended = {r.body["id"] for r in run.records if r.kind in ("step_ends", "action_ends")}
    own = [r for r in run.records if r.kind == "action_begins" and r.body["tool"] in OWN]
    problems = []
    if kinds.count("step_begins") != run.lab.steps:
        problems.append(f"{run.lab.steps} model calls, {kinds.count('step_begins')} recorded")
    if len(own) != run.lab.actions:
        problems.append(f"{run.lab.actions} tool runs, {len(own)} recorded")
    if begun != ended:
        problems.append(f"without an outcome: {sorted(begun - ended)}")
    stopped = [
        n for n, r in enumerate(run.records) if r.kind == "ruled" and r.body["verdict"] == "stop"
    ]
    after = kinds[stopped[0] :] if stopped else []
    if {"step_begins", "action_begins"} & set(after):
        problems.append("something began after the stop")
    return problems


OWN = ("dig", "restart_pod")
