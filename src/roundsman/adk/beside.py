"""Heavy checks: they run beside a text on its way, and can still stop it.

A light check sits in line. A heavy one (a classifier, a service elsewhere, a model that judges) would hold
up every piece, so it looks at what has come so far in a thread of its own, again whenever that has doubled,
and once at the whole: nothing is handed over as final before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from roundsman.adk.timed import Look, TimedRule
from roundsman.guard import ALLOW, Account, Judgement, Kind, Placed, decide
from roundsman.guard.said import Said
from roundsman.ledger import LiveRun

_FIRST = 256
"""Characters of a text in pieces that are worth a first look."""


@dataclass
class _Watched:
    """One heavy check and how far it has come with this text."""

    placed: Placed
    rule: TimedRule
    look: Look | None = None
    next_at: int = _FIRST
    late: bool = False

    def judged(self, run: LiveRun | None, said: Said) -> Judgement:
        assert self.look is not None
        rule = replace(self.rule, answer=self.look)
        account = run.account if run is not None else Account()
        return decide([Placed(rule, self.placed.mode)], account, said)


class Beside:
    """The heavy checks of one text.

    Args:
        rules: they.
        run: whose record it is; None before there is one.
    """

    def __init__(self, rules: Sequence[Placed], run: LiveRun | None) -> None:
        self._run = run
        self._watched = [_Watched(p, p.rule) for p in rules if isinstance(p.rule, TimedRule)]

    def __bool__(self) -> bool:
        return bool(self._watched)

    def begin(self, said: Said) -> None:
        """Look at a text that is whole; `poll` and `end` say what was found."""
        for one in self._watched:
            if one.rule.concerns(said):
                one.look = one.rule.look(said)

    def more(self, said: Said) -> Judgement | None:
        """More of a text has come: the verdict that ends it, if there is one by now."""
        ended = self.poll()
        for one in self._watched if ended is None else ():
            due = one.look is None and not one.late and len(said.text) >= one.next_at
            if due and one.rule.concerns(said):
                one.look, one.next_at = one.rule.look(said), 2 * len(said.text)
        return ended

    def poll(self) -> Judgement | None:
        """The verdict that ends the text, if a look that is over says so; on record."""
        for one in self._watched:
            if one.look is None or not one.look.over:
                continue
            judged = one.judged(self._run, one.look.said)
            if judged.verdict.kind > Kind.AMEND:
                self._note(judged, one.look.said)
                return judged
            if not one.look.said.whole:  # what is not whole is looked at again
                late = any("budget_s" in v.numbers for v, _ in judged.said)
                if late:
                    one.late = True
                    self._note(judged, one.look.said)
                one.look = None
        return None

    async def end(self, said: Said) -> Judgement:
        """What the checks say of the whole text; on record."""
        concerned = [one for one in self._watched if one.rule.concerns(said)]
        for one in concerned:
            if one.look is None or one.look.said.text != said.text:
                one.look = one.rule.look(said)
        await _over([one.look for one in concerned if one.look is not None])
        judged = Judgement(ALLOW)
        for one in concerned:
            judged = both(judged, one.judged(self._run, said))
        self._note(judged, said)
        return judged

    def _note(self, judged: Judgement, said: Said) -> None:
        if self._run is not None:
            self._run.note(judged, said)


async def _over(looks: Sequence[Look]) -> None:
    """Wait until every look has said something or its time is over."""
    for look in looks:
        if look.running is not None and look.left:
            future = asyncio.wrap_future(look.running)
            await asyncio.wait({future}, timeout=look.left)
            future.add_done_callback(_read)


def _read(future: asyncio.Future[Any]) -> None:
    """An error of a look nobody waits for any more is not the loop's business."""
    if not future.cancelled():
        future.exception()


def both(first: Judgement, then: Judgement) -> Judgement:
    """Two judgements of one text as one: the stricter verdict holds."""
    harder = then.verdict.kind > first.verdict.kind
    verdict = then.verdict if harder else first.verdict
    return Judgement(verdict, (*first.said, *then.said))
