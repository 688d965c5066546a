"""Nodes run with the account bound around them, so that a model called directly in a node's body is
charged like any other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import cache
from typing import Any

from roundsman.adk.current import bound

_PLUGINS: dict[int, Any] = {}


@cache
def _bound_class(cls: type[Any]) -> type[Any]:
    async def run(self: Any, *, ctx: Any, node_input: Any) -> AsyncIterator[Any]:
        plugin = _PLUGINS.get(self.__dict__.get("roundsman_key", 0))
        account = plugin.run_of(ctx._invocation_context.invocation_id) if plugin else None
        async with aclosing(super(guarded, self).run(ctx=ctx, node_input=node_input)) as events:
            while True:
                # bound per step: a generator that is suspended must not leave it in its caller
                if account is None:
                    event = await anext(events, None)
                else:
                    with bound(account):
                        event = await anext(events, None)
                if event is None:
                    return
                yield event

    name, module = cls.__name__, cls.__module__
    metaclass: Any = type(cls)
    guarded: Any = metaclass(
        name, (cls,), {"__module__": module, "__qualname__": cls.__qualname__, "run": run}
    )
    return guarded


def guard_node(node: Any, plugin: Any) -> None:
    """Bind the account around everything this root node runs, in place."""
    key = id(plugin)
    _PLUGINS[key] = plugin
    node.__dict__["roundsman_key"] = key
    kind: Any = type(node)
    node.__class__ = _bound_class(kind)
