"""Tools off the event loop, in threads that nobody has to wait for."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from roundsman.sources.patience import until

Tool = Callable[..., Any]

PARTING_S = 5.0
"""Seconds the process waits for its tools at its end."""
_WORKING: dict[threading.Thread, threading.Event] = {}


def threaded(tools: list[Tool]) -> list[Tool]:
    """The tools as coroutines, one at a time over one source.

    A call that is cancelled (a round's time limit, Ctrl-C) returns at once. Its thread is told to end
    and keeps the turn until it does: two never read one source together. A thread that cannot end, on
    a file system that hangs, keeps neither the loop nor the process, but for `PARTING_S`: it is a
    daemon.
    """
    turn = asyncio.Lock()

    def wrap(tool: Tool) -> Tool:
        @functools.wraps(tool)
        async def run(*args: Any, **kwargs: Any) -> Any:
            await turn.acquire()
            called_off = threading.Event()
            try:
                work = _start(functools.partial(tool, *args, **kwargs), called_off)
            except BaseException:
                turn.release()
                raise
            work.add_done_callback(lambda done: _ended(done, turn))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                called_off.set()
                raise

        return run

    return [wrap(tool) for tool in tools]


def _ended(work: asyncio.Future[Any], turn: asyncio.Lock) -> None:
    turn.release()
    if not work.cancelled():
        work.exception()  # looked at, or the loop would complain of one nobody waited for


def _start(call: Callable[[], Any], called_off: threading.Event) -> asyncio.Future[Any]:
    """Run the call in a daemon thread with the caller's context. `asyncio.to_thread` would not do:
    closing the loop, and then leaving the interpreter, waits for its threads."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def tell(report: Callable[[Any], None], value: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(report, value)

    def work() -> None:
        try:
            with until(called_off):
                value = call()
        except BaseException as error:
            tell(future.set_exception, error)
        else:
            tell(future.set_result, value)
        finally:
            _WORKING.pop(threading.current_thread(), None)

    thread = threading.Thread(
        target=copy_context().run, args=(work,), name="roundsman-tool", daemon=True
    )
    _WORKING[thread] = called_off
    thread.start()
    return future


@atexit.register
def _part() -> None:
    """Let what still reads come to its end: the interpreter stops daemons where they are, and one that
    is stopped inside of a database written in C++ takes the whole process down with an abort."""
    left = list(_WORKING.items())
    for _, called_off in left:
        called_off.set()
    until_then = time.monotonic() + PARTING_S
    for thread, _ in left:
        if thread.ident is not None:
            thread.join(max(0.0, until_then - time.monotonic()))
