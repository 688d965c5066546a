"""Threads that are started inside of a run carry its account.

A new thread begins with an empty context, so a tool that runs an agent or a model in a thread of its own
(the engine's `Runner.run` does) would be outside of every run. A worker of a pool outlives the run it was
started in, or is older: what is handed to it carries the account, not the worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from roundsman.adk.current import current_run


def start_thread(original: Any) -> Any:
    """Around `Thread.start`."""

    def start(self: threading.Thread) -> None:
        target = getattr(self, "_target", None)
        if current_run() is not None and not _is_worker(target):
            context, body = copy_context(), self.run
            self.run = lambda: context.run(body)  # type: ignore[method-assign]
        original(self)

    return start


def submit(original: Any) -> Any:
    """Around `ThreadPoolExecutor.submit`."""

    def submit_(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *a: Any, **kw: Any) -> Any:
        if current_run() is not None:
            return original(self, copy_context().run, fn, *a, **kw)
        return original(self, fn, *a, **kw)

    return submit_


def start_raw(original: Any) -> Any:
    """Around `_thread.start_new_thread`, which `Thread.start` does not go by."""

    def start_new_thread(function: Any, args: Any, *kwargs: Any) -> Any:
        return original(_carried(function), args, *kwargs)

    return start_new_thread


def to_pool(original: Any) -> Any:
    """Around a method of `ThreadPool` that takes a function."""

    def hand_over(self: Any, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return original(self, _carried(func), *args, **kwargs)

    return hand_over


def _carried(function: Any) -> Any:
    """The function with the account of whoever hands it over; as it is outside of runs."""
    if current_run() is None or not callable(function):
        return function
    context = copy_context()

    def carried(*args: Any, **kwargs: Any) -> Any:
        return context.copy().run(function, *args, **kwargs)  # one is entered once at a time

    return carried


def _is_worker(target: Any) -> bool:
    return getattr(target, "__module__", "") in (
        "concurrent.futures.thread",
        "multiprocessing.pool",
    )
