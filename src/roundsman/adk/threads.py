"""Threads that are started inside of a run carry its account.

A new thread begins with an empty context, so a tool that runs an agent or a model in a thread of its own
(the engine's `Runner.run` does) would be outside of every run. A worker of a pool outlives the run it was
started in: what is handed to it carries the account, not the worker.
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


def _is_worker(target: Any) -> bool:
    return getattr(target, "__module__", "") == "concurrent.futures.thread"
