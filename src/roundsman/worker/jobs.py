"""What one job does: an investigation, from wherever it is to its end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from threading import Event
from typing import Any

from roundsman.errors import (
    Divergence,
    JournalDamaged,
    LeaseHeld,
    LedgerError,
    RoundsmanError,
    RunNotFound,
    SetupChanged,
    WaitsForPerson,
)
from roundsman.ledger import Store, fold, open_store
from roundsman.ledger.expected import never_began
from roundsman.ledger.stop import OVER
from roundsman.policy import Policy, load_policy
from roundsman.worker.daylimit import admit, settle

FINAL = (Divergence, JournalDamaged, SetupChanged)
"""Errors of the journal that trying again does not heal."""
PAUSE_S = 2.0
BROKEN_OFF = 5
"""How often a run whose journal went out of reach is taken up again by one worker."""


@dataclass(frozen=True)
class Job:
    """One investigation that is asked for. Paths are absolute: any worker may get it.

    `again`: the run exists and is to be gone on with. `request` is what is asked of which sources
    (`Request.to_setup`), by default the folder `path`; `endpoint` the model's own server. Neither
    holds a secret: headers name variables, which each worker has in its environment.
    """

    run_id: str
    path: str = ""
    question: str | None = None
    model: str = "analyst"
    policy: str = "default"
    again: bool = False
    request: dict[str, Any] | None = None
    endpoint: dict[str, Any] | None = None

    def as_data(self) -> dict[str, Any]:
        """For the queue."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Left(BaseException):
    """The worker stops: the job stays as it is, for another worker. No Exception, so that neither
    the engine nor the queue takes it for an outcome of the job."""


def carry(job: Job, stopping: Event, say: Callable[[str], None]) -> dict[str, Any]:
    """Take the job to its end; `{run_id, status, detail}`.

    Status: `done` or `stopped` as the run is, `waiting` when a person has to decide first, `failed`
    when it could not begin or go on, and why.

    Raises:
        Left: the worker stops, and the run has not begun or is held by somebody else.
    """
    broken_off = 0
    held = False
    while True:
        opened = False
        try:
            with contextlib.closing(open_store()) as store:
                opened = True
                found = _once(job, store)
            if found is not None:
                return found
            why = "the day's tokens are spent or reserved"
        except WaitsForPerson as error:
            return _result(job, "waiting", str(error))
        except FINAL as error:
            return _failed(job, error)
        except LedgerError as error:  # held by another process, or out of reach
            broken_off += opened and not isinstance(error, LeaseHeld)
            if broken_off > BROKEN_OFF:
                return _failed(job, error)
            why = str(error)
        except RoundsmanError as error:
            return _failed(job, error)
        if not held:
            say(f"waits {job.run_id} {why}")
            held = True
        if stopping.wait(PAUSE_S):
            raise Left


def _once(job: Job, store: Store) -> dict[str, Any] | None:
    """One try; None: the day's tokens do not allow it now."""
    from roundsman.investigate.endpoint import Endpoint
    from roundsman.investigate.request import Request
    from roundsman.investigate.resume import recorded_policy, resume
    from roundsman.investigate.run import investigate

    begun = _begun(store, job.run_id)
    if begun:
        policy = recorded_policy(store, job.run_id, None)
    elif job.again:
        raise RunNotFound(f"no run {job.run_id!r} to go on with; see: roundsman runs list")
    else:
        policy = load_policy(job.policy)
    if not admit(store, job.run_id, _most(store, job.run_id, policy, begun)):
        return None
    if begun:
        report, _ = resume(job.run_id, store)
    else:
        asked = Request.from_setup(job.request or {"path": job.path})
        report, _ = investigate(
            asked,
            policy,
            question=job.question,
            model=job.model,
            store=store,
            policy_source=job.policy,
            run_id=job.run_id,
            endpoint=Endpoint.from_setup(job.endpoint, asked.sources.headers),
        )
    info = store.info(job.run_id)
    if info.status in OVER:
        settle(store, job.run_id, int(info.usage.get("tokens", 0)))
        return _result(job, info.status, _said(report))
    if info.status == "waiting":
        return _result(job, "waiting", str(report["stop"].get("detail", "")))
    raise LedgerError(str(report["stop"].get("detail") or f"run {job.run_id} was broken off"))


def _most(store: Store, run_id: str, policy: Policy, begun: bool) -> int | None:
    """Tokens the run may spend in all, with what a person has granted."""
    if policy.run.tokens is None or not begun:
        return policy.run.tokens
    return policy.run.tokens + int(fold(store.records(run_id)).asks.more("tokens"))


def _failed(job: Job, error: RoundsmanError) -> dict[str, Any]:
    """What was reserved for it is free again, but for what it had spent."""
    with contextlib.suppress(RoundsmanError), contextlib.closing(open_store()) as store:
        begun = _begun(store, job.run_id)
        usage = store.info(job.run_id).usage if begun else {}
        if not begun:
            never_began(store, job.run_id, str(error))
        settle(store, job.run_id, int(usage.get("tokens", 0)))
    return _result(job, "failed", str(error))


def _begun(store: Store, run_id: str) -> bool:
    return run_id in store.ids()


def _said(report: dict[str, Any]) -> str:
    cause = report.get("cause") or {}
    if cause.get("abstained", True):
        return f"no cause found ({report['stop']['reason']})"
    return str(cause.get("statement") or cause.get("because") or cause.get("service") or "")[:160]


def _result(job: Job, status: str, detail: str) -> dict[str, Any]:
    return {"run_id": job.run_id, "status": status, "detail": detail}
