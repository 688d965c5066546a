"""Part of a run: it is asked to stop, asks a person, waits, and goes on."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace

from roundsman.errors import LedgerError
from roundsman.guard import Account, Judgement, Kind, Verdict
from roundsman.guard import events as ev
from roundsman.ledger.asking import questions, told
from roundsman.ledger.lease import Lease
from roundsman.ledger.records import Record
from roundsman.ledger.store import Store

HEED_S = 0.25
KILL_SWITCH = "kill_switch"
"""What a stop from another process is on record as."""


class Waits:
    """What `LiveRun` does with other people's words."""

    store: Store
    run_id: str
    account: Account
    clock: Callable[[], float]
    questions_asked: int
    broken: str
    paused: bool
    _heeded: float
    _lock: threading.RLock
    _lease: Lease

    @abstractmethod
    def write(self, event: ev.Event, durable: bool = True) -> None: ...

    @abstractmethod
    def note(self, judged: Judgement, event: ev.Event, durable: bool = True) -> None: ...

    @abstractmethod
    def stop(self, reason: str, detail: str, rule: str = "", layer: str = "loop") -> None: ...

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _take_up(self) -> list[Record]: ...

    def heed(self, at_once: bool = False) -> None:
        """Stop when somebody asked for it from another process. A file is looked at each time, a
        server at most every `HEED_S`, unless it is `at_once`: each look is a way to it and back. What is
        about to begin is looked after by its own record, see `Store.begin_unless_stopped`."""
        if self.account.stopped is not None or self.account.ended:
            return
        now = time.monotonic()
        if self.store.db.shared and not at_once and now < self._heeded + HEED_S:
            return
        self._heeded = now
        try:
            asked = self.store.stop_request(self.run_id)
        except LedgerError as error:  # the journal is out of reach: nothing could be put on record
            self.broken = str(error)
            raise
        if asked is not None:
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(asked[0]))
            self.stop("aborted", f"stopped by {asked[1]} at {when} UTC", KILL_SWITCH)

    def _ask(self, judged: Judgement, event: ev.Event) -> None:
        if judged.verdict.kind is not Kind.ASK:
            return
        for asked in questions(judged, event, self.account, self.questions_asked + 1):
            self.questions_asked += 1
            self.write(asked, durable=False)
        self._commit()

    def ask(self, verdict: Verdict, event: ev.Event) -> None:
        """Ask a person because of something no proposal showed, such as a limit of time."""
        with self._lock:
            event = event.timed(self.clock())
            judged = Judgement(verdict, ((verdict, True),))
            self.note(judged, event, durable=False)
            self._ask(judged, event)

    def raise_question(self, asked: ev.Asked) -> None:
        """Put on record that the engine asks a person; not twice about one call."""
        with self._lock:
            if any(q.call == asked.call for q in self.account.asks.open.values()):
                return
            self.questions_asked += 1
            self.write(replace(asked, id=f"q{self.questions_asked}"))

    @property
    def waits(self) -> bool:
        """Whether the run goes on with nothing before a person has answered."""
        account = self.account
        over = account.ended or account.stopped is not None
        return account.asks.blocking is not None and not over

    def pause(self) -> None:
        """Let go of a run that waits for a person: this process does nothing more with it."""
        if self.broken:
            self._lease.abandon()
            return
        self._commit()
        self.broken = told(self.run_id, list(self.account.asks.open.values()))
        self.paused = True
        self._lease.release()

    def go_on(self) -> None:
        """Take up again, in the process that let go of it, a run the engine has an answer for.

        Raises:
            LeaseHeld, JournalDamaged: as `reopen`.
            LedgerError: it is over: somebody has stopped it.
        """
        if self.paused:
            self._take_up()
            self.broken, self.paused = "", False
