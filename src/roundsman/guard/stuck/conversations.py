"""Whose memory a record belongs to.

Agents side by side do not know of each other: the same call, failure or words in three parallel
branches are no repetition. What came before is known to what follows: a conversation begins with the
memory of the agents above it and of those that are through. What ran inside an action is known to
its caller once that is over.
"""

from __future__ import annotations

from collections.abc import Iterable

from roundsman.guard import events as ev
from roundsman.guard.evolve import evolve
from roundsman.guard.stuck.memory import (
    BEGUN,
    PAST,
    POLLS,
    WRITTEN,
    Conversation,
    Memory,
    Where,
)

MOST = 128
"""Conversations that are remembered; beyond it those go that were heard longest ago."""
_NEW = Conversation()


def where_of(event: ev.StepBegins | ev.ActionBegins | ev.Ruled) -> Where:
    """Whose conversation a record belongs to."""
    return Where(event.within, event.place, event.loop)


def of(memory: Memory, where: Where) -> Conversation:
    """A conversation as it stands; one that begins knows what came before it."""
    known = memory.talking.get(where)
    if known is not None:
        return known
    above, inner = set(), where.within
    while inner and (caller := memory.open.get(inner)) is not None and caller not in above:
        above.add(caller)
        inner = caller.within
    return _merged(
        c for w, c in memory.talking.items() if w in above or _before(memory, w, c, where)
    )


def _before(memory: Memory, other: Where, conversation: Conversation, where: Where) -> bool:
    """Whether what another conversation came to is known where this one begins."""
    same = other.within == where.within and other.loop == where.loop
    return same and _one_line(other, where) and _through(memory, other, conversation)


def _one_line(one: Where, other: Where) -> bool:
    """Whether neither runs beside the other: branches that part never meet, one that parts from the
    trunk comes back to it."""
    a, b = (f"{w.place.partition('#')[2]}." for w in (one, other))
    return a == "." or b == "." or a.startswith(b) or b.startswith(a)


def _through(memory: Memory, where: Where, conversation: Conversation) -> bool:
    """Whether nothing of a conversation is under way or still to come."""
    return (
        not conversation.due
        and not conversation.flying
        and where.within not in memory.open
        and where not in memory.replies.values()
    )


def heard(memory: Memory, where: Where, now: Conversation) -> dict[Where, Conversation]:
    """The conversations with this one as it stands now, heard last."""
    if len(memory.talking) == 1 and where in memory.talking:
        return {where: now}
    talking = {w: c for w, c in memory.talking.items() if w != where}
    talking[where] = now
    while len(talking) > MOST:
        done = (w for w, c in talking.items() if w != where and _through(memory, w, c))
        del talking[next(done, next(iter(talking)))]
    return talking


def joined(memory: Memory, action: str, where: Where) -> Memory:
    """An action of `where` is over: what ran inside it belongs to its caller now."""
    inside = [w for w in memory.talking if w.within == action]
    if not inside:
        return memory
    caller = of(memory, where)
    now = _merged([caller, *(memory.talking[w] for w in inside)])
    # the last to act was inside: its unbroken run goes on, and what it was refused is known
    last = memory.talking[inside[-1]]
    now = evolve(
        now,
        run=last.run if last.run[1] else caller.run,
        talks=caller.talks,
        flying=caller.flying,
        step=caller.step,
        due=caller.due,
        warned=caller.warned,
        withheld=max(caller.withheld, last.withheld),
    )
    left = {w: c for w, c in memory.talking.items() if w not in inside}
    return evolve(memory, talking={**left, where: now})


def new_round(memory: Memory, loop: str) -> Memory:
    """A new round sees no earlier conversation, so asking anew is no repetition. What was written is
    written, and what was waited for was waited for."""
    mine = [c for w, c in memory.talking.items() if w.loop == loop]
    left = {w: c for w, c in memory.talking.items() if w.loop != loop}
    if mine:
        before = _merged(mine)
        kept = evolve(_NEW, written=before.written, polls=before.polls)
        left[Where(place=_EARLIER, loop=loop)] = kept
    return evolve(memory, talking=left)


_EARLIER = "(earlier rounds)"


def _merged(conversations: Iterable[Conversation]) -> Conversation:
    """What several conversations know together, the one heard last last."""
    those = list(conversations)
    if not those:
        return _NEW
    last = those[-1]
    if len(those) == 1:
        return evolve(last, talks={}, flying={}, step=0, due=0, warned=False)
    past = {o.number: o for c in those for o in c.past}
    begun = {number: call for c in those for number, call in c.begun}
    written = {call: None for c in reversed(those) for call in reversed(c.written)}
    polls = {call: poll for c in those for call, poll in c.polls.items()}
    return Conversation(
        begun=tuple(sorted(begun.items()))[-BEGUN:],
        past=tuple(past[n] for n in sorted(past))[-PAST:],
        written=tuple(reversed(written))[-WRITTEN:],
        run=last.run,
        polls=dict(list(polls.items())[-POLLS:]),
        withheld=last.withheld,
    )
