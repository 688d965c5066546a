"""Recorded runs through the rules: the very `decide` and `apply` a live run uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.trajectories import Event, Run
from roundsman.guard import Account, Kind, Placed, Verdict, apply, decide
from roundsman.guard import events as ev
from roundsman.guard.gist import gist
from roundsman.guard.prints import call_prints, result_prints
from roundsman.guard.stuck.narration import announces

CUT_AT = 1_500
"""Texts of the recordings are cut here; beyond it only the hash of the whole result tells."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run as events of the guard, prints made once for all rules that look at it."""

    run: Run
    events: tuple[ev.Event, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """Numbers (from 1) of the first call after a warning, of the first that did not run, and of
    the first that did not run because the run was stopped; 0 for never."""

    warned: int = 0
    withheld: int = 0
    stopped: int = 0


def prepare(run: Run, effects: Mapping[str, str]) -> Prepared:
    """The events a live run would have written, a second apart (recordings have no clock)."""
    made: list[ev.Event] = [ev.RunBegins(at=1.0)]
    begins: dict[int, ev.ActionBegins] = {}
    for place, row in enumerate(run.events):
        at = 2.0 + place
        before = run.events[place - 1].kind if place else ""
        if row.kind == "call":
            if before not in ("call", "reply"):  # a model call nobody wrote down
                made.append(ev.StepBegins(at=at, id=f"s{place}"))
            begins[row.call] = _begins(row, effects, at)
            made.append(begins[row.call])
        elif row.kind == "result":
            made.append(_ends(row, begins[row.call], at))
        elif row.kind == "reply":
            acts = place + 1 < len(run.events) and run.events[place + 1].kind == "call"
            sid = f"s{place}"
            made.append(ev.StepBegins(at=at, id=sid, agent=row.name))
            made.append(
                ev.StepEnds(
                    at=at,
                    id=sid,
                    agent=row.name,
                    calls=int(acts),
                    said=gist(row.text),
                    announces=announces(row.text),
                )
            )
        elif place:
            made.append(ev.UserTurn(at=at))
    return Prepared(run, tuple(made))


def _begins(row: Event, effects: Mapping[str, str], at: float) -> ev.ActionBegins:
    args: Mapping[str, Any] = row.args if isinstance(row.args, dict) else {"input": row.args}
    effect = effects.get(row.name)
    prints = call_prints(row.name, args, effect)
    return ev.ActionBegins(
        at=at, id=f"a{row.call}", tool=row.name, args=args, effect=effect or "write", **prints
    )


def _ends(row: Event, begun: ev.ActionBegins, at: float) -> ev.ActionEnds:
    whole = row.text if len(row.text) < CUT_AT else f"{row.text}\n{row.sha}"
    status = "error" if row.failed else "ok" if row.text.strip() else "empty"
    return ev.ActionEnds(
        at=at,
        id=begun.id,
        tool=begun.tool,
        status=status,
        call=begun.call,
        effect=begun.effect,
        **result_prints(whole, status),
    )


def replay(prepared: Prepared, rules: Sequence[Placed], in_round: bool = False) -> Seen:
    """Judge each event and record what was let through, in a live run's order; a call that was
    not let through has no result. Ends at the first stop. `in_round`: the run is the first round of
    a loop, which holds no finding yet."""
    account, left_out = Account(), set[str]()
    if in_round:
        account = apply(account, ev.RoundBegins(at=1.0, index=1))
    warned = withheld = number = 0
    for event in prepared.events:
        is_call = isinstance(event, ev.ActionBegins)
        number += is_call
        if isinstance(event, ev.ActionEnds) and event.id in left_out:
            continue
        judged = decide(rules, account, event)
        verdict = judged.verdict
        if isinstance(event, ev.ActionEnds):
            account = apply(account, event)
        account = _note(account, verdict, event)
        if verdict.kind >= Kind.CUT:
            first = number if is_call else number + 1
            return Seen(warned, withheld or first, first)
        if verdict.kind is Kind.REFUSE:
            withheld = withheld or number
            left_out.add(getattr(event, "id", ""))
            continue
        if verdict.kind is Kind.AMEND:
            warned = warned or number + 1
        if not isinstance(event, ev.ActionEnds):
            account = apply(account, event)
    return Seen(warned, withheld, 0)


def _note(account: Account, verdict: Verdict, event: ev.Event) -> Account:
    if verdict.kind is Kind.ALLOW:
        return account
    return apply(
        account,
        ev.Ruled(
            at=event.at,
            verdict=verdict.kind.name.lower(),
            rule=verdict.rule,
            layer=verdict.layer,
            reason=verdict.reason,
            stop=verdict.stop,
            subject=getattr(event, "tool", ""),
            subject_id=getattr(event, "id", ""),
            numbers=verdict.numbers,
        ),
    )
