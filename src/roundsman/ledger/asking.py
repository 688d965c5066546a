"""Putting questions into the journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from roundsman.guard import Account, Judgement, Kind, Verdict
from roundsman.guard import events as ev
from roundsman.guard.asking import ACTION, ENGINE, INPUT, LIMIT, Question, exact_digest
from roundsman.guard.decide import WAITS
from roundsman.ledger.fold import event_of
from roundsman.ledger.records import Record

COMMANDS = {
    LIMIT: "roundsman grant {run} {id} --{limit} N, or --finish",
    ACTION: "roundsman approve {run} {id}, or roundsman deny {run} {id}",
    ENGINE: "roundsman approve {run} {id}, or deny, or answer it in its session",
    INPUT: "answer it in its session",
}
OPTIONS = {"max_rounds": "rounds", "wall_clock": "time"}
"""What a limit is called on the command line, where that is not the name of its rule."""


def questions(judged: Judgement, event: ev.Event, account: Account, number: int) -> list[ev.Asked]:
    """The questions a verdict raises, numbered from `number`; none that is open already."""
    asks = [v for v, on in judged.said if on and v.kind is Kind.ASK and v.rule != WAITS]
    known = account.asks.open.values()
    open_limits = {limit for q in known for limit in q.limits}
    found = list[ev.Asked]()
    at = event.at
    loop, agent = getattr(event, "loop", ""), getattr(event, "agent", "")
    about_limits = [v for v in asks if not isinstance(v.event, ev.ActionBegins)]
    limits = [v for v in about_limits if v.rule not in open_limits]
    if limits:
        found.append(
            ev.Asked(
                at=at,
                about=LIMIT,
                subject_id=getattr(event, "id", ""),
                agent=agent,
                loop=loop,
                limits=tuple(v.rule for v in limits),
                rule=limits[0].rule,
                reason="; ".join(v.reason for v in limits),
                numbers={v.rule: dict(v.numbers) for v in limits},
            )
        )
    for verdict in asks:
        action = verdict.event
        if not isinstance(action, ev.ActionBegins):
            continue
        digest = exact_digest(action.tool, action.args)
        digests = {q.digest for q in known} | {q.digest for q in found}
        if digest in digests:  # two rules may ask for one call
            continue
        expires = float(verdict.numbers.get("expires_s") or 0)
        found.append(
            ev.Asked(
                at=at,
                about=ACTION,
                subject_id=action.id,
                agent=agent,
                loop=loop,
                tool=action.tool,
                args=dict(action.args),
                digest=digest,
                rule=verdict.rule,
                reason=verdict.reason,
                expires=at + expires if expires else 0.0,
            )
        )
    return [_numbered(one, number + n) for n, one in enumerate(found)]


NOBODY_WAITS = "; nobody can be waited for here"
"""What is added to the reason where a question became a refusal."""


def unasked(judged: Judgement) -> Judgement:
    """The judgement where no person can be waited for: what would be asked is refused."""

    def one(verdict: Verdict) -> Verdict:
        if verdict.kind is not Kind.ASK:
            return verdict
        return replace(verdict, kind=Kind.REFUSE, reason=verdict.reason + NOBODY_WAITS, event=None)

    said = tuple((one(v), on) for v, on in judged.said)
    return Judgement(one(judged.verdict), said)


def _numbered(asked: ev.Asked, number: int) -> ev.Asked:
    return replace(asked, id=f"q{number}")


def open_questions(account: Account, at: float) -> list[Question]:
    """Questions a person has to answer before the run goes on in another process; what has expired,
    and what the engine wants to know, is asked anew."""
    found = account.asks.open.values()
    return [q for q in found if q.about != INPUT and (not q.expires or at < q.expires)]


def told(run_id: str, found: Sequence[Question]) -> str:
    """One line: what is asked, and how to answer."""
    ways = [f"{q.id}: {q.reason} ({how_to_answer(run_id, q)})" for q in found[:3]]
    return f"run {run_id} waits for a person: {'; '.join(ways)}"


def how_to_answer(run_id: str, question: Question) -> str:
    """The command that answers a question."""
    limit = question.limits[0] if question.limits else ""
    return COMMANDS[question.about].format(
        run=run_id, id=question.id, limit=OPTIONS.get(limit, limit)
    )


def asked_in(records: Sequence[Record]) -> dict[str, tuple[ev.Asked, ev.Answered | None]]:
    """Every question of a journal by its id, with its answer if there is one."""
    found: dict[str, tuple[ev.Asked, ev.Answered | None]] = {}
    for record in records:
        if record.kind not in (ev.Asked.kind, ev.Answered.kind):
            continue
        event = event_of(record)
        if isinstance(event, ev.Asked):
            found[event.id] = (event, None)
        elif isinstance(event, ev.Answered) and event.id in found:
            found[event.id] = (found[event.id][0], event)
    return found
