"""Stuck or busy: the reference's rule, the signals one by one, and the levels between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from roundsman.guard import Account, Kind, Placed, Verdict, apply, decide
from roundsman.guard import events as ev
from roundsman.guard.gist import gist
from roundsman.guard.prints import call_prints, result_prints
from roundsman.guard.rules.repetition import OnlyTalk, SimpleRepetition, Stuck
from roundsman.guard.stuck import SIGNALS
from roundsman.policy.model import SIGNALS as NAMES

ALL = frozenset(NAMES)


def ours(*signals: str, poll: float = 60.0) -> list[Placed]:
    chosen = frozenset(signals) or ALL
    return [Placed(Stuck(chosen, 2.0, 3.0, 4.0, poll)), Placed(OnlyTalk(chosen))]


def simple(window: int = 5, limit: int = 3) -> list[Placed]:
    return [Placed(SimpleRepetition(window, limit))]


class Tape:
    """A run at the level of records: decide, apply, and what the verdicts were."""

    def __init__(self, rules: Sequence[Placed], **effects: str) -> None:
        self.rules, self.effects, self.account = rules, effects, Account()
        self.said: list[str] = []
        self.now = 100.0
        self.number = 0

    def call(self, tool: str, result: Any = "ok", status: str = "ok", **args: Any) -> str:
        """What became of one call: allow, refuse, cut or stop; `warned` when told so after it."""
        begun = self.ask(tool, **args)
        if begun is not None:
            self.answer(begun, result, status)
        return self.said[-1]

    def ask(self, tool: str, **args: Any) -> ev.ActionBegins | None:
        self.number += 1
        effect = self.effects.get(tool)
        event = ev.ActionBegins(
            at=self.now, id=f"a{self.number}", tool=tool, args=args, effect=effect or "write",
            **call_prints(tool, args, effect),
        )  # fmt: skip
        verdict = decide(self.rules, self.account, event).verdict
        self.said.append(verdict.kind.name.lower())
        if verdict.kind > Kind.AMEND:
            self.rule(verdict, event)
            return None
        self.account = apply(self.account, event)
        return event

    def answer(self, begun: ev.ActionBegins, result: Any, status: str = "ok") -> None:
        event = ev.ActionEnds(
            at=self.now, id=begun.id, tool=begun.tool, status=status, call=begun.call,
            effect=begun.effect, **result_prints(result, status),
        )  # fmt: skip
        verdict = decide(self.rules, self.account, event).verdict
        self.account = apply(self.account, event)
        if verdict.kind is Kind.AMEND:
            self.said[-1] = "warned"
            self.rule(verdict, event)

    def rule(self, verdict: Verdict, event: ev.Event) -> None:
        ruled = ev.Ruled(
            at=self.now, verdict=verdict.kind.name.lower(), rule=verdict.rule, layer=verdict.layer,
            stop=verdict.stop, subject=getattr(event, "tool", ""), numbers=verdict.numbers,
        )  # fmt: skip
        self.account = apply(self.account, ruled)

    def reply(self, text: str, calls: int = 0) -> str:
        step = ev.StepBegins(at=self.now, id="s")
        verdict = decide(self.rules, self.account, step).verdict
        self.account = apply(self.account, step)
        said = ev.StepEnds(at=self.now, id="s", calls=calls, said=gist(text))
        self.account = apply(self.account, said)
        return verdict.kind.name.lower()


def through(tape: Tape, calls: Iterable[tuple[str, dict[str, Any], Any]]) -> list[str]:
    return [tape.call(tool, result, **args) for tool, args, result in calls]


def test_policy_and_guard_know_the_same_signals() -> None:
    assert {s.name for s in SIGNALS} | {"poll", "narration", "blank"} == set(NAMES)


# The reference's rule


def test_simple_does_not_run_the_third_identical_call_and_never_ends_the_run() -> None:
    tape = Tape(simple())
    assert [tape.call("look", f"news {n}", at=1) for n in range(6)] == ["allow"] * 2 + [
        "refuse"
    ] * 4
    assert tape.call("look", at=2) == "allow"


@pytest.mark.parametrize(("between", "verdict"), [(3, "refuse"), (4, "allow")])
def test_simple_remembers_the_last_five_calls(between: int, verdict: str) -> None:
    tape = Tape(simple())
    tape.call("look", at=1)
    for n in range(between):
        tape.call("look", at=10 + n)
    tape.call("look", at=1)
    assert tape.call("look", at=1) == verdict


def test_simple_takes_argument_order_for_nothing_and_types_for_something() -> None:
    tape = Tape(simple())
    tape.call("look", a=1, b=2)
    tape.call("look", b=2, a=1)
    assert tape.call("look", a=1, b=2) == "refuse"
    assert tape.call("look", a="1", b=2) == "allow"


def test_simple_counts_calls_that_have_not_come_back_yet() -> None:
    tape = Tape(simple())
    for _ in range(3):
        tape.ask("look", at=1)
    assert tape.said == ["allow", "allow", "refuse"]


# The default: levels


def test_first_a_warning_then_withheld_then_the_end() -> None:
    tape = Tape(ours())
    assert [tape.call("look", "same", at=1) for _ in range(6)] == [
        "allow", "allow", "warned", "refuse", "stop", "stop",
    ]  # fmt: skip
    assert tape.account.stopped is not None
    assert tape.account.stopped.reason == "repetition"


def test_in_a_round_the_first_end_cuts_the_round_and_the_second_stops_the_run() -> None:
    tape = Tape(ours())
    ends = []
    for index in (1, 2):
        tape.account = apply(tape.account, ev.RoundBegins(at=tape.now, index=index))
        ends.append([tape.call("look", "same", at=1) for _ in range(5)][-1])
    assert ends == ["cut", "stop"]


def test_a_new_round_may_ask_what_an_earlier_one_asked() -> None:
    tape = Tape(ours())
    for index in range(1, 7):
        tape.account = apply(tape.account, ev.RoundBegins(at=tape.now, index=index))
        assert through(tape, [("look", {"at": n}, f"r{n}") for n in (1, 2, 3)]) == ["allow"] * 3


def test_a_call_unlike_all_before_is_not_withheld_while_the_run_goes_on() -> None:
    tape = Tape(ours())
    assert [tape.call("look", "same", at=1) for _ in range(4)][-1] == "refuse"
    assert tape.call("search", "hit", words="somewhere else") == "allow"


def test_news_takes_the_evidence_away() -> None:
    tape = Tape(ours())
    for n in range(40):
        tape.call("status", "unchanged")
        assert tape.call("page", f"text of page {n} {'abc' * n}", n=n) == "allow"
    assert set(tape.said) <= {"allow", "warned"}
