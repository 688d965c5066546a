"""The model judges: the only place that sees every call, so it alone reserves, settles and counts.

A model object is given, in place, a cached subclass of its own class. A wrapper object would lose
capabilities, call ids and the interactions API, and holders of the old object would go past it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache, partial
from typing import Any, ClassVar

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from roundsman.adk.attempts import attempts
from roundsman.adk.current import run_to_charge
from roundsman.adk.live import connected
from roundsman.adk.model_calls import judged, live_proposal
from roundsman.adk.past_objects import (
    Hook,
    entered_inside,
    held_inside,
    hook_class,
    is_hooked,
    mark,
)
from roundsman.adk.tickets import TICKETS
from roundsman.errors import RefusedToStart

_CALL = "generate_content_async"


def is_guarded(model: Any) -> bool:
    """Whether this model object judges its calls."""
    return bool(getattr(type(model), "_roundsman_guarded", False))


@cache
def guarded_class(cls: type[BaseLlm]) -> type[BaseLlm]:
    """The subclass of `cls` whose calls are judged; the same one every time."""

    def generate_content_async(
        self: Any, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:
        call = super(guarded, self).generate_content_async
        return _judged(call, self, llm_request, stream)

    def connect(self: Any, llm_request: LlmRequest) -> Any:
        return _connected(super(guarded, self).connect, self, llm_request)

    metaclass: Any = type(cls)
    guarded: Any = metaclass(
        cls.__name__,
        (cls,),
        {
            "__module__": cls.__module__,
            "__qualname__": cls.__qualname__,
            "__annotations__": {"_roundsman_guarded": ClassVar[bool]},
            "_roundsman_guarded": True,
            _CALL: mark(generate_content_async),
            "connect": mark(connect),
        },
    )
    return guarded


def _judged(
    call: Any, model: Any, request: LlmRequest, stream: bool = False
) -> AsyncIterator[LlmResponse]:
    once = partial(judged, call, model, request, stream)
    return once() if getattr(model, "wait_after", None) is None else _patient(once, model, request)


async def _patient(once: Any, model: Any, request: LlmRequest) -> AsyncIterator[LlmResponse]:
    ticket = TICKETS.take(request)
    run = ticket.run if ticket else run_to_charge()
    async for response in attempts(once, model, run):
        yield response


def _connected(connect: Any, model: Any, request: LlmRequest) -> Any:
    return connected(
        lambda r: entered_inside(model, lambda: connect(r)), model, request, live_proposal
    )


def hook_model_class(kind: type[Any]) -> None:
    """Let calls of a class's own functions be judged, too: `Gemini.generate_content_async(model, ...)`."""
    hook_class(kind, BaseLlm, _CALL, _hooked(_judged))
    hook_class(kind, BaseLlm, "connect", _hooked(_connected))


def _hooked(instead: Any) -> Hook:
    def around(cls: type[Any], original: Any) -> Any:
        def call(self: Any, llm_request: LlmRequest, *given: Any, **named: Any) -> Any:
            if held_inside() is self or leaves_of(self) is not None:
                return original(self, llm_request, *given, **named)
            return instead(partial(original, self), self, llm_request, *given, **named)

        return call

    return around


def leaves_of(model: BaseLlm) -> list[BaseLlm] | None:
    """The models a FallbackModel tries, as far as they are made; None for any other model. Those it
    names are guarded by the registry."""
    if not any(k.__name__ == "FallbackModel" for k in type(model).__mro__):
        return None
    made = [*model.models, *getattr(model, "_resolved", {}).values()]
    return [m for m in made if isinstance(m, BaseLlm)]


def guard_model(model: BaseLlm) -> BaseLlm:
    """Guard this object in place (FallbackModel: its leaves) and return it."""
    if is_guarded(model) and _CALL not in model.__dict__:  # asked before every call
        return model
    leaves = leaves_of(model)
    if leaves is not None:
        for leaf in leaves:
            guard_model(leaf)
        return model
    own = vars(model).get(_CALL)
    if own is not None and not is_hooked(own):  # it would be called in place of its class's
        vars(model)[_CALL] = mark(partial(_judged, own, model))
    if not is_guarded(model):
        kind: Any = type(model)
        hook_model_class(kind)
        try:
            model.__class__ = guarded_class(kind)
        except TypeError as error:
            raise RefusedToStart(
                f"{kind.__name__} cannot be guarded ({error}); use a subclass of BaseLlm written "
                "in Python"
            ) from error
    return model


def guard_registry() -> None:
    """Guard every model the registry makes from a name. Outside of runs they act as before."""
    from google.adk.models.registry import LLMRegistry

    made = LLMRegistry.new_llm
    if getattr(made, "_roundsman_guarded", False):
        return

    def new_llm(model: str) -> BaseLlm:
        return guard_model(made(model))

    new_llm._roundsman_guarded = True  # type: ignore[attr-defined]
    LLMRegistry.new_llm = staticmethod(new_llm)
