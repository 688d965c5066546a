"""A run as it happens: the one place where deciding, journal and account meet.

One order everywhere: decide -> append the intent -> apply -> act -> append the outcome -> apply.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from roundsman.errors import LedgerError, RunOver, WaitsForPerson
from roundsman.guard import Account, Placed, apply
from roundsman.guard import events as ev
from roundsman.guard.prints import as_json
from roundsman.ledger.asking import open_questions, told
from roundsman.ledger.fold import fold, usage_of
from roundsman.ledger.given_back import GivesBack
from roundsman.ledger.history import History, charges
from roundsman.ledger.ids import last_id, new_run_id
from roundsman.ledger.judging import Judges, Operator
from roundsman.ledger.lease import Lease
from roundsman.ledger.records import Record, chain, no_such_run
from roundsman.ledger.store import Store, taken

Clock = Callable[[], float]
Listener = Callable[[ev.Event], None]
E = TypeVar("E", bound=ev.Event)


class LiveRun(Judges, GivesBack):
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
        self._by_kind = dict[str, Sequence[Placed]]()
        self.account = Account()
        self.listeners: list[Listener] = []
        self.actions_proposed = 0
        self.steps_proposed = 0
        self.questions_asked = 0
        self.held: set[str] = set()  # actions inside of which something waits for a person
        self.counted: dict[str, tuple[int, int, str]] = {}  # histories seen so far, see adk.tokens
        self.ratios: dict[str, float] = {}  # tokens reported for one estimated, see adk.model
        self.history: History | None = None
        self._seq = 0
        self._hash = ""
        self.broken = ""
        self.cannot_wait = False  # a live session: nobody holds the line for a person's answer
        self.operator: Operator | None = None
        self.paused = False
        self._heeded = float("-inf")
        self._lock = threading.RLock()  # tools run in threads, and call models there
        self._lease = Lease(store.db, run_id, self._lost)

    @classmethod
    def start(
        cls,
        store: Store,
        rules: Sequence[Placed],
        *,
        policy: str,
        question: str = "",
        model: str = "",
        setup: Mapping[str, Any] | None = None,
        run_id: str | None = None,
        clock: Clock = time.time,
    ) -> LiveRun:
        """Enter a new run in the store and take its lease.

        Args:
            setup: what a later process needs to go on with the run.
        """
        run = cls(store, rules, run_id or new_run_id(), clock)
        store.begin(run.run_id, clock(), question, policy, model, run._lease)
        run._begin(policy, question, setup)
        return run

    def _begin(self, policy: str, question: str, setup: Mapping[str, Any] | None) -> None:
        self.write(
            ev.RunBegins(
                run_id=self.run_id, policy=policy, question=question, setup=dict(setup or {})
            )
        )

    @classmethod
    def reopen(
        cls,
        store: Store,
        rules: Sequence[Placed],
        run_id: str,
        clock: Clock = time.time,
        *,
        resumes: ev.RunResumes | None = None,
    ) -> LiveRun:
        """Take up an interrupted run: its counters are the fold of its journal, and what it did
        in the round that was interrupted is given back instead of being done again.

        Args:
            resumes: the record to write, with what a person accepted as changed.

        Raises:
            LeaseHeld: another process has it.
            JournalDamaged: its records are not whole.
            WaitsForPerson: a write may or may not have been carried out, or a question is open.
        """
        run = cls(store, rules, run_id, clock)
        records = run._take_up()
        try:
            run.history = History(records, changed=bool(resumes and resumes.accepted))
            if run.history.unknown:
                raise WaitsForPerson(run.history.question(run_id))
            waiting = open_questions(run.account, clock())
            if waiting and run.account.stopped is None and not store.stop_request(run_id):
                raise WaitsForPerson(told(run_id, waiting))
            run.write(replace(resumes or ev.RunResumes(), charged=charges(records)))
        except BaseException:  # a lease nobody uses would keep everybody else away
            run._lease.release()
            raise
        return run

    @classmethod
    @contextmanager
    def borrow(cls, store: Store, run_id: str) -> Iterator[LiveRun]:
        """A run nobody is at, to add a record to (a person's word) and let go of again.

        Raises:
            LeaseHeld, JournalDamaged: as `reopen`.
        """
        run = cls(store, (), run_id)
        run._take_up()
        try:
            yield run
        finally:
            run._lease.release()

    def _take_up(self) -> list[Record]:
        self._lease.take()
        self.store.held(self.run_id, self._lease.holder)
        try:
            records = self.store.whole(self.run_id)
            self.account = fold(records)
            if not records:  # deleted since it was looked up
                raise no_such_run(self.run_id, self.store.ids())
            if self.account.ended:
                raise RunOver(f"run {self.run_id} is over; see: roundsman runs show {self.run_id}")
        except BaseException:
            self._lease.release()
            raise
        self._seq, self._hash = (records[-1].seq, records[-1].hash) if records else (0, "")
        self.actions_proposed = last_id(records, "a")
        self.steps_proposed = last_id(records, "s")
        self.questions_asked = last_id(records, "q")
        return records

    @classmethod
    def reopen_ended(cls, store: Store, run_id: str) -> LiveRun:
        """A run that is over, to be looked at: nothing can be written to it any more."""
        run = cls(store, (), run_id)
        run.account = fold(store.records(run_id))
        return run

    def next_action_id(self) -> str:
        """`a1`, `a2` ... in the order actions are asked for."""
        with self._lock:
            self.actions_proposed += 1
            return f"a{self.actions_proposed}"

    def next_step_id(self) -> str:
        """`s1`, `s2` ... in the order steps are asked for."""
        with self._lock:
            self.steps_proposed += 1
            return f"s{self.steps_proposed}"

    def write(self, event: ev.Event, durable: bool = True) -> None:
        """Append and apply. What is not durable yet rides with the next that is."""
        with self._lock:
            event = self._append(event)
            if durable:
                self._commit()
            self._took(event)

    def _append(self, event: E) -> E:
        self._refuse_broken()
        if event.at == 0.0:
            event = event.timed(self.clock())
        body = as_json(ev.to_body(event))
        self._seq += 1
        self._hash = chain(self._hash, event.kind, event.at, body)
        self.store.append(self.run_id, self._seq, event.kind, event.at, body, self._hash)
        return event

    def _took(self, event: ev.Event) -> None:
        self.account = apply(self.account, event)
        for listener in tuple(self.listeners):
            listener(event)

    def _begin_unless_stopped(self, event: ev.Event) -> bool:
        """Make an intent durable and apply it, unless somebody has asked the run to stop: the statement that
        enters it looks for that. None is ever on record behind such a request."""
        before = self._seq, self._hash
        event = self._append(event)
        try:
            begun = self.store.begin_unless_stopped(self.run_id)
        except LedgerError as error:
            self.broken = str(error)
            raise
        if begun:
            self._took(event)
        else:
            self._seq, self._hash = before
        return begun

    def _commit(self) -> None:
        try:
            self.store.commit(self.run_id)
        except LedgerError as error:
            self.broken = str(error)
            raise

    def _refuse_broken(self) -> None:
        """What cannot be put on record must not happen."""
        if self.broken:
            raise LedgerError(self.broken)

    def _lost(self) -> None:
        self.broken = taken(self.run_id)

    def stop(self, reason: str, detail: str, rule: str = "", layer: str = "loop") -> None:
        """Make the account stopped; every later proposal is stopped too."""
        if self.account.stopped is None:
            self.write(ev.Ruled(verdict="stop", rule=rule, layer=layer, reason=detail, stop=reason))

    def end(self, reason: str, rule: str = "", layer: str = "loop", detail: str = "") -> None:
        """Close the run; a second call changes nothing."""
        if self.account.ended:
            self._lease.let_go()
            return
        if self.broken:
            self._lease.abandon()
            return
        if reason == "done" and self.account.work.partial:
            reason = "partial"
        self.write(ev.RunEnds(reason=reason, rule=rule, layer=layer, detail=detail), durable=False)
        status = "done" if reason in ("done", "no_progress", "max_rounds", "partial") else "stopped"
        self._lease.let_go()
        try:
            self.store.finish(self.run_id, status, self.account.rounds, usage_of(self.account))
        except LedgerError as error:
            self.broken = str(error)
            self._lease.abandon()
            raise
