"""A person's answer to a question of a run: on record in the journal, once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from roundsman.errors import LeaseHeld, UsageError
from roundsman.guard.asking import INPUT, LIMIT, Question
from roundsman.guard.events import Answered, Asked
from roundsman.ledger.asking import OPTIONS, asked_in
from roundsman.ledger.run import LiveRun
from roundsman.ledger.stop import OVER
from roundsman.ledger.store import Store

PATIENCE_S = 10.0
"""How long an answer waits for somebody else who is writing to the run just now."""
MOST = 10**15
"""The most that is granted at once, of whatever is counted."""
_WHOLE = frozenset({"tokens", "steps", "actions", "max_rounds"})


def checked_grant(granted: Mapping[str, float]) -> dict[str, float]:
    """What is granted, by the name of each limit's rule.

    Raises:
        UsageError: a value that is no number above zero, too large, or no whole one where that is
            counted.
    """
    found: dict[str, float] = {}
    for limit, value in granted.items():
        name = OPTIONS.get(limit, limit)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or value != value or value <= 0:
            raise UsageError(f"--{name} {value} grants nothing; give a number above zero")
        if value > MOST:
            shown = f"{value:,}" if value < 10**30 else "of that size"
            raise UsageError(
                f"--{name} {shown} is more than can be granted ({MOST:,}); to go on without "
                f"the limit, resume with a policy that has none: --policy FILE --accept-change"
            )
        if limit in _WHOLE and value != int(value):
            raise UsageError(f"--{name} {value} is counted in whole ones; give such a number")
        found[limit] = int(value) if limit in _WHOLE else float(value)
    return found


def answer(
    store: Store,
    run_id: str,
    question: str | None,
    decision: str,
    *,
    by: str,
    note: str = "",
    granted: Mapping[str, float] | None = None,
    now: float | None = None,
) -> Answered:
    """Put an answer on record; of two who answer at once one is first, and the other is told.

    Args:
        question: its id; None: the only one this decision can answer.
        decision: `approve` or `deny` an action; `grant` more at a limit, or `finish` there.
        granted: by the name of each limit's rule: counts, dollars, seconds.
        now: seconds since the epoch.

    Raises:
        RunNotFound: there is none of that id.
        UsageError: no such question, answered already, expired, of another kind; the run is over.
        LeaseHeld: the run is under way in another process.
        JournalDamaged: its journal is not whole.
    """
    more = checked_grant(granted or {})
    until = time.monotonic() + PATIENCE_S
    while True:
        _refuse_over(store, run_id)
        try:
            with LiveRun.borrow(store, run_id) as run:
                at = time.time() if now is None else now
                said = _answer(run, question, decision, by, note, more, at)
                run.write(said)
                return said
        except LeaseHeld as held:
            if time.monotonic() > until:
                raise LeaseHeld(f"{held}; a run is answered when it waits") from None
            time.sleep(0.05)


def _refuse_over(store: Store, run_id: str) -> None:
    status = store.info(run_id).status
    if status in OVER:
        raise UsageError(f"run {run_id} is over ({status}); an answer would change nothing")


def _answer(
    run: LiveRun,
    given: str | None,
    decision: str,
    by: str,
    note: str,
    granted: dict[str, float],
    now: float,
) -> Answered:
    known = asked_in(run.store.records(run.run_id))
    question = _the_question(run, given, decision, known, now)
    held_for = question.expires - question.at if question.expires else 0.0
    if question.about == LIMIT and decision == "grant":
        missing = [OPTIONS.get(one, one) for one in question.limits if one not in granted]
        if missing:
            wanted = " and ".join(f"--{one} N" for one in missing)
            raise UsageError(
                f"{question.id} of run {run.run_id} is about {', '.join(missing)} "
                f"({question.reason}); give {wanted}, or --finish"
            )
    return Answered(
        at=now,
        id=question.id,
        decision=decision,
        by=by,
        note=note[:500],
        granted=granted,
        expires=now + held_for if decision == "approve" and held_for else 0.0,
    )


def _the_question(
    run: LiveRun,
    given: str | None,
    decision: str,
    known: Mapping[str, tuple[Asked, Answered | None]],
    now: float,
) -> Question:
    run_id, open_ = run.run_id, run.account.asks.open
    see = f"see: roundsman pending {run_id}"
    limit = decision in ("grant", "finish")
    if given is None:
        fitting = [q for q in open_.values() if q.about != INPUT and (q.about == LIMIT) == limit]
        if len(fitting) > 1:
            ids = ", ".join(q.id for q in fitting)
            raise UsageError(f"run {run_id} has {len(fitting)} such questions ({ids}); name one")
        if not fitting:
            raise UsageError(f"run {run_id} has no question to {decision}; {_last(known) or see}")
        question = fitting[0]
    elif given in open_:
        question = open_[given]
    elif given in known and known[given][1] is not None:
        raise UsageError(f"{_said(known[given][1])}; nothing was changed")
    elif given in known:
        raise UsageError(f"{given} of run {run_id} has expired or was dropped; {see}")
    else:
        there = ", ".join(open_) or "none"
        raise UsageError(f"run {run_id} has no question {given!r} (open: {there}); {see}")
    if (question.about == LIMIT) != limit:
        what = (
            "a limit: grant or finish" if question.about == LIMIT else "an action: approve or deny"
        )
        raise UsageError(f"{question.id} of run {run_id} is about {what} it, not {decision}")
    if question.about == INPUT:
        raise UsageError(f"{question.id} of run {run_id} asks for input; answer it in its session")
    if question.expires and now >= question.expires:
        raise UsageError(
            f"{question.id} of run {run_id} expired at {when(question.expires)}; to be asked anew: "
            f"roundsman resume {run_id}"
        )
    return question


def _last(known: Mapping[str, tuple[Asked, Answered | None]]) -> str:
    said = [answered for _, answered in known.values() if answered is not None]
    return _said(max(said, key=lambda one: one.at)) if said else ""


def _said(answered: Answered | None) -> str:
    assert answered is not None
    return (
        f"{answered.id} was answered by {answered.by or 'a person'} at {when(answered.at)}: "
        f"{answered.decision or 'answered'}"
    )


def when(at: float) -> str:
    """A time as people read it."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(at))


def as_data(run_id: str, asked: Asked, answered: Answered | None = None) -> dict[str, Any]:
    """A question as `--json` gives it."""
    row: dict[str, Any] = {
        "run_id": run_id,
        "question": asked.id,
        "about": asked.about,
        "reason": asked.reason,
        "asked_at": when(asked.at),
        "expires_at": when(asked.expires) if asked.expires else None,
        "agent": asked.agent,
    }
    if asked.about == LIMIT:
        row |= {"limits": [OPTIONS.get(one, one) for one in asked.limits], "numbers": asked.numbers}
    else:
        row |= {"action": asked.subject_id, "tool": asked.tool, "args": asked.args}
        row["digest"] = asked.digest
    if answered is not None:
        row["answer"] = {
            "decision": answered.decision,
            "by": answered.by,
            "at": when(answered.at),
            "note": answered.note,
            "granted": {OPTIONS.get(k, k): v for k, v in answered.granted.items()},
        }
    return row
