"""Waiting for something is bounded by time, not by count."""

from __future__ import annotations

from roundsman.guard.stuck.memory import POLLS, Conversation, Outcome, Poll


def polled(mine: Conversation, outcome: Outcome, at: float) -> dict[str, Poll]:
    """The polls after this answer: an answer that changed starts its time anew."""
    call = outcome.asked.call
    before = mine.polls.get(call)
    same = before is not None and before.print == outcome.print
    kept = {k: v for k, v in mine.polls.items() if k != call}
    while len(kept) >= POLLS:
        del kept[next(iter(kept))]
    kept[call] = before if before is not None and same else Poll(outcome.print, at)
    return kept


def waited(mine: Conversation, call: str, at: float) -> float:
    """Seconds this poll has given the same answer."""
    poll = mine.polls.get(call)
    return 0.0 if poll is None else max(0.0, at - poll.since)
