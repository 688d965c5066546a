"""A few questions at a time, each in a thread that nobody has to wait for."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from typing import TypeVar

from roundsman.sources.patience import checkpoint

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(
    work: Callable[[T], R], items: Sequence[T], seconds: float, workers: int = 4
) -> Iterator[tuple[T, R | Exception]]:
    """(item, result or what was raised) as they come, until all are done or the time is over.

    Leaving the iteration begins nothing new. The threads are daemons: a server that hangs keeps
    neither the caller nor the process.
    """
    waiting, done = deque(items), deque[tuple[T, R | Exception]]()
    changed, over = threading.Condition(), threading.Event()

    def run() -> None:
        while not over.is_set():
            with changed:
                if not waiting:
                    return
                item = waiting.popleft()
            try:
                result: R | Exception = work(item)
            except Exception as error:
                result = error
            with changed:
                done.append((item, result))
                changed.notify()

    end, left = time.monotonic() + seconds, len(items)
    for _ in range(min(workers, len(items))):
        threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
    try:
        while left:
            checkpoint()
            with changed:
                if not done:
                    changed.wait(0.2)
                pair = done.popleft() if done else None
            if pair is not None:
                left -= 1
                yield pair
            if time.monotonic() > end and not done:
                return
    finally:
        over.set()
