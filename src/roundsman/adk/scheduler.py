"""Turns put to work: a place is drawn in the before-tool hook and held inside the tool's own run.

One line a run. The hook draws synchronously, so places are in the model's order; the wait is inside
`run_async`, so it blocks no other call; and every way out gives the place back.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from google.adk.agents.run_config import RunConfig, ToolThreadPoolConfig
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool

from roundsman.adk.kinds import is_engine_tool
from roundsman.adk.turns import Access, State, Turn, Turns
from roundsman.guard import FRAMEWORK_TOOLS
from roundsman.guard.events import ActionBegins, ActionWaits, Ruled
from roundsman.ledger import LiveRun
from roundsman.policy import Policy
from roundsman.policy.resources import keys_of

RULE, LAYER = "schedule", "scheduler"
_HELD: ContextVar[Turn | None] = ContextVar("roundsman_turn", default=None)


class NotRun(Exception):
    """The action's turn will not come; the text says why. `cancelled`: whoever catches it owes the
    event loop a `CancelledError`."""

    def __init__(self, why: str, cancelled: bool = False) -> None:
        super().__init__(why)
        self.cancelled = cancelled


@dataclass(eq=False)
class _Line:
    """The turns of one run, and who waits for one of them on which event loop."""

    turns: Turns = field(default_factory=Turns)
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: dict[Turn, asyncio.Future[None]] = field(default_factory=dict)

    def change(self, step: Callable[[Turns], list[Turn]]) -> None:
        """Take a step and wake those it concerns, on whatever loop they wait."""
        with self.lock:
            woken = [f for t in step(self.turns) if (f := self.waiting.pop(t, None)) is not None]
        for future in woken:
            loop = future.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(_wake, future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


_LINES: WeakKeyDictionary[LiveRun, _Line] = WeakKeyDictionary()


@dataclass(eq=False)
class _Place:
    line: _Line
    turn: Turn
    context: Any
    in_thread: bool = False
    """Its thread runs on though its call was given up: only the thread's end releases it."""


class Scheduler:
    """What a policy says about turns, and the places of the calls in flight."""

    def __init__(self, policy: Policy) -> None:
        self._on = policy.schedule.writes == "ordered"
        self._tools = policy.tools.allow
        # an app that declares nothing keeps its own threads: nothing of it would overlap
        self._threads = policy.schedule.threads if self._tools else 0
        self._places: dict[int, _Place] = {}

    def threads(self, config: RunConfig | None) -> RunConfig | None:
        """The run's configuration with a pool for sync tools, unless it has one of its own."""
        if not self._threads or (config is not None and config.tool_thread_pool_config):
            return config
        pool = ToolThreadPoolConfig(max_workers=self._threads)
        return (config or RunConfig()).model_copy(update={"tool_thread_pool_config": pool})

    def access(self, tool: Any, args: Mapping[str, Any]) -> Access | None:
        """What a call touches; None: nothing of its own (the engine's tools, and agents used as
        tools whose calls draw turns themselves). A tool nobody declared writes everything."""
        rule = self._tools.get(tool.name)
        if rule is None:
            of_engine = tool.name in FRAMEWORK_TOOLS and is_engine_tool(tool)
            inner_seen = isinstance(tool, AgentTool)
            return None if inner_seen or of_engine else Access(writes=True)
        return Access(rule.effect not in ("read", "poll"), keys_of(rule.resource, args))

    def refusal(self, run: LiveRun, tool: Any, context: Any) -> str:
        """Why this call may not even be proposed; empty when it may. Asked in before-tool."""
        if not self._on:
            return ""
        line = _line(run)
        if not line.turns.asks:
            return ""
        if context.tool_confirmation is not None:
            with line.lock:
                line.turns.decided(context.function_call_id or "")
            return ""
        access = self.access(tool, {})
        if access is None or not access.writes:
            return ""
        with line.lock:
            return line.turns.undecided(_batch(context))

    def draw(self, run: LiveRun, tool: Any, action: ActionBegins, context: Any) -> str:
        """Draw the call's place; returns why it is refused, empty when it is in line."""
        access = self.access(tool, action.args) if self._on else None
        if access is None:
            return ""
        line = _line(run)
        with line.lock:
            turn = line.turns.draw(
                action.id,
                action.tool,
                access,
                batch=_batch(context),
                call=context.function_call_id or "",
                parent=_HELD.get(),
                confirmed=context.tool_confirmation is not None,
            )
        if turn.state is State.REFUSED:
            return turn.why
        place = _Place(line, turn, context)
        self._places[id(context)] = place
        task = asyncio.current_task()
        if task is not None:  # a later hook may raise, and then no other hook is called
            task.add_done_callback(lambda _: self._leave(place))
        return ""

    async def run(
        self, run: LiveRun, tool: Any, context: Any, call: Callable[[], Coroutine[Any, Any, Any]]
    ) -> Any:
        """Run `call` in its turn.

        Raises:
            NotRun: it did not run: a person decides on an earlier write, the run was aborted
                meanwhile, or (`cancelled`) the call was given up before its turn came.
        """
        place = self._places.get(id(context))
        if place is None or place.turn.state is State.GOING:  # a tool that calls a tool
            return await call()
        try:
            await self._wait(run, place)
            token = _HELD.set(place.turn)
            try:
                if not _on_pool(tool, context):
                    return await call()
                return await self._in_thread(place, call())
            finally:
                _HELD.reset(token)
        finally:
            self.left(context)

    async def _wait(self, run: LiveRun, place: _Place) -> None:
        line, turn = place.line, place.turn
        line.change(lambda turns: turns.arrive(turn))
        if turn.state is State.WAITING:
            await self._its_turn(run, line, turn)
        if turn.state is State.REFUSED:
            raise NotRun(turn.why)
        stopped = run.account.stopped
        if stopped is not None and stopped.reason in ("aborted", "failed"):
            # at a budget what was let through still runs; here somebody wants it to end
            raise NotRun(f"the run was stopped while this waited: {stopped.detail}")

    async def _its_turn(self, run: LiveRun, line: _Line, turn: Turn) -> None:
        future = asyncio.get_running_loop().create_future()
        with line.lock:
            if turn.state is not State.WAITING:  # by another thread, just now
                return
            line.waiting[turn] = future
            before = sorted(turn.before | turn.gates, key=lambda t: t.number)
        keys = {k: None for t in before for k in [turn.access.shared(t.access)]}
        event = ActionWaits(
            id=turn.owner,
            tool=turn.tool,
            key=", ".join(keys),
            behind=tuple(t.owner for t in before),
        )
        try:
            run.write(event, durable=False)
            await future
        except asyncio.CancelledError:
            raise NotRun("given up while it waited", cancelled=True) from None
        finally:
            line.waiting.pop(turn, None)
        run.heed()  # it may have waited for long

    async def _in_thread(self, place: _Place, call: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.ensure_future(call)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():  # a thread cannot be ended; until it is over, so it holds
                place.in_thread = True
                task.add_done_callback(lambda done: self._thread_over(place, done))
            raise

    def _thread_over(self, place: _Place, task: asyncio.Future[Any]) -> None:
        if not task.cancelled():
            task.exception()
        place.in_thread = False
        self._leave(place)

    def left(self, context: Any) -> None:
        """The call is over, or a person decides on it: give its place back. Idempotent."""
        place = self._places.get(id(context))
        if place is not None and not place.in_thread:
            asks = context.actions.requested_tool_confirmations or {}
            if context.tool_confirmation is None and context.function_call_id in asks:
                place.line.change(lambda turns: turns.ask(place.turn))
            self._leave(place)

    def _leave(self, place: _Place) -> None:
        if place.in_thread:
            return
        if place.turn.state is not State.OVER:
            place.line.change(lambda turns: turns.release(place.turn))
        if self._places.get(id(place.context)) is place:
            del self._places[id(place.context)]

    def record(self, run: LiveRun, tool: str, action: str, why: str, agent: str, call: str) -> None:
        """Put a refusal on record."""
        run.write(
            Ruled(
                verdict="refuse",
                rule=RULE,
                layer=LAYER,
                reason=why,
                subject=tool,
                subject_id=action,
                agent=agent,
                call=call,
            )
        )


def _line(run: LiveRun) -> _Line:
    line = _LINES.get(run)
    return _LINES.setdefault(run, _Line()) if line is None else line


def _batch(context: Any) -> tuple[Any, ...]:
    """What the calls of one reply share: nothing else of the same agent goes on before they have
    all been answered."""
    inner = context._invocation_context
    return context.invocation_id, getattr(inner.agent, "name", ""), inner.branch


def _on_pool(tool: Any, context: Any) -> bool:
    config = getattr(context, "run_config", None)
    if config is None or config.tool_thread_pool_config is None:
        return False
    if not isinstance(tool, FunctionTool):
        return False
    func = inspect.unwrap(tool.func)
    is_async = inspect.iscoroutinefunction(func) or inspect.iscoroutinefunction(
        type(func).__call__  # the engine looks it up so too
    )
    return not is_async
