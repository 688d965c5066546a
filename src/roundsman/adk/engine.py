"""Hooks into the engine that no plugin has: they act only under an account, and are put in once a
process.

| hook | what it is for |
|---|---|
| `Runner.run_async` | binds the account around everything a run does, compaction included |
| `Runner.run_live` | the same for a live session; refuses one whose speech no check would hear |
| `PluginManager.run_before_run_callback` | gives the guard to a runner that was made inside a run |
| `BaseNode.run` | plain functions as nodes |
| `BaseLlm.__init__`, `BaseLlm.model_construct` | models, wherever they are made and held |
| `BaseTool.__init__` | classes of tools that are defined later |
| `generate_content_async`, `connect` of each class of models | every call of a model, be it past the object |
| `run_async` of each class of tools | every run of a tool, whatever holds it and whoever calls it |
| `Thread.start`, `_thread.start_new_thread` | threads that are started inside a run |
| `ThreadPoolExecutor.submit`, `ThreadPool.apply_async`, `.imap` ... | what is handed to a pool |
"""

from __future__ import annotations

import _thread
import functools
import gc
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from threading import Thread
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow._base_node import BaseNode

from roundsman.adk.breaker import Breaker
from roundsman.adk.current import GUARDS, Scope, current_run, entered
from roundsman.adk.kinds import is_function_node
from roundsman.adk.live import check_config, check_live
from roundsman.adk.model import guard_model, guard_registry, hook_model_class
from roundsman.adk.past_objects import every_class
from roundsman.adk.strays import refuse_stray
from roundsman.adk.threads import start_raw, start_thread, submit, to_pool
from roundsman.adk.tool_calls import hook_tool_class
from roundsman.adk.waiting import Paused, farewell, pause
from roundsman.errors import RefusedToStart

_MARK = "_roundsman"


def install() -> None:
    """Put the hooks in place; a second call changes nothing."""
    guard_registry()
    for name, (owner, wrap) in HOOKS.items():
        attribute = name.partition(".")[2]
        original = getattr(owner, attribute)
        if not hasattr(original, _MARK):
            hooked = functools.wraps(original)(wrap(original))
            setattr(hooked, _MARK, True)
            setattr(owner, attribute, classmethod(hooked) if wrap is _construct else hooked)
            if wrap is _construct:
                _guard_made_before()
    for kind in every_class(BaseTool):
        hook_tool_class(kind)
    for kind in every_class(BaseLlm):
        hook_model_class(kind)


def current_guard() -> Any:
    """The plugin that guards the run this code is in; None outside of runs."""
    run = current_run()
    return None if run is None else GUARDS.get(run)


def _run_async(original: Any) -> Any:
    async def run_async(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        if any(hasattr(p, "roundsman_guard") for p in self.plugin_manager.plugins):
            check_config(kwargs.get("run_config"))
        breaker = Breaker()
        scope = Scope(watch=breaker.watch)
        events = original(self, *args, **kwargs)
        try:
            while True:
                with entered(scope):  # each step: a suspended generator must not leave it behind
                    breaker.start()
                    try:
                        event = await anext(events)
                    except StopAsyncIteration:
                        break
                    except BaseException as error:
                        if not (breaker.fired or _is_over(scope, error)):
                            raise
                        break
                    finally:
                        breaker.rest()
                if breaker.ends():
                    break
                yield event
            if (last := breaker.last_word() or _farewell(scope)) is not None:
                yield last
        finally:
            breaker.close()
            with entered(scope):
                await events.aclose()
            if scope.close is not None:
                scope.close()

    return run_async


def _is_over(scope: Scope, error: BaseException) -> bool:
    """Whether the outermost call of a runner was left because its run waits for a person. A call
    inside of a run passes the exception on."""
    group = isinstance(error, BaseExceptionGroup) and error.subgroup(Paused) is not None
    return scope.close is not None and (group or isinstance(error, Paused))


def _farewell(scope: Scope) -> Any:
    run = scope.run
    if run is None or not run.waits or scope.close is None:
        return None
    scope.close()
    return farewell(run)


def _run_live(original: Any) -> Any:
    inside = _run_async(original)

    def run_live(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        guards = (p for p in self.plugin_manager.plugins if hasattr(p, "roundsman_guard"))
        if (guard := next(guards, None)) is not None:
            blind = guard.policy is not None and guard.policy.conversation.blind == "allow"
            check_live(kwargs.get("run_config"), guard.screen, blind)
        events: AsyncIterator[Any] = inside(self, *args, **kwargs)
        return events

    return run_live


def _before_run(original: Any) -> Any:
    async def run_before_run_callback(self: Any, *, invocation_context: Any) -> Any:
        guard = current_guard()
        if guard is not None and not any(hasattr(p, "roundsman_guard") for p in self.plugins):
            manager = PluginManager([guard, *self.plugins])
            manager.set_skip_closing_plugins(True)
            invocation_context.plugin_manager = manager
            return await original(manager, invocation_context=invocation_context)
        if guard is None and not any(hasattr(p, "roundsman_guard") for p in self.plugins):
            refuse_stray(invocation_context.agent)
        return await original(self, invocation_context=invocation_context)

    return run_before_run_callback


def _node_run(original: Any) -> Any:
    def run(self: Any, *, ctx: Any, node_input: Any) -> AsyncIterator[Any]:
        guard = current_guard()
        if guard is not None and is_function_node(self) and current_waits():
            return _left(current_run())
        if guard is not None and is_function_node(self) and guard.coverage.judges_node(self):
            return guard.judged_node(self, original, ctx, node_input)
        return original(self, ctx=ctx, node_input=node_input)

    return run


def current_waits() -> bool:
    """Whether the run this code is in waits for a person."""
    run = current_run()
    return run is not None and run.waits


async def _left(run: Any) -> AsyncIterator[Any]:
    await pause(run)
    yield


def _made(then: Any) -> Any:
    def wrap(original: Any) -> Any:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            then(self)

        return __init__

    return wrap


def _guard_made_model(model: Any) -> None:
    """Wherever it is made: what holds it may be out of an audit's sight. Outside of runs it acts as
    before."""
    try:
        guard_model(model)
    except RefusedToStart:  # of an app that is nobody's concern, unless this is a run
        if current_guard() is not None:
            raise


def _guard_made_tool(tool: Any) -> None:
    hook_tool_class(type(tool))


def _construct(original: Any) -> Any:
    def model_construct(cls: Any, *args: Any, **kwargs: Any) -> Any:
        made = original.__func__(cls, *args, **kwargs)  # goes past __init__
        _guard_made_model(made)
        return made

    return model_construct


def _guard_made_before() -> None:
    """Guard the models that exist already, whatever holds them."""
    for held in gc.get_objects():
        if BaseLlm in type(held).__mro__:
            _guard_made_model(held)


HOOKS: dict[str, tuple[Any, Any]] = {
    "Runner.run_async": (Runner, _run_async),
    "Runner.run_live": (Runner, _run_live),
    "PluginManager.run_before_run_callback": (PluginManager, _before_run),
    "BaseNode.run": (BaseNode, _node_run),
    "BaseLlm.__init__": (BaseLlm, _made(_guard_made_model)),
    "BaseLlm.model_construct": (BaseLlm, _construct),
    "BaseTool.__init__": (BaseTool, _made(_guard_made_tool)),
    "Thread.start": (Thread, start_thread),
    "ThreadPoolExecutor.submit": (ThreadPoolExecutor, submit),
    "_thread.start_new_thread": (_thread, start_raw),
    "ThreadPool.apply_async": (ThreadPool, to_pool),
    "ThreadPool._map_async": (ThreadPool, to_pool),
    "ThreadPool.imap": (ThreadPool, to_pool),
    "ThreadPool.imap_unordered": (ThreadPool, to_pool),
}
"""Name of each hook -> the class it is on, and what is put around it."""
