"""Whose account it is: bound around what runs inside, reset by token.

A variable set in a before-run hook would stay visible to the caller's next, unrelated run; so it is
bound only around the steps of a runner (see engine.py), tool runs and the rounds of a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
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
_RUN: ContextVar[LiveRun | None] = ContextVar("roundsman_run", default=None)
_ACTION: ContextVar[str] = ContextVar("roundsman_action", default="")
_ACTIONS: ContextVar[tuple[str, ...]] = ContextVar("roundsman_actions", default=())
_CHAIN: ContextVar[tuple[str, ...]] = ContextVar("roundsman_chain", default=())

_LOOP: ContextVar[str] = ContextVar("roundsman_loop", default="")


def current_run() -> LiveRun | None:
    """The run whose code this is, or None outside of runs."""
    scope = _SCOPE.get()
    return scope.run if scope is not None and scope.run is not None else _RUN.get()


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


@contextmanager
def entered(scope: Scope) -> Iterator[None]:
    """Bind a runner's call around one of its steps."""
    token = _SCOPE.set(scope)
    try:
        yield
    finally:
        _SCOPE.reset(token)


@contextmanager
def charged_to(share: str) -> Iterator[None]:
    """Charge calls that no agent announces to this share."""
    token = _SHARE.set(share)
    try:
        yield
    finally:
        _SHARE.reset(token)


def current_action_id() -> str:
    """Id of the action this code runs in (`a1`, `a2` ...): what a finding cites as evidence.
    Empty outside of actions."""
    return _ACTION.get()


def current_actions() -> tuple[str, ...]:
    """Ids of all actions this code runs in, outermost first."""
    return _ACTIONS.get()


def current_chain() -> tuple[str, ...]:
    """Agents whose tools are running around this code, outermost first."""
    return _CHAIN.get()


def place_of(context: Any) -> str:
    """Where in the engine's tree a callback or tool is called: its node's path, and the branch of
    one that runs beside others."""
    path = getattr(context, "node_path", "") or ""
    branch = context._invocation_context.branch
    return f"{path}#{branch}" if branch else path


def current_loop() -> str:
    """Path of the loop in whose round this code runs, empty outside of rounds."""
    return _LOOP.get()


@contextmanager
def looping(path: str) -> Iterator[None]:
    """Bind the loop whose rounds run inside."""
    token = _LOOP.set(path)
    try:
        yield
    finally:
        _LOOP.reset(token)


@contextmanager
def bound(run: LiveRun, action: str = "", agent: str = "") -> Iterator[None]:
    """Bind the account, and the action and agent when inside of one."""
    run_token = _RUN.set(run)
    action_token = _ACTION.set(action or _ACTION.get())
    actions_token = _ACTIONS.set((*_ACTIONS.get(), action) if action else _ACTIONS.get())
    chain_token = _CHAIN.set((*_CHAIN.get(), agent) if agent else _CHAIN.get())
    try:
        yield
    finally:
        _CHAIN.reset(chain_token)
        _ACTIONS.reset(actions_token)
        _ACTION.reset(action_token)
        _RUN.reset(run_token)
