"""Tools run one at a time in threads that end when nobody waits for them, or are not waited for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest

from roundsman.adk.current import current_action_id
from roundsman.investigate.threads import threaded
from roundsman.sources.patience import checkpoint


def test_a_cancelled_call_ends_its_thread_before_the_next_begins() -> None:
    seen: list[str] = []
    reading = threading.Event()

    def slow() -> None:
        reading.set()
        try:
            while True:
                checkpoint()
        finally:
            seen.append("slow ended")

    def quick() -> str:
        seen.append("quick began")
        return "answer"

    async def go() -> str:
        first, second = threaded([slow, quick])
        task = asyncio.create_task(first())
        await asyncio.to_thread(reading.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await second()

    assert asyncio.run(go()) == "answer"
    assert seen == ["slow ended", "quick began"]


def test_a_thread_that_hangs_keeps_its_turn_and_neither_loop_nor_process() -> None:
    hung, let_go = threading.Event(), threading.Event()
    began: list[str] = []

    def hangs() -> None:
        hung.set()
        let_go.wait()

    def other() -> None:
        began.append("other")

    async def go() -> None:
        first, second = threaded([hangs, other])
        task = asyncio.create_task(first())
        await asyncio.to_thread(hung.wait)
        task.cancel()
        waiting = asyncio.create_task(second())
        await asyncio.wait([task])
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()

    before = set(threading.enumerate())  # another test's tool may still hang
    try:
        asyncio.run(go())  # returns although the thread still hangs
        assert began == []
        new = set(threading.enumerate()) - before
        (thread,) = [t for t in new if t.name == "roundsman-tool"]
        assert thread.daemon
    finally:
        let_go.set()


def test_an_error_of_a_tool_reaches_its_caller_and_frees_the_turn() -> None:
    def fails() -> None:
        raise RuntimeError("no")

    def works(value: int) -> int:
        return value

    async def go() -> int:
        first, second = threaded([fails, works])
        with pytest.raises(RuntimeError, match="no"):
            await first()
        answer: int = await second(value=3)
        return answer

    assert asyncio.run(go()) == 3


def test_the_tool_keeps_its_name_and_its_callers_context() -> None:
    def tool(service: str = "") -> Any:
        """What it does."""
        return current_action_id()

    (wrapped,) = threaded([tool])
    assert (wrapped.__name__, wrapped.__doc__) == ("tool", "What it does.")
    assert asyncio.run(wrapped()) == current_action_id()


LEAVES = """
import asyncio, atexit, threading
from roundsman.investigate.threads import threaded

reading, leaving = threading.Event(), threading.Event()
atexit.register(leaving.set)  # registered last, so it is called first

def slow():
    reading.set()
    leaving.wait()
    for _ in range(3_000_000):
        pass
    print("ended", flush=True)

async def go():
    asyncio.ensure_future(threaded([slow])[0]())
    await asyncio.to_thread(reading.wait)
    raise SystemExit(3)

asyncio.run(go())
"""


def test_a_process_that_ends_lets_its_tools_come_to_their_end() -> None:
    left = subprocess.run([sys.executable, "-c", LEAVES], capture_output=True, text=True)
    assert (left.returncode, left.stdout) == (3, "ended\n"), left.stderr
