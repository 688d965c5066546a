"""The queue as whoever asks for an investigation sees it: submit, and look at what there is."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from roundsman.ledger import open_store
from roundsman.ledger.expected import expect
from roundsman.worker.database import need, system_url, told
from roundsman.worker.jobs import Job

if TYPE_CHECKING:
    from collections.abc import Mapping

QUEUE = "investigations"
WORKFLOW = "roundsman.investigate"
APPLICATION = "roundsman"
VERSION = "1"
"""Of the jobs' form: workers take only jobs of theirs, so it is not the version of Roundsman."""
POLL_S = 0.5
PER_WORKER = 2
"""Jobs of one worker at once, unless set."""
_STATUS = {"ENQUEUED": "queued", "DELAYED": "queued", "PENDING": "running"}


@dataclass(frozen=True)
class QueuedJob:
    """A job as `roundsman queue` shows it. `submitted` in seconds since the epoch; `worker` who has or
    had it; `status` is queued, running, done, stopped, waiting or failed."""

    run_id: str
    status: str
    submitted: float
    worker: str
    path: str
    detail: str = ""
    tries: int = 0


class Queue:
    """The queue beside the journal; a context manager.

    Raises:
        MissingDependency: the extra `worker` is not installed.
        LedgerError: the database cannot be used.
    """

    def __init__(self) -> None:
        dbos = need()
        with told():
            url = system_url()
            # made here when no worker ran yet
            dbos.DBOS.migrate(url)
            self._client = dbos.DBOSClient(
                system_database_url=url,
                serializer=dbos.DBOSPortableJSONSerializer(),
                application_name=APPLICATION,
                retry_connection_errors=False,
            )
            self._register("never_update", None, PER_WORKER)

    def _register(self, conflict: str, at_once: int | None, per_worker: int) -> None:
        self._client.register_queue(
            QUEUE,
            global_concurrency=at_once,
            worker_concurrency=per_worker,
            polling_interval_sec=POLL_S,
            on_conflict=conflict,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.destroy()

    def limit(self, at_once: int | None, per_worker: int | None) -> None:
        """Set how many jobs run at once, on all workers and in one; None keeps what is set."""
        with told():
            now = self._client.retrieve_queue(QUEUE)
            self._register(
                "always_update",
                now.global_concurrency if at_once is None else at_once,
                now.worker_concurrency if per_worker is None else per_worker,
            )

    def submit(self, job: Job) -> None:
        """Ask for an investigation; durable on return, and listed by `runs list` from then on."""
        name = f"{job.run_id}+{secrets.token_hex(4)}" if job.again else job.run_id
        options = {"queue_name": QUEUE, "workflow_name": WORKFLOW, "workflow_id": name}
        with told():
            self._client.enqueue(options, job.as_data())
        if not job.again:
            with closing(open_store()) as store:
                expect(store, job.run_id, job.question or job.path)

    def jobs(self, limit: int | None = None, *, open_only: bool = False) -> list[QueuedJob]:
        """Jobs, newest first."""
        status = list(_STATUS) if open_only else None
        with told():
            found = self._client.list_workflows(
                queue_name=QUEUE, sort_desc=True, limit=limit, status=status
            )
        return [_job(one) for one in found]


def _job(one: Any) -> QueuedJob:
    asked = _first(one.input)
    said: Mapping[str, Any] = one.output if isinstance(one.output, dict) else {}
    status = _STATUS.get(one.status) or str(said.get("status") or "failed")
    detail = said.get("detail") or (str(one.error) if one.error else "")
    if one.status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
        detail = "given up: every worker that had it died"
    return QueuedJob(
        run_id=str(asked.get("run_id") or one.workflow_id),
        status=status,
        submitted=(one.created_at or 0) / 1000,
        worker=one.executor_id or "",
        path=str(asked.get("path") or ""),
        detail=str(detail),
        tries=int(one.recovery_attempts or 0),
    )


def _first(given: Any) -> Mapping[str, Any]:
    args: Sequence[Any] = (given or {}).get("args") or ()
    return args[0] if args and isinstance(args[0], dict) else {}
