"""Ends what hangs, and what goes on after its run was stopped.

The rule of the wall clock looks before each call, and a call that hangs has no next. So the outermost
runner's call has a timer beside it; what it breaks off is told of by no hook, and closed as any
cancelled run is. A stopped run is refused all it asks for; code of the app's own that asks for ever
hears of that and goes on: it is broken off as well.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from google.adk.events.event import Event

from roundsman.adk.reports import STOP_CODE
from roundsman.errors import RoundsmanError
from roundsman.guard.rules.budgets import WallClock
from roundsman.ledger import LiveRun

MOST_AFTER = 1000
"""Events of the app after its run was stopped: what was under way, and what it has to say of its end."""


class Breaker:
    """The timer of one call of a runner; it cancels the task that waits for the next event."""

    def __init__(self) -> None:
        self.fired = ""
        self._run: LiveRun | None = None
        self._clocks: list[WallClock] = []
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waits = False
        self._cancelling = 0
        self._cancelled = False
        self._after = 0

    def watch(self, run: LiveRun) -> None:
        """From now on the runner works for this run."""
        self._run = run
        self._clocks = [
            placed.rule
            for placed in run.rules
            if isinstance(placed.rule, WallClock) and placed.mode == "enforce" and not placed.asks
        ]
        self._arm()

    def start(self) -> None:
        """A step begins in this task."""
        self._task = task = asyncio.current_task()
        self._cancelling = 0 if task is None else task.cancelling()
        self._waits = True
        self._arm()

    def rest(self) -> None:
        """Nobody waits for an event. The timer goes on: setting it anew with every event would cost more
        than its looking in vain."""
        self._waits = False

    def close(self) -> None:
        """Nothing is to be broken off: the call is over, or its run has no such limit any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        """Let the timer ring when the time is used, or before: it looks again then."""
        left = self._left()
        if left is None:
            self.close()
            return
        loop = asyncio.get_running_loop()
        when = loop.time() + max(0.0, left)
        if self._timer is not None and self._loop is loop and self._timer.when() <= when:
            return
        self.close()
        self._timer, self._loop = loop.call_at(when, self._ring), loop

    def _ring(self) -> None:
        self._timer, run, task = None, self._run, self._task
        if run is None or task is None or task.done() or not self._waits:
            return
        left = self._left()
        if left is None:
            return
        if left > 0:  # somebody was waited for, which is no work
            self._arm()
            return
        self.fired = "the time is used; what was still running was broken off"
        with suppress(RoundsmanError):  # a journal that cannot be used keeps nothing going
            run.stop(WallClock.name, self.fired, WallClock.name, WallClock.layer)
        self._cancelled = True
        task.cancel()

    def ends(self) -> bool:
        """Whether the app has gone on for too many events after its run was stopped; called with each."""
        if self._run is None or self._run.account.stopped is None:
            return False
        self._after += 1
        if self._after <= MOST_AFTER:
            return False
        self.fired = "the app went on after its run was stopped, and was broken off"
        return True

    def _left(self) -> float | None:
        """Seconds of the wall clock that are left; None when nothing is to be broken off."""
        run = self._run
        if run is None or not self._clocks or run.cannot_wait:
            return None
        most = min(clock.most(run.account) for clock in self._clocks)
        return most - run.account.active_at(run.clock())

    def last_word(self) -> Event | None:
        """The last event of a run that was broken off; None when it was not.

        Raises:
            CancelledError: the caller was cancelled at the same time.
        """
        if not self.fired:
            return None
        task = asyncio.current_task() if self._cancelled else None
        if task is not None and task.uncancel() > self._cancelling:
            raise asyncio.CancelledError  # the caller wants it to end as well
        return Event(author="roundsman", error_code=STOP_CODE, error_message=self.fired)
