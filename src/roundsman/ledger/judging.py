"""Part of a run: what is about to happen is judged before it may, and what came back is put on record."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from roundsman.guard import Judgement, Kind, Placed, Verdict, decide
from roundsman.guard import events as ev
from roundsman.ledger.asking import unasked
from roundsman.ledger.waits import Waits

E = TypeVar("E", bound=ev.Event)
Operator = Callable[[ev.ActionBegins, str], None]
"""Is told of an action that a person should have decided on, and why, where none can be waited for."""


class Judges(Waits):
    """What `LiveRun` does with its rules."""

    rules: Sequence[Placed]
    _by_kind: dict[str, Sequence[Placed]]
    cannot_wait: bool
    operator: Operator | None

    @abstractmethod
    def _refuse_broken(self) -> None: ...

    @abstractmethod
    def _begin_unless_stopped(self, event: ev.Event) -> bool: ...

    def _watching(self, kind: str) -> Sequence[Placed]:
        """The rules that look at events of this kind; found once, since most look at few."""
        found = self._by_kind.get(kind)
        if found is None:
            found = tuple(p for p in self.rules if kind in p.rule.watches)
            self._by_kind[kind] = found
        return found

    def judge(self, event: ev.Event) -> Verdict:
        """Judge and record what was said; the event itself is not written."""
        with self._lock:
            self._refuse_broken()
            self.heed()
            if event.at == 0.0:
                event = event.timed(self.clock())
            judged = decide(self._watching(event.kind), self.account, event)
            self.note(judged, event)
            self._ask(judged, event)
            return judged.verdict

    def weigh(self, event: ev.Event) -> Verdict:
        """What would be said of this now. Nothing is recorded."""
        return decide(self._watching(event.kind), self.account, event.timed(self.clock())).verdict

    def propose(self, event: E) -> tuple[Verdict, E]:
        """Judge what is about to happen; when it may, its intent is durable on return.

        Returns the verdict and the event as it may run (changed by Amend).
        """
        with self._lock:
            self._refuse_broken()
            event = event.timed(self.clock())
            judged = decide(self._watching(event.kind), self.account, event)
            if self.cannot_wait and judged.verdict.kind is Kind.ASK:
                judged = self._handed_over(judged, event)
            verdict = judged.verdict
            if verdict.kind <= Kind.AMEND:
                self.note(judged, event, durable=False)  # rides with the intent
                allowed = event if verdict.event is None else verdict.event
                while self.account.stopped is None:
                    if self._begin_unless_stopped(allowed):
                        return verdict, allowed  # type: ignore[return-value]
                    self.heed(at_once=True)  # or it was withdrawn meanwhile, and it may after all
            else:  # who is asked to end asks nobody
                self.heed(at_once=verdict.kind is Kind.ASK)
            if self.account.stopped is not None:
                judged = decide(self._watching(event.kind), self.account, event)
                verdict = judged.verdict
            self.note(judged, event, durable=verdict.kind is not Kind.ASK)
            self._ask(judged, event)
            return verdict, event

    def _handed_over(self, judged: Judgement, event: ev.Event) -> Judgement:
        """Refused, since nobody can be waited for; whoever stands by is told of it."""
        if self.operator is not None and isinstance(event, ev.ActionBegins):
            try:
                self.operator(event, judged.verdict.reason)
            except Exception as error:  # somebody's code: it must not undo the refusal
                told = f"the operator could not be told: {type(error).__name__}: {error}"
                self.write(ev.Ruled(verdict="amend", rule="operator", layer="tool", reason=told))
        return unasked(judged)

    def settle(self, event: ev.Event, durable: bool = False) -> Verdict:
        """Judge and write an outcome. It is on record whatever the verdict says of it."""
        with self._lock:
            event = event.timed(self.clock())
            judged = decide(self._watching(event.kind), self.account, event)
            # one commit: a record without what was said of it would be judged by nobody after a
            # crash
            self.write(event, durable=False)
            self.note(judged, event, durable=False)
            if durable or judged.verdict.kind is Kind.STOP:
                self._commit()
            return judged.verdict

    def note(self, judged: Judgement, event: ev.Event, durable: bool = True) -> None:
        """Record what was said of an event."""
        for verdict, applied in judged.said:
            if verdict.kind is Kind.AMEND and verdict.event is not None and not verdict.changes:
                continue
            self.write(
                ev.Ruled(
                    verdict=verdict.kind.name.lower(),
                    rule=verdict.rule,
                    layer=verdict.layer,
                    reason=verdict.reason,
                    stop=verdict.stop,
                    subject=getattr(event, "tool", "") or event.kind,
                    subject_id=getattr(event, "id", ""),
                    agent=getattr(event, "agent", ""),
                    loop=getattr(event, "loop", ""),
                    within=getattr(event, "within", ""),
                    place=getattr(event, "place", ""),
                    call=getattr(event, "call", "") or getattr(event, "request", ""),
                    numbers=verdict.numbers,
                    changes=verdict.changes,
                    applied=applied,
                ),
                durable,
            )
