"""Whose account it is: bound around what runs inside, reset by token.

A variable set in a before-run hook would stay visible to the caller's next, unrelated run; so it is
bound only around tool runs, node bodies and the rounds of a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from roundsman.ledger import LiveRun

_RUN: ContextVar[LiveRun | None] = ContextVar("roundsman_run", default=None)
_ACTION: ContextVar[str] = ContextVar("roundsman_action", default="")
_CHAIN: ContextVar[tuple[str, ...]] = ContextVar("roundsman_chain", default=())

_LOOP: ContextVar[str] = ContextVar("roundsman_loop", default="")


def current_run() -> LiveRun | None:
    """The run whose code this is, or None outside of runs."""
    return _RUN.get()


def current_action_id() -> str:
    """Id of the action this code runs in (`a1`, `a2` ...): what a finding cites as evidence.
    Empty outside of actions."""
    return _ACTION.get()


def current_chain() -> tuple[str, ...]:
    """Agents whose tools are running around this code, outermost first."""
    return _CHAIN.get()


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
    chain_token = _CHAIN.set((*_CHAIN.get(), agent) if agent else _CHAIN.get())
    try:
        yield
    finally:
        _CHAIN.reset(chain_token)
        _ACTION.reset(action_token)
        _RUN.reset(run_token)
