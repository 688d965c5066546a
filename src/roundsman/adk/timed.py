"""The time a check may take. Checks and rules have no clock; here is the one that is kept beside them.

A built-in check, or a list of phrases, is looked at on the clock of its thread: what other work of the
machine takes does not count. Code of a user's may wait for something, so it runs in a thread of its own
and is left behind when its time is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field, fields
from typing import Any

from roundsman.guard import Placed
from roundsman.guard.checks.base import Hit, TooSlow
from roundsman.guard.rules.conversation import TextRule
from roundsman.guard.said import Said

MOST_AT_ONCE = 32
"""Looks of one check that may be under way, those that were left behind among them."""


class Look:
    """One look of a check at a text, in a thread of its own.

    Args:
        name: the check.
        said: the text.
        budget: seconds from now.
        running: what the thread will have found.
    """

    def __init__(
        self, name: str, said: Said, budget: float, running: Future[list[Hit]] | None
    ) -> None:
        self.name, self.said, self.running = name, said, running
        self._budget, self._until = budget, time.monotonic() + budget

    @property
    def left(self) -> float:
        """Seconds that are left; 0.0 when there is nothing to wait for."""
        if self.running is None or self.running.done():
            return 0.0
        return max(0.0, self._until - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether it has said something, or its time is over."""
        return self.left == 0.0

    def found(self) -> list[Hit]:
        """What it found, waiting for it as long as its budget goes.

        Raises:
            TooSlow: it did not say in time, or too many that did not are still running.
            Exception: whatever the check raised.
        """
        if self.running is None:
            raise TooSlow(
                self._budget, f"{self.name}: {MOST_AT_ONCE} earlier looks have not come to an end"
            )
        try:
            return self.running.result(self.left)
        except TimeoutError:
            if self.running.done():  # just now, or it is the check's own error
                return self.running.result()
        raise TooSlow(self._budget, f"{self.name} said nothing within {self._budget * 1000:g} ms")


@dataclass(frozen=True)
class TimedRule(TextRule):
    """A check with its clock. `answer`: a look that was begun before; the rule then reads it."""

    answer: Look | None = None
    places: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(MOST_AT_ONCE), compare=False
    )

    def found(self, said: Said) -> list[Hit]:
        """What the check has against a text.

        Raises:
            TooSlow: it did not keep its budget.
        """
        if not self.concerns(said):
            return []
        if self.answer is not None:
            return self.answer.found()
        if self.foreign or self.heavy:
            return self.look(said).found()
        before = time.thread_time()
        hits = super().found(said)
        took = time.thread_time() - before
        if took > self.budget and not (hits and self.passes_late):
            why = f"{self.name} took {took * 1000:.0f} ms of {self.budget * 1000:g}"
            raise TooSlow(self.budget, why)
        return hits

    def look(self, said: Said) -> Look:
        """Begin to look at a text; the thread is nobody's to wait for at exit."""
        if not self.places.acquire(blocking=False):
            return Look(self.name, said, self.budget, None)
        running: Future[list[Hit]] = Future()
        running.set_running_or_notify_cancel()
        context = copy_context()
        work = lambda: context.run(TextRule.found, self, said)  # noqa: E731
        threading.Thread(
            target=_run, args=(running, work, self.places), daemon=True, name=f"check {self.name}"
        ).start()
        return Look(self.name, said, self.budget, running)


def _run(running: Future[Any], work: Callable[[], Any], places: Any) -> None:
    try:
        running.set_result(work())
    except BaseException as error:
        running.set_exception(error)
    finally:
        places.release()


def timed(placed: Placed) -> Placed:
    """The same rule, with a clock when it is a check of texts."""
    rule = placed.rule
    if not isinstance(rule, TextRule) or isinstance(rule, TimedRule):
        return placed
    given = {f.name: getattr(rule, f.name) for f in fields(TextRule)}
    return Placed(TimedRule(**given), placed.mode, placed.asks)
