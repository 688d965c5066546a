"""A tool object's own run, whoever calls it: the action a model asked for, or one of code."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.adk.tools.base_tool import BaseTool

from roundsman.adk.current import GUARDS, bound, current_run
from roundsman.adk.outcomes import refusal, settle
from roundsman.adk.scheduler import NotRun
from roundsman.adk.waiting import Paused
from roundsman.guard import Kind, Verdict
from roundsman.guard.events import ActionBegins
from roundsman.ledger import LiveRun

if TYPE_CHECKING:
    from roundsman.adk.doors import SideDoors


@dataclass(slots=True)
class Open:
    """An action in flight: as it may run, what was said of it, whether its tool has begun, and
    whether it was put to the account (a call that may ask a person is, when it runs)."""

    run: LiveRun
    guard: SideDoors
    action: ActionBegins
    verdict: Verdict
    tool: Any
    started: bool = False
    proposed: bool = True


OPEN: dict[tuple[str, str, int], Open] = {}
"""Actions in flight of this process, of all guards: a tool may belong to several apps."""


def bind_tool(tool: Any) -> None:
    """Let a tool object bind account and action around its own run, whoever calls it."""
    inner = tool.run_async
    held = getattr(inner, "_roundsman", None)
    if held is not None:
        of, inner = held
        if of is tool:
            return
        if getattr(inner, "__self__", None) is of:  # a copy: toolsets make one for a prefix
            inner = inner.__func__.__get__(tool)

    async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:
        opened = OPEN.get(key_of(tool_context))
        if opened is None or opened.started or opened.tool is not tool:
            run = current_run()
            guard = None if run is None else GUARDS.get(run)
            if run is None or guard is None:
                return await inner(args=args, tool_context=tool_context)
            return await guard.direct(run, tool, inner, args, tool_context)
        opened.started = True
        if not opened.proposed:
            again, _ = opened.run.propose(opened.action)
            if again.kind > Kind.AMEND:
                return refusal(opened.action.tool, again)
            opened.proposed = True
        if args != {**opened.action.args, **opened.action.idempotency}:
            refused = opened.guard.changed(opened, args)
            if refused is not None:
                return refused
        with bound(opened.run, opened.action.id, opened.action.agent):
            guard, run = opened.guard, opened.run
            try:
                return await guard._scheduler.run(
                    run, tool, tool_context, lambda: inner(args=args, tool_context=tool_context)
                )
            except Paused:  # it was left in the middle, and has no outcome yet
                OPEN.pop(key_of(tool_context), None)
                raise
            except NotRun as refused:
                action = opened.action
                if not refused.cancelled:
                    return guard._out_of_turn(run, action, str(refused))
                OPEN.pop(key_of(tool_context), None)
                settle(run, action, None, "blocked")
                raise asyncio.CancelledError from None
            except Exception:
                raise  # the engine tells of it by its error hook
            except BaseException:  # cancelled, or a node inside waits: no hook tells of this
                OPEN.pop(key_of(tool_context), None)
                settle(run, opened.action, None, "unknown")
                raise

    run_async._roundsman = (tool, inner)  # type: ignore[attr-defined]
    object.__setattr__(tool, "run_async", run_async)


def key_of(context: Any) -> tuple[str, str, int]:
    """What an action in flight is found by."""
    # a model may give two calls one id: the context object tells them apart
    return context.invocation_id, context.function_call_id or "", id(context)


def may_ask(tool: Any, context: Any) -> bool:
    """Whether the engine's gate may answer this call in place of the tool: not asked yet, or denied.
    The gate itself decides; asking it here would run the app's own condition twice."""
    confirmation = getattr(context, "tool_confirmation", None)
    if confirmation is not None and confirmation.confirmed:
        return False
    if type(tool).check_require_confirmation is BaseTool.check_require_confirmation:
        return False
    return bool(getattr(tool, "_require_confirmation", True))
