"""How verdicts of several rules become one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from roundsman.guard import Account, Kind, Placed, Verdict, decide
from roundsman.guard import events as ev
from roundsman.guard.account import Stopped
from roundsman.guard.rules.arguments import Bound, Clamp

ACTION = ev.ActionBegins(at=1.0, id="a1", tool="dig", effect="read", args={"depth": 90})


@dataclass(frozen=True)
class Says:
    kind: Kind
    name: ClassVar[str] = "says"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = frozenset({"action_begins"})

    def judge(self, account: Account, event: ev.Event) -> Verdict | None:
        return Verdict(self.kind, self.name, self.layer, "because")


class Breaks:
    name: ClassVar[str] = "breaks"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = frozenset({"action_begins"})

    def judge(self, account: Account, event: ev.Event) -> Verdict | None:
        raise ZeroDivisionError("oops")


class RefusesDeep:
    """Refuses what a clamp after it would have brought in range, and what is left too deep."""

    name: ClassVar[str] = "deep"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = frozenset({"action_begins"})

    def judge(self, account: Account, event: ev.Event) -> Verdict | None:
        assert isinstance(event, ev.ActionBegins)
        deep = event.args["depth"] == 50
        return Verdict(Kind.REFUSE, self.name, self.layer, "exactly 50") if deep else None


def clamp(most: int) -> Clamp:
    return Clamp({"dig": {"depth": Bound(max=most)}})


@pytest.mark.parametrize("strict", [Kind.REFUSE, Kind.CUT, Kind.STOP])
@pytest.mark.parametrize("first", [True, False])
def test_the_strictest_wins(strict: Kind, first: bool) -> None:
    rules = [Placed(Says(strict)), Placed(Says(Kind.ASK))]
    judged = decide(rules if first else rules[::-1], Account(), ACTION)
    assert judged.verdict.kind is strict
    assert len(judged.said) == 2


def test_a_rule_that_raises_refuses_and_says_so() -> None:
    verdict = decide([Placed(Breaks())], Account(), ACTION).verdict
    assert verdict.kind is Kind.REFUSE
    assert verdict.reason == "the rule raised ZeroDivisionError: oops"


@pytest.mark.parametrize(
    "rule", [Breaks(), *map(Says, (Kind.REFUSE, Kind.CUT, Kind.STOP)), clamp(60)]
)
def test_a_shadow_rule_changes_nothing(rule: object) -> None:
    judged = decide([Placed(rule, "shadow")], Account(), ACTION)  # type: ignore[arg-type]
    assert judged.verdict.kind is Kind.ALLOW
    assert judged.verdict.event is None
    assert [on for _, on in judged.said] == [False]


@pytest.mark.parametrize("limits", [(60, 40), (40, 60)])
def test_amended_twice_the_tightest_holds(limits: tuple[int, int]) -> None:
    verdict = decide([Placed(clamp(m)) for m in limits], Account(), ACTION).verdict
    assert verdict.kind is Kind.AMEND
    assert isinstance(verdict.event, ev.ActionBegins)
    assert verdict.event.args == {"depth": 40}
    assert verdict.changes[0]["from"] == 90
    assert verdict.changes[-1]["to"] == 40


def test_an_amended_event_is_judged_once_more_by_the_rules_before() -> None:
    rules = [Placed(RefusesDeep()), Placed(clamp(50))]
    assert decide(rules, Account(), ACTION).verdict.kind is Kind.REFUSE
    other = replace(ACTION, args={"depth": 49})
    assert decide(rules, Account(), other).verdict.kind is Kind.ALLOW


@pytest.mark.parametrize(
    "event", [ACTION, ev.StepBegins(), ev.RoundBegins(), ev.AgentEnters(agent="alpha")]
)
def test_a_stopped_account_stops_every_proposal(event: ev.Event) -> None:
    verdict = decide([], Account(stopped=Stopped("tokens", "tokens", "model")), event).verdict
    assert (verdict.kind, verdict.stop) == (Kind.STOP, "tokens")
