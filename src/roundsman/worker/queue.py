"""The queue as whoever asks for an investigation sees it: submit, and look at what there is."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from roundsman.errors import LedgerError, MissingDependency
from roundsman.ledger import default_home, open_store
from roundsman.ledger.expected import expect
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


def system_url() -> str:
    """Where DBOS keeps the queue: beside the journal, in the same database or folder. It holds a
    password where there is one: never for a text."""
    need()
    import sqlalchemy

    url = os.environ.get("ROUNDSMAN_DB", "").strip()
    if not url:
        home = default_home()
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = home / "queue.sqlite"
        with suppress(FileExistsError):
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        made = sqlalchemy.URL.create("sqlite", database=str(file))
        return str(made.render_as_string(hide_password=False))
    from roundsman.ledger.postgres_url import address_of

    given: dict[str, Any] = dict(address_of(url).parameters)
    parts = {
        "username": given.pop("user", None),
        "password": given.pop("password", None),
        "host": given.pop("host", None),
        "port": int(given.pop("port", 0)) or None,
        "database": given.pop("dbname", None) or "postgres",
    }
    made = sqlalchemy.URL.create("postgresql+psycopg", **parts, query=given)
    return str(made.render_as_string(hide_password=False))


def need() -> Any:
    """DBOS, quiet.

    Raises:
        MissingDependency: it is not installed.
    """
    import logging

    try:
        import dbos
    except ImportError as error:
        raise MissingDependency("workers need a queue; pip install 'roundsman[worker]'") from error
    logging.getLogger("dbos").setLevel(logging.CRITICAL)  # its errors are told by whoever calls it
    return dbos


@contextmanager
def told() -> Iterator[None]:
    """Errors of the queue's database as one line of ours.

    Raises:
        LedgerError: it cannot be used.
    """
    dbos = need()
    import sqlalchemy.exc

    try:
        yield
    except (sqlalchemy.exc.SQLAlchemyError, dbos.error.DBOSException, OSError) as error:
        raise LedgerError(f"the queue cannot be used: {_explain(error)}") from None


def _explain(error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    url = os.environ.get("ROUNDSMAN_DB", "").strip()
    if url:
        from roundsman.ledger.postgres_url import address_of

        return address_of(url).explain(cause)
    text = " ".join(str(cause).split())[:300]
    return f"{text}; set ROUNDSMAN_HOME to a folder that can be written and has room"


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
