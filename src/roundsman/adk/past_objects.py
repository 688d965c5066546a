"""Functions of classes called past an object: `FunctionTool.run_async(tool, ...)`.

What an object or its own class carries is not asked then. So the functions that do the work are hooked
where they are defined, on every class of models and tools. Outside of a run they do what they did.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from inspect import isfunction
from typing import Any

from roundsman.adk.current import Bind

_INSIDE: ContextVar[Any] = ContextVar("roundsman_inside", default=None)
_MARK = "_roundsman"

Hook = Callable[[type[Any], Callable[..., Any]], Callable[..., Any]]
"""Takes a class and its own function, gives what is put in its place."""


def inside(held: Any) -> AbstractContextManager[None]:
    """Bind the object whose judged call this code is: what its class calls of its bases is no other
    call. None: whatever is called now is one."""
    return Bind(_INSIDE, held)


def held_inside() -> Any:
    """The object whose judged call this code is, None outside of any."""
    return _INSIDE.get()


class StepsInside:
    """What `call` yields, each step of it inside: a suspended generator must not leave that behind. No
    generator itself, which the event loop would keep book of."""

    __slots__ = ("_held", "_steps")

    def __init__(self, held: Any, call: Callable[[], AsyncIterator[Any]]) -> None:
        self._held = held
        with inside(held):
            self._steps = call()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        with inside(self._held):
            return await anext(self._steps)

    async def aclose(self) -> None:
        """Close what was called, if it can be."""
        if hasattr(self._steps, "aclose"):
            await self._steps.aclose()


@asynccontextmanager
async def entered_inside(held: Any, make: Callable[[], Any]) -> AsyncIterator[Any]:
    """What `make` gives, entered inside and left outside."""
    async with AsyncExitStack() as stack:
        with inside(held):
            value = await stack.enter_async_context(make())
        yield value


def hook_class(kind: type[Any], base: type[Any], name: str, around: Hook) -> None:
    """Hook the function of this name on each class below `base` that `kind` takes it from, once."""
    for cls in kind.__mro__:
        own = vars(cls).get(name)
        if cls is base or not issubclass(cls, base) or not isfunction(own) or is_hooked(own):
            continue
        hooked = functools.wraps(own)(around(cls, own))
        setattr(hooked, _MARK, True)
        setattr(cls, name, hooked)


def is_hooked(function: Any) -> bool:
    """Whether this function is one of ours."""
    return getattr(function, _MARK, None) is True


def mark(function: Any) -> Any:
    """Say that this function is one of ours."""
    setattr(function, _MARK, True)
    return function


def every_class(base: type[Any]) -> Iterator[type[Any]]:
    """The classes below `base`."""
    for kind in base.__subclasses__():
        yield kind
        yield from every_class(kind)
