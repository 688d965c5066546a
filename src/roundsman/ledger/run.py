"""A run as it happens: the one place where deciding, journal and account meet.

One order everywhere: decide -> append the intent -> apply -> act -> append the outcome -> apply.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from roundsman.guard import Account, Judgement, Kind, Placed, Verdict, apply, decide
from roundsman.guard import events as ev
from roundsman.ledger.fold import fold, usage_of
from roundsman.ledger.lease import Lease
from roundsman.ledger.store import Record, Store, chain

E = TypeVar("E", bound=ev.Event)
Clock = Callable[[], float]
Listener = Callable[[ev.Event], None]
_encode = json.JSONEncoder(default=str, separators=(",", ":")).encode


def new_run_id() -> str:
    """A run id that sorts by time and is short enough to type."""
    return time.strftime("%m%d-%H%M%S-", time.gmtime()) + secrets.token_hex(2)


def _last_id(records: Sequence[Record], letter: str) -> int:
    """Highest number given out so far: an id names one action of a run, refused ones too."""
    ids = (str(r.body.get(key, "")) for r in records for key in ("id", "subject_id"))
    return max((int(i[1:]) for i in ids if i[:1] == letter and i[1:].isdecimal()), default=0)


class LiveRun:
    """One run tree of this process.

    `propose` judges what is about to happen and, when it may, makes the intent durable before it
    returns. `settle` writes what came back. `listen` tells a watcher of every record.
    """

    def __init__(
        self,
        store: Store,
        rules: Sequence[Placed],
        run_id: str,
        clock: Clock = time.time,
    ) -> None:
        self.store, self.rules, self.run_id, self.clock = store, rules, run_id, clock
        self.account = Account()
        self.listeners: list[Listener] = []
        self.actions_proposed = 0
        self.steps_proposed = 0
        self.counted: dict[str, tuple[int, int]] = {}  # sizes of histories, see adk.tokens
        self._seq = 0
        self._hash = ""
        self._lease = Lease(store.connection, run_id)

    @classmethod
    def start(
        cls,
        store: Store,
        rules: Sequence[Placed],
        *,
        policy: str,
        question: str = "",
        model: str = "",
        run_id: str | None = None,
        clock: Clock = time.time,
    ) -> LiveRun:
        """Enter a new run in the store and take its lease."""
        run = cls(store, rules, run_id or new_run_id(), clock)
        store.begin(run.run_id, clock(), question, policy, model)
        run._lease.take()
        run.write(ev.RunBegins(run_id=run.run_id, policy=policy, question=question))
        return run

    @classmethod
    def reopen(
        cls, store: Store, rules: Sequence[Placed], run_id: str, clock: Clock = time.time
    ) -> LiveRun:
        """Take up an interrupted run: its counters are the fold of its journal."""
        run = cls(store, rules, run_id, clock)
        run._lease.take()
        store.verify(run_id)
        records: list[Record] = store.records(run_id)
        run.account = fold(records)
        run._seq, run._hash = (records[-1].seq, records[-1].hash) if records else (0, "")
        run.actions_proposed = _last_id(records, "a")
        run.steps_proposed = _last_id(records, "s")
        run.write(ev.RunResumes())
        return run

    def next_action_id(self) -> str:
        """`a1`, `a2` ... in the order actions are asked for."""
        self.actions_proposed += 1
        return f"a{self.actions_proposed}"

    def next_step_id(self) -> str:
        """`s1`, `s2` ... in the order steps are asked for."""
        self.steps_proposed += 1
        return f"s{self.steps_proposed}"

    def write(self, event: ev.Event, durable: bool = True) -> None:
        """Append and apply. What is not durable yet rides with the next that is."""
        if event.at == 0.0:
            event = event.timed(self.clock())
        body = _encode(ev.to_body(event))
        self._seq += 1
        self._hash = chain(self._hash, event.kind, event.at, body)
        self.store.append(self.run_id, self._seq, event.kind, event.at, body, self._hash)
        if durable:
            self._lease.beat()
            self.store.commit()
        self.account = apply(self.account, event)
        for listener in self.listeners:
            listener(event)

    def judge(self, event: ev.Event) -> Verdict:
        """Judge and record what was said; the event itself is not written."""
        if event.at == 0.0:
            event = event.timed(self.clock())
        judged = decide(self.rules, self.account, event)
        self._note(judged, event)
        return judged.verdict

    def propose(self, event: E) -> tuple[Verdict, E]:
        """Judge what is about to happen; when it may, its intent is durable on return.

        Returns the verdict and the event as it may run (changed by Amend).
        """
        event = event.timed(self.clock())
        verdict = self.judge(event)
        if verdict.kind <= Kind.AMEND:
            allowed = event if verdict.event is None else verdict.event
            self.write(allowed)
            return verdict, allowed  # type: ignore[return-value]
        return verdict, event

    def settle(self, event: ev.Event, durable: bool = False) -> Verdict:
        """Judge and write an outcome. It is on record whatever the verdict says of it."""
        event = event.timed(self.clock())
        verdict_first = decide(self.rules, self.account, event)
        self.write(event, durable)
        self._note(verdict_first, event)
        return verdict_first.verdict

    def _note(self, judged: Judgement, event: ev.Event) -> None:
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
                    numbers=verdict.numbers,
                    changes=verdict.changes,
                    applied=applied,
                )
            )

    def stop(self, reason: str, detail: str, rule: str = "", layer: str = "loop") -> None:
        """Make the account stopped; every later proposal is stopped too."""
        if self.account.stopped is None:
            self.write(ev.Ruled(verdict="stop", rule=rule, layer=layer, reason=detail, stop=reason))

    def end(self, reason: str, rule: str = "", layer: str = "loop", detail: str = "") -> None:
        """Close the run; a second call changes nothing."""
        if self.account.ended:
            return
        self.write(ev.RunEnds(reason=reason, rule=rule, layer=layer, detail=detail))
        status = "done" if reason in ("done", "no_progress", "max_rounds", "partial") else "stopped"
        self.store.finish(self.run_id, status, self.account.rounds, usage_of(self.account))
        self._lease.release()
