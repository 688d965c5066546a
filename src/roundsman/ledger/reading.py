"""Part of the store: what is read of runs and their journals."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Any

from roundsman.errors import JournalDamaged
from roundsman.ledger.database import Database, Row
from roundsman.ledger.lease import is_held
from roundsman.ledger.records import FORGET, Record, RunInfo, chain, no_such_run, record_of

_READ = "select seq, kind, at, body, hash from records where run_id=? order by seq"
_INFO = "select run_id, status, started, question, rounds, usage from runs"


class Reads:
    """What `Store` says of its runs. Nothing here writes but what the run itself has appended."""

    db: Database
    name: str

    @abstractmethod
    def commit(self, run_id: str) -> None: ...

    def runs(self) -> list[RunInfo]:
        """All runs, newest first. Unfinished without a live lease is `interrupted`, `waiting` when a
        person has been asked, or `answered` when they have said their word and nobody went on."""
        rows = self.db.query(f"{_INFO} order by started desc, rowid desc")
        return [self._info(row) for row in rows]

    def ids(self) -> list[str]:
        """Ids of all runs, newest first; no journal is read for it."""
        rows = self.db.query("select run_id from runs order by started desc, rowid desc")
        return [run_id for (run_id,) in rows]

    def _info(self, row: tuple[Any, ...]) -> RunInfo:
        run_id, status, started, question, rounds, usage = row
        if status != "running":
            return RunInfo(run_id, status, started, question, rounds, json.loads(usage))
        status = self._standing(run_id, status)
        try:
            usage, rounds, idle = self._counted(run_id)
        except JournalDamaged as error:
            return RunInfo(run_id, status, started, question, rounds, {}, str(error))
        if status == "interrupted":
            status = idle
        return RunInfo(run_id, status, started, question, rounds, usage)

    def _standing(self, run_id: str, status: str) -> str:
        """A run that says it is running and whose process is gone is interrupted."""
        if status != "running":
            return status
        return "running" if is_held(self.db, run_id) else "interrupted"

    def _counted(self, run_id: str) -> tuple[dict[str, Any], int, str]:
        from roundsman.ledger.fold import fold, idle_status, usage_of

        records = self.records(run_id)
        account = fold(records)
        return usage_of(account), account.rounds, idle_status(account, records)

    def info(self, run_id: str) -> RunInfo:
        """One run.

        Raises:
            RunNotFound: there is none of that id.
        """
        return self._info(self._row(f"{_INFO} where run_id=?", run_id))

    def _row(self, sql: str, run_id: str) -> tuple[Any, ...]:
        rows = self.db.query(sql, (run_id,))
        if not rows:
            raise no_such_run(run_id, self.ids(), self.name)
        return rows[0]

    def records(self, run_id: str) -> list[Record]:
        """The journal of a run, oldest first.

        Raises:
            JournalDamaged: a record is not JSON.
        """
        return [record_of(run_id, row) for row in self.rows(run_id)]

    def rows(self, run_id: str) -> list[Row]:
        """The journal of a run as it is stored: (seq, kind, at, body as JSON text, hash)."""
        self.commit(run_id)
        return self.db.query(_READ, (run_id,))

    def report(self, run_id: str) -> dict[str, Any] | None:
        """The saved report, or None when the run left none."""
        (text,) = self._row("select report from runs where run_id=?", run_id)
        return json.loads(text) if text else None

    def whole(self, run_id: str) -> list[Record]:
        """As `records`, its chain followed; raises JournalDamaged, as that and `verify` do."""
        return [record_of(run_id, row) for row in self.verify(run_id)]

    def verify(self, run_id: str) -> list[Row]:
        """Follow the chain of hashes; the rows that were read on the way.

        Raises:
            JournalDamaged: naming the first record that does not fit, or that the end is missing.
        """
        self.commit(run_id)
        with self.db.lock:
            tail = self.db.query("select tail from runs where run_id=?", (run_id,))
            rows = self.db.query(_READ, (run_id,))
        previous, expected = "", 1
        for seq, kind, at, body, digest in rows:
            if seq != expected or chain(previous, kind, at, body) != digest:
                raise JournalDamaged(
                    f"run {run_id}: record {seq} ({kind}) does not fit the chain; the records "
                    f"before it are whole; {FORGET}"
                )
            previous, expected = digest, expected + 1
        seal = tail[0][0] if tail else ""
        if seal and seal != f"{expected - 1} {previous}":
            last = seal.split(" ")[0]
            raise JournalDamaged(
                f"run {run_id}: it ended with record {last}, the journal ends with record "
                f"{expected - 1}; what is there is whole, the rest is missing; {FORGET}"
            )
        return rows
