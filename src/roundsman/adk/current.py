"""Whose account it is: bound around what runs inside, reset by token.

A variable set in a before-run hook would stay visible to the caller's next, unrelated run; so it is
bound only around the steps of a runner (see engine.py), tool runs and the rounds of a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from roundsman.ledger import LiveRun


@dataclass(slots=True)
class Scope:
    """One call of a runner. The guard's before-run hook says whose account it is; `open` opens it before
    that, for a plugin that asks a model about the person's message; `close` ends the run when the
    runner is through, or was left or cancelled in the middle; `watch` sets its time."""

    run: LiveRun | None = None
    open: Callable[[], LiveRun] | None = None
    close: Callable[[], None] | None = None
    watch: Callable[[LiveRun], None] | None = None


GUARDS: WeakKeyDictionary[LiveRun, Any] = WeakKeyDictionary()
"""The plugin that guards each run of this process."""

_SCOPE: ContextVar[Scope | None] = ContextVar("roundsman_scope", default=None)
_SHARE: ContextVar[str] = ContextVar("roundsman_share", default="(direct call)")
_LOOP: ContextVar[str] = ContextVar("roundsman_loop", default="")


class _Inside(NamedTuple):
    """What code runs inside of: a run, its innermost action and all of them, and the agents whose
    tools those are."""

    run: LiveRun | None = None
    action: str = ""
    actions: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()


_NOWHERE = _Inside()
_INSIDE: ContextVar[_Inside] = ContextVar("roundsman_inside_of", default=_NOWHERE)


def current_run() -> LiveRun | None:
    """The run whose code this is, or None outside of runs."""
    scope = _SCOPE.get()
    return scope.run if scope is not None and scope.run is not None else _INSIDE.get().run


def run_to_charge() -> LiveRun | None:
    """The run that pays for what code does now; opened when a runner has not come to it yet."""
    run, scope = current_run(), _SCOPE.get()
    return scope.open() if run is None and scope is not None and scope.open is not None else run


def current_scope() -> Scope | None:
    """The runner's call this code is in, innermost."""
    return _SCOPE.get()


def current_share() -> str:
    """Whom a model call that no agent announced is charged to."""
    return _SHARE.get()


class Bind:
    """A value of a context variable around a block. A generator would cost more, and this is done with
    every event and every call of a tool."""

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[Any], value: Any) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> None:
        self._token = self._variable.set(self._value)

    def __exit__(self, *_: object) -> None:
        self._variable.reset(self._token)


def entered(scope: Scope) -> AbstractContextManager[None]:
    """Bind a runner's call around one of its steps."""
    return Bind(_SCOPE, scope)


def charged_to(share: str) -> AbstractContextManager[None]:
    """Charge calls that no agent announces to this share."""
    return Bind(_SHARE, share)


def current_action_id() -> str:
    """Id of the action this code runs in (`a1`, `a2` ...): what a finding cites as evidence.
    Empty outside of actions."""
    return _INSIDE.get().action


def current_actions() -> tuple[str, ...]:
    """Ids of all actions this code runs in, outermost first."""
    return _INSIDE.get().actions


def current_chain() -> tuple[str, ...]:
    """Agents whose tools are running around this code, outermost first."""
    return _INSIDE.get().chain


def place_of(context: Any) -> str:
    """Where in the engine's tree a callback or tool is called: its node's path, and the branch of
    one that runs beside others."""
    path = getattr(context, "node_path", "") or ""
    branch = context._invocation_context.branch
    return f"{path}#{branch}" if branch else path


def current_loop() -> str:
    """Path of the loop in whose round this code runs, empty outside of rounds."""
    return _LOOP.get()


def looping(path: str) -> AbstractContextManager[None]:
    """Bind the loop whose rounds run inside."""
    return Bind(_LOOP, path)


def bound(run: LiveRun, action: str = "", agent: str = "") -> AbstractContextManager[None]:
    """Bind the account, and the action and agent when inside of one."""
    outer = _INSIDE.get()
    return Bind(
        _INSIDE,
        _Inside(
            run,
            action or outer.action,
            (*outer.actions, action) if action else outer.actions,
            (*outer.chain, agent) if agent else outer.chain,
        ),
    )
