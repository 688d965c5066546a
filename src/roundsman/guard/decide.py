"""Judge an event: every rule looks, nothing changes, the strictest verdict wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from roundsman.guard import events as ev
from roundsman.guard.account import Account
from roundsman.guard.verdicts import ALLOW, Kind, Verdict


class Rule(Protocol):
    """One rule: a small class in one file. It looks at the event kinds in `watches` and answers
    None when it has nothing to say. It must not change or read anything but its arguments."""

    @property
    def name(self) -> str: ...
    @property
    def layer(self) -> str: ...
    @property
    def watches(self) -> frozenset[str]: ...

    def judge(self, account: Account, event: ev.Event) -> Verdict | None: ...


@dataclass(frozen=True, slots=True)
class Placed:
    """A rule as the policy places it: mode is `shadow` (recorded, not applied) or `enforce`. Where it
    `asks`, a person is asked for more at its limit, until one says to finish."""

    rule: Rule
    mode: str = "enforce"
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict that holds, and every non-Allow verdict with whether it was applied."""

    verdict: Verdict
    said: tuple[tuple[Verdict, bool], ...] = ()


_ALLOWED = Judgement(ALLOW)
_PROPOSALS = frozenset({"round_begins", "step_begins", "action_begins", "agent_enters"})
_WAITING = _PROPOSALS - {"agent_enters"}
WAITS = "waits"
"""The rule that is named where something waits behind a question that is open already."""


def decide(rules: Sequence[Placed], account: Account, event: ev.Event) -> Judgement:
    """Judge `event` against `account`.

    A stopped account stops every proposal; after a cut action no step follows in its round. A rule
    that raises refuses, and says so. Amendments compose (each rule sees the event as the rules
    before it left it) and an amended event is judged once more, so that no amendment slips past a
    rule that came earlier.
    """
    if event.kind in _PROPOSALS and (judged := _already(account, event)) is not None:
        return judged
    verdict, said, current, amender = _pass(rules, account, event)
    if current is not event and verdict.kind <= Kind.AMEND:
        # those behind the last that amended have seen the event as it is now
        again, more, last, _ = _pass(rules[: amender + 1], account, current)
        if last is not current:
            again, more, last, _ = _pass(rules, account, current)
        said += [m for m in more if m[0].kind > Kind.AMEND or m[0].event is not None]
        current = last
        if again.kind > Kind.AMEND:
            verdict = again
    if not said:
        return _ALLOWED
    if verdict.kind <= Kind.AMEND and current is not event:
        amends = [v for v, on in said if on and v.kind is Kind.AMEND]
        verdict = replace(
            amends[-1],
            event=current,
            changes=tuple(c for v in amends for c in v.changes),
        )
    said = _once(said)
    # one reason stops: of two that would, the first is applied and the other only recorded
    return Judgement(
        verdict, tuple((v, on and (v.kind < Kind.STOP or v is verdict)) for v, on in said)
    )


def _once(said: list[tuple[Verdict, bool]]) -> list[tuple[Verdict, bool]]:
    """Without a cut for the very reason of an earlier one: the length of a reply is a matter of tokens and
    of dollars."""
    seen: set[str] = set()
    kept = list[tuple[Verdict, bool]]()
    for verdict, on in said:
        if on and verdict.kind is Kind.CUT:
            if verdict.reason in seen:
                continue
            seen.add(verdict.reason)
        kept.append((verdict, on))
    return kept


def _already(account: Account, event: ev.Event) -> Judgement | None:
    """What is known of a proposal before any rule looks."""
    if account.stopped is not None:
        s = account.stopped
        v = Verdict(Kind.STOP, s.rule, s.layer, s.detail or "the run was stopped", s.reason)
        return Judgement(v)
    if isinstance(event, ev.RoundBegins) and (ended := account.loop(event.loop).ended) is not None:
        v = Verdict(Kind.STOP, ended.rule, ended.layer, ended.detail, ended.reason)
        return Judgement(v)
    if isinstance(event, ev.StepBegins) and (c := account.loop(event.loop).cut) is not None:
        # the model was told to answer; asking it once more is how a cut would never end anything
        return Judgement(Verdict(Kind.CUT, c.rule, c.layer, c.detail, c.reason))
    return behind_a_question(account, event) if account.asks.open else None


def ask_instead(account: Account, verdict: Verdict) -> Verdict:
    """Ask a person where a limit would end something; what is no limit ends it all the same."""
    at_a_limit = verdict.kind in (Kind.CUT, Kind.STOP) and "limit" in verdict.numbers
    if not at_a_limit or account.asks.finish:
        return verdict
    return replace(verdict, kind=Kind.ASK)


def behind_a_question(account: Account, event: ev.Event) -> Judgement | None:
    """While a person decides nothing new begins but reads the model has asked for already: no later
    write overtakes the one that is asked about."""
    question = account.asks.blocking
    if question is None or event.kind not in _WAITING:
        return None
    if isinstance(event, ev.ActionBegins) and event.effect in ("read", "poll"):
        return None
    verdict = Verdict(Kind.ASK, WAITS, "loop", f"waits for a person's answer to {question.id}")
    # an action is on record, so that it is known when the run is taken up again
    said = ((verdict, True),) if isinstance(event, ev.ActionBegins) else ()
    return Judgement(verdict, said)


def _pass(
    rules: Sequence[Placed], account: Account, event: ev.Event
) -> tuple[Verdict, list[tuple[Verdict, bool]], ev.Event, int]:
    """(strictest verdict, all that were said, the event as it is now, which rule amended it last)."""
    worst, said, current, amender, kind = ALLOW, [], event, -1, event.kind
    for number, placed in enumerate(rules):
        if kind not in placed.rule.watches:
            continue
        try:
            verdict = placed.rule.judge(account, current)
        except (
            Exception
        ) as error:  # a rule is a user's code too: it fails closed, whatever it raises
            verdict = Verdict(
                Kind.REFUSE,
                placed.rule.name,
                placed.rule.layer,
                f"the rule raised {type(error).__name__}: {error}",
            )
        if verdict is None or verdict.kind is Kind.ALLOW:
            continue
        if placed.asks and kind in _PROPOSALS:
            verdict = ask_instead(account, verdict)
        applied = placed.mode == "enforce"
        said.append((verdict, applied))
        if not applied:
            continue
        if verdict.kind is Kind.AMEND and verdict.event is not None:
            current, amender = verdict.event, number
        if verdict.kind > worst.kind:
            worst = verdict
    return worst, said, current, amender
