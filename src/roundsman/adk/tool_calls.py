"""A tool object's own run, whoever calls it: the action a model asked for, or one of code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.adk.tools.base_tool import BaseTool

from roundsman.adk.current import GUARDS, bound, current_run
from roundsman.adk.kinds import is_engine_tool, of_engine
from roundsman.adk.outcomes import refusal, settle
from roundsman.adk.past_objects import held_inside, hook_class, inside
from roundsman.adk.scheduler import NotRun
from roundsman.adk.waiting import Paused
from roundsman.guard import Kind, Verdict
from roundsman.guard.events import ActionBegins
from roundsman.ledger import LiveRun

if TYPE_CHECKING:
    from roundsman.adk.doors import SideDoors


@dataclass(slots=True)
class Open:
    """An action in flight: as it may run, what was said of it, whether its tool has begun, whether it
    was put to the account (a call that may ask a person is, when it runs), and whether it was then
    kept from running."""

    run: LiveRun
    guard: SideDoors
    action: ActionBegins
    verdict: Verdict
    tool: Any
    started: bool = False
    proposed: bool = True
    kept_back: bool = False


_RUN = "run_async"
_OVER = "the run this call belongs to is over"

OPEN: dict[tuple[str, str, int], Open] = {}
"""Actions in flight of this process, of all guards: a tool may belong to several apps."""


def hook_tool_class(kind: type[Any]) -> None:
    """Let the tools of a class be judged, whoever calls them and by whatever function of it."""
    hook_class(kind, BaseTool, _RUN, _hooked)


def _hooked(cls: type[Any], original: Any) -> Any:
    async def run_async(self: Any, *given: Any, **named: Any) -> Any:
        held = held_inside()
        if held is self or (held is not None and _hands_on(held, self)):
            # what its work calls is another call, be it of the same tool
            within = None if cls is _innermost(type(self)) else held
            with inside(within):
                return await original(self, *given, **named)
        return await _judged(self, lambda **now: original(self, *given, **now), named)

    return run_async


def _innermost(kind: type[Any]) -> type[Any]:
    """The last of a class's bases that does the work itself."""
    return [c for c in kind.__mro__ if c is not BaseTool and _RUN in vars(c)][-1]


def _hands_on(outer: Any, tool: Any) -> bool:
    """Whether a tool of the engine is a shell around this one, which has its name."""
    held = vars(outer).values() if of_engine(type(outer)) and _named_as(outer, tool) else ()
    return any(v is tool for v in held)


def _named_as(outer: Any, tool: Any) -> bool:
    return getattr(outer, "name", None) == tool.name and hasattr(outer, "__dict__")


def bind_tool(tool: Any) -> None:
    """Let a tool object be judged, also when it carries a function of its own."""
    hook_tool_class(type(tool))
    inner = getattr(tool, "__dict__", {}).get(_RUN)
    if inner is None:
        return
    of, inner = getattr(inner, "_roundsman", (None, inner))
    if of is tool:
        return
    if of is not None and getattr(inner, "__self__", None) is of:  # a copy of a bound tool
        inner = inner.__func__.__get__(tool)

    async def run_async(**named: Any) -> Any:
        if held_inside() is tool:
            return await inner(**named)
        return await _judged(tool, inner, named)

    run_async._roundsman = (tool, inner)  # type: ignore[attr-defined]
    object.__setattr__(tool, _RUN, run_async)


async def _judged(tool: Any, call: Callable[..., Any], named: dict[str, Any]) -> Any:
    context = named.get("tool_context")
    args = named.get("args")
    args = {} if args is None else args

    async def inner(**changed: Any) -> Any:
        with inside(tool):
            return await call(**{**named, **changed})

    opened = OPEN.get(key_of(context))
    if opened is None or opened.started or opened.tool is not tool:
        run = current_run()
        if run is None and (owner := guard_of(context)) is not None:  # a thread without an account
            run = owner.run_of(getattr(context, "invocation_id", ""))
            if run is None:
                return refusal(tool.name, Verdict(Kind.REFUSE, "coverage", "tool", _OVER))
        guard = None if run is None else GUARDS.get(run)
        if run is None or guard is None:
            return await inner()
        return await guard.direct(run, tool, inner, args, context)
    opened.started = True
    if not opened.proposed:
        again, _ = opened.run.propose(opened.action)
        if again.kind > Kind.AMEND:
            return refusal(opened.action.tool, again)
        opened.proposed = True
    if args != {**opened.action.args, **opened.action.idempotency}:
        refused = opened.guard.changed(opened, args)
        if refused is not None:
            opened.kept_back = True
            return refused
    with bound(opened.run, opened.action.id, opened.action.agent):
        guard, run = opened.guard, opened.run
        try:
            return await guard._scheduler.run(run, tool, context, inner)
        except Paused:  # it was left in the middle, and has no outcome yet
            OPEN.pop(key_of(context), None)
            raise
        except NotRun as refused:
            action = opened.action
            if not refused.cancelled:
                opened.kept_back = True
                return guard._out_of_turn(run, action, str(refused))
            OPEN.pop(key_of(context), None)
            settle(run, action, None, "blocked", ran=False)
            raise asyncio.CancelledError from None
        except Exception:
            raise  # the engine tells of it by its error hook
        except BaseException:  # cancelled, or a node inside waits: no hook tells of this
            OPEN.pop(key_of(context), None)
            settle(run, opened.action, None, "unknown")
            raise


STEERING = frozenset({"transfer_to_agent", "exit_loop", "set_model_response"})
"""Tools of the engine that do nothing but tell it where to go on."""


async def steer_again(tool: Any, args: dict[str, Any], context: Any) -> None:
    """Where a call of a tool that steers the engine is given back from the record: let it do so again.
    Its result alone moves nothing, and the agent that handed over would go on by itself."""
    if is_engine_tool(tool) and tool.name in STEERING:
        with inside(tool):
            await tool.run_async(args=args, tool_context=context)


def guard_of(context: Any) -> Any:
    """The plugin that guards the invocation a tool's context is of; None when there is none."""
    manager = getattr(getattr(context, "_invocation_context", None), "plugin_manager", None)
    guards = (p for p in getattr(manager, "plugins", ()) if hasattr(p, "roundsman_guard"))
    return next(guards, None)


def key_of(context: Any) -> tuple[str, str, int]:
    """What an action in flight is found by."""
    # a model may give two calls one id: the context object tells them apart
    call = getattr(context, "function_call_id", None)
    return getattr(context, "invocation_id", ""), call or "", id(context)


def may_ask(tool: Any, context: Any) -> bool:
    """Whether the engine's gate may answer this call in place of the tool: not asked yet, or denied.
    The gate itself decides; asking it here would run the app's own condition twice."""
    confirmation = getattr(context, "tool_confirmation", None)
    if confirmation is not None and confirmation.confirmed:
        return False
    if type(tool).check_require_confirmation is BaseTool.check_require_confirmation:
        return False
    return bool(getattr(tool, "_require_confirmation", True))
