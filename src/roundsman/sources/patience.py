"""Reading that can be called off. A thread cannot be ended from outside, so it has to ask."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CALLED_OFF: ContextVar[threading.Event | None] = ContextVar("roundsman_called_off", default=None)


class CalledOff(Exception):
    """Nobody waits for what is being read any more."""


@contextmanager
def until(called_off: threading.Event) -> Iterator[None]:
    """Let what is read inside end at its next `checkpoint` once the event is set."""
    token = _CALLED_OFF.set(called_off)
    try:
        yield
    finally:
        _CALLED_OFF.reset(token)


def checkpoint() -> None:
    """Go on, unless the reading was called off.

    Raises:
        CalledOff: it was.
    """
    event = _CALLED_OFF.get()
    if event is not None and event.is_set():
        raise CalledOff
