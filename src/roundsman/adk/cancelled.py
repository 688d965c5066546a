"""A cancelled run is closed at once: the engine tells no hook of a cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Close = Callable[[], None]


class CancelWatch:
    """Calls `close` as soon as the task that drives a run is cancelled.

    The engine runs its root node in a task of its own and cancels it whenever the caller leaves, for
    whatever reason; only the caller's own state tells a cancellation from an answer taken early.
    """

    def __init__(self, close: Close) -> None:
        self._close = close
        self._caller = asyncio.current_task()
        self._seen: set[asyncio.Task[object]] = set()
        self.also()

    def also(self) -> None:
        """Watch the task this is called in, too: one that works for the run."""
        task = asyncio.current_task()
        if task is not None and task not in self._seen:
            self._seen.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._seen.discard(task)
        caller = self._caller
        if caller is None or not task.cancelled():
            return
        if caller.cancelled() or caller.cancelling():
            self._close()
