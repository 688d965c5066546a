"""Waiting for something is bounded by time, not by count."""

from __future__ import annotations

from roundsman.guard.stuck.memory import POLLS, Memory, Outcome, Poll


def polled(memory: Memory, outcome: Outcome, at: float) -> dict[str, Poll]:
    """The polls after this answer: an answer that changed starts its time anew."""
    call = outcome.asked.call
    before = memory.polls.get(call)
    same = before is not None and before.print == outcome.print
    kept = {k: v for k, v in memory.polls.items() if k != call}
    while len(kept) >= POLLS:
        del kept[next(iter(kept))]
    kept[call] = before if before is not None and same else Poll(outcome.print, at)
    return kept


def waited(memory: Memory, call: str, at: float) -> float:
    """Seconds this poll has given the same answer."""
    poll = memory.polls.get(call)
    return 0.0 if poll is None else max(0.0, at - poll.since)
