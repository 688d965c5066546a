"""A worker: one process that takes jobs, a few at a time, and takes over those of the dead."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from threading import Event
from typing import Any

from roundsman.errors import LedgerError
from roundsman.ledger import Store, open_store
from roundsman.ledger.lease import Lease, is_held
from roundsman.worker.database import engine_of, need, system_url, told
from roundsman.worker.jobs import Job, Left, carry
from roundsman.worker.queue import APPLICATION, QUEUE, VERSION, WORKFLOW, Queue

RESCUE_S = 2.0
"""Seconds between two looks for workers that died."""
TRIES = 20
"""How often a job is handed out when every worker that had it died; then it is given up."""
_LEASE = "worker:"


class Worker:
    """Takes jobs until `stop`.

    Args:
        say: told of each job as a line: `began RUN`, `ended RUN STATUS ...`, `waits RUN why`,
            `took over RUN of WORKER`.

    Limits hold for all workers together and stay until one sets them anew: `at_once`
    investigations, of them `per_worker` in one process. None keeps what is set.

    Raises:
        MissingDependency: the extra `worker` is not installed.
        LedgerError: the database cannot be used.
    """

    def __init__(
        self,
        say: Callable[[str], None] = lambda line: None,
        *,
        at_once: int | None = None,
        per_worker: int | None = None,
    ) -> None:
        # unique: DBOS gives the jobs of one id to whoever starts under it, dead or not
        self.id = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._say = say
        self.stopping, self.lost = Event(), False
        self._store: Store = open_store()
        self._lease = Lease(self._store.db, _LEASE + self.id, self._declared_dead)
        self._lease.take()
        self._dbos = need()
        with Queue() as queue:  # before there is anybody who could take too many
            queue.limit(at_once, per_worker)
        with told():
            self._launch()

    def _launch(self) -> None:
        DBOS = self._dbos.DBOS
        DBOS.workflow(name=WORKFLOW, max_recovery_attempts=TRIES)(self._job())
        url = system_url()
        self._engine = engine_of(url)
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": url,
                "system_database_engine": self._engine,
                "run_migrations": False,  # done by `Queue`
                "executor_id": self.id,
                "application_version": VERSION,
                "serializer": self._dbos.DBOSPortableJSONSerializer(),
                "log_level": "CRITICAL",
                "sys_db_pool_size": 5,
                "enable_otlp": False,
            }
        )
        DBOS.listen_queues([QUEUE])
        DBOS.launch()

    def _job(self) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def investigate(asked: dict[str, Any]) -> dict[str, Any]:
            job = Job(**asked)
            self._say(f"began {job.run_id}")
            found = carry(job, self.stopping, self._say)
            self._say(f"ended {job.run_id} {found['status']} {found['detail']}".rstrip())
            return found

        return investigate

    def serve(self, until_empty: bool = False) -> None:
        """Work until `stop` is called, or until no job is left; then finish what is under way.

        A database that is out of reach for a while is waited for.
        """
        reached = True
        while not self.stopping.wait(RESCUE_S):
            try:
                with told():
                    self.rescue()
                    if until_empty and not self._open_jobs():
                        break
                    reached = True
            except LedgerError as error:
                if reached:
                    self._say(f"waits {error}")
                reached = False
        self.stopping.set()
        self._dbos.DBOS.destroy(workflow_completion_timeout_sec=0 if self.lost else 10**6)
        if self._engine is not None:
            self._engine.dispose()
        self._lease.abandon()
        self._store.close()

    def stop(self) -> None:
        """Take no more jobs, finish those under way."""
        self.stopping.set()

    def rescue(self) -> list[str]:
        """Give the jobs of dead workers back to the queue; the ids of their runs."""
        DBOS = self._dbos.DBOS
        pending = DBOS.list_workflows(
            queue_name=QUEUE, status="PENDING", load_input=False, load_output=False
        )
        theirs = {one.executor_id for one in pending} - {self.id, None}
        db = self._store.db
        dead = [one for one in sorted(theirs) if not is_held(db, _LEASE + one)]
        if not dead:
            return []
        # The rows are taken back only from these executors, in one statement each: of two who do
        # so at once one finds nothing left. There is no public name for it: hence the tight bound
        # on the version.
        DBOS._recover_pending_workflows(dead)
        taken = [one.workflow_id for one in pending if one.executor_id in dead]
        for one in pending:
            if one.executor_id in dead:
                self._say(f"took over {one.workflow_id} of {one.executor_id}")
        for one in dead:
            db.execute("delete from leases where run_id=?", (_LEASE + one,))
        return taken

    def _open_jobs(self) -> bool:
        return bool(
            self._dbos.DBOS.list_workflows(
                queue_name=QUEUE,
                status=["ENQUEUED", "PENDING", "DELAYED"],
                limit=1,
                load_input=False,
            )
        )

    def _declared_dead(self) -> None:
        """Others found no heartbeat for long and took over: what is under way here is fenced off."""
        self.lost = True
        self.stopping.set()


__all__ = ["Left", "Worker"]
