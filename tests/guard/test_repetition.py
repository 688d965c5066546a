"""Stuck or busy: the reference's rule, the signals one by one, and the levels between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.guard import Account, Kind, Placed, Verdict, apply, decide
from roundsman.guard import events as ev
from roundsman.guard.gist import gist
from roundsman.guard.prints import call_prints, result_prints
from roundsman.guard.rules.repetition import OnlyTalk, SimpleRepetition, Stuck
from roundsman.guard.stuck import SIGNALS
from roundsman.guard.stuck.narration import announces
from roundsman.policy.model import SIGNALS as NAMES

ALL = frozenset(NAMES)


def ours(*signals: str, poll: float = 60.0) -> list[Placed]:
    chosen = frozenset(signals) or ALL
    return [Placed(Stuck(chosen, 1.0, 2.0, 3.0, poll)), Placed(OnlyTalk(chosen))]


def simple(window: int = 5, limit: int = 3) -> list[Placed]:
    return [Placed(SimpleRepetition(window, limit))]


class Tape:
    """A run at the level of records: decide, apply, and what the verdicts were."""

    def __init__(self, rules: Sequence[Placed], **effects: str) -> None:
        self.rules, self.effects, self.account = rules, effects, Account()
        self.said: list[str] = []
        self.now = 100.0
        self.number = 0
        self.why = ""

    def call(
        self, tool: str, result: Any = "ok", status: str = "ok", agent: str = "", **args: Any
    ) -> str:
        """What became of one call: allow, refuse, cut or stop; `warned` when told so after it."""
        begun = self.ask(tool, agent=agent, **args)
        if begun is not None:
            self.answer(begun, result, status)
        return self.said[-1]

    def ask(
        self, tool: str, step: bool = True, agent: str = "", **args: Any
    ) -> ev.ActionBegins | None:
        self.number += 1
        if step:
            self.account = apply(self.account, ev.StepBegins(at=self.now, id="s"))
        effect = self.effects.get(tool)
        event = ev.ActionBegins(
            at=self.now, id=f"a{self.number}", tool=tool, args=args, effect=effect or "write",
            agent=agent, **call_prints(tool, args, effect),
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
        self.why = verdict.reason
        ruled = ev.Ruled(
            at=self.now, verdict=verdict.kind.name.lower(), rule=verdict.rule, layer=verdict.layer,
            stop=verdict.stop, subject=getattr(event, "tool", ""), numbers=verdict.numbers,
            call=getattr(event, "call", ""),
        )  # fmt: skip
        self.account = apply(self.account, ruled)

    def reply(self, text: str, calls: int = 0) -> str:
        step = ev.StepBegins(at=self.now, id="s")
        verdict = decide(self.rules, self.account, step).verdict
        if verdict.kind > Kind.AMEND:
            return verdict.kind.name.lower()
        self.account = apply(self.account, step)
        said = ev.StepEnds(
            at=self.now, id="s", calls=calls, said=gist(text), announces=announces(text)
        )
        self.account = apply(self.account, said)
        return "allow"


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
    assert [tape.call("look", "same", at=1) for _ in range(5)] == [
        "allow", "warned", "refuse", "stop", "stop",
    ]  # fmt: skip
    assert tape.account.stopped is not None
    assert tape.account.stopped.reason == "repetition"


def test_a_new_round_may_ask_what_an_earlier_one_asked() -> None:
    tape = Tape(ours())
    for index in range(1, 7):
        tape.account = apply(tape.account, ev.RoundBegins(at=tape.now, index=index))
        assert through(tape, [("look", {"at": n}, f"r{n}") for n in (1, 2, 3)]) == ["allow"] * 3


def test_a_call_unlike_all_before_is_not_withheld_while_the_run_goes_on() -> None:
    tape = Tape(ours())
    assert [tape.call("look", "same", at=1) for _ in range(3)][-1] == "refuse"
    assert tape.call("search", "hit", words="somewhere else") == "allow"


def test_news_takes_the_evidence_away() -> None:
    tape = Tape(ours())
    for n in range(40):
        tape.call("status", "unchanged")
        assert tape.call("page", f"text of page {n} {'abc' * n}", n=n) == "allow"
    assert set(tape.said) <= {"allow", "warned"}


# In rounds


def in_a_round(tape: Tape, index: int = 1, held: int = 0) -> Tape:
    """The tape where round `index` begins, after as many that found `held` in all."""
    for past in range(1, index):
        tape.account = apply(tape.account, ev.RoundBegins(at=tape.now, index=past))
        ended = ev.RoundEnds(at=tape.now, index=past, new=held if past == 1 else 0, held=held)
        tape.account = apply(tape.account, ended)
    tape.account = apply(tape.account, ev.RoundBegins(at=tape.now, index=index))
    return tape


def patient() -> list[Placed]:
    """As `ours`, and a round that was cut is followed by another whatever the loop holds."""
    return [Placed(Stuck(ALL, 1.0, 2.0, 3.0, 60.0, another_round="always"))]


def over(tape: Tape, held: int = 0, index: int = 1) -> Verdict:
    """What is said of the end of the tape's round, and taken into its account."""
    ended = ev.RoundEnds(at=tape.now, index=index, new=held, held=held)
    said = decide(tape.rules, tape.account, ended)
    tape.account = apply(tape.account, ended)
    for verdict, _ in said.said:
        ruled = ev.Ruled(
            at=tape.now, verdict=verdict.kind.name.lower(), rule=verdict.rule,
            layer=verdict.layer, reason=verdict.reason, stop=verdict.stop,
        )  # fmt: skip
        tape.account = apply(tape.account, ruled)
    return said.verdict


def test_a_round_with_nothing_to_show_is_the_last_from_the_call_it_was_just_told_of() -> None:
    tape = in_a_round(Tape(ours()))
    assert [tape.call("look", "same", at=1) for _ in range(3)] == ["allow", "warned", "cut"]
    said = over(tape)
    assert (said.kind, said.layer, said.stop) == (Kind.STOP, "loop", "repetition")
    assert "no finding is held" in said.reason
    ended = tape.account.loop("").ended
    assert (tape.account.stopped, ended and ended.reason) == (None, "repetition")  # of the loop


@pytest.mark.parametrize(("rules", "held"), [(ours(), 1), (patient(), 0)])
def test_a_cut_round_is_followed_by_another_where_that_may_bring_more(
    rules: list[Placed], held: int
) -> None:
    tape = in_a_round(Tape(rules))
    while tape.call("look", "same", at=1) != "cut":
        pass
    assert over(tape, held).kind is Kind.ALLOW
    assert tape.account.loop("").ended is None


@pytest.mark.parametrize(
    ("stop", "signals", "course"),
    [
        (50.0, ALL, ["allow", "warned", "refuse", "refuse"]),
        (3.0, ALL - {"repeat"}, ["allow", "warned", "refuse", "cut"]),
    ],
)
def test_it_ends_no_sooner_than_the_policy_has_it(
    stop: float, signals: frozenset[str], course: list[str]
) -> None:
    tape = in_a_round(Tape([Placed(Stuck(signals, 1.0, 2.0, stop, 60.0))]))
    said = list[str]()
    while said[-3:] != course[-3:] and len(said) < 12:
        said.append(tape.call("look", "same", at=1))
        if said[-1] == "warned":
            assert "will not be answered" in tape.why
    assert not {"cut", "stop"} & set(said[: len(course) - 1])
    assert said[-3:] == course[-3:]


def test_so_does_one_after_rounds_that_found_nothing() -> None:
    tape = in_a_round(Tape(ours()), index=3)
    tape.call("first", "of the round")
    assert [tape.call("look", "same", at=1) for _ in range(3)][-1] == "cut"
    assert over(tape, index=3).layer == "loop"


def test_what_will_end_the_round_is_said_with_the_result() -> None:
    ends, told = in_a_round(Tape(ours())), Tape(ours())
    for tape in (ends, told):
        through(tape, [("look", {"at": 1}, "same")] * 2)
    assert "if your next call is the same, the round ends" in ends.why
    assert "asking the same again will not be answered" in told.why


def test_a_call_that_was_asked_before_another_is_told_of_like_one_in_a_row() -> None:
    tape = in_a_round(Tape(ours()))
    assert [tape.call("look", f"r{at}", at=at) for at in (1, 2, 1)][-1] == "warned"
    assert "if your next call is the same, the round ends" in tape.why
    assert tape.call("look", "r1", at=1) == "cut"


@pytest.mark.parametrize(
    ("before", "again", "course"),
    [
        ("aba", "a", ["allow", "allow", "warned", "cut"]),  # who was told
        ("aba", "b", ["allow", "allow", "warned", "refuse"]),  # it asked, too, and was not told yet
        ("aa", "b", ["allow", "warned", "refuse"]),  # it has not asked, and may read it
    ],
)
def test_the_round_ends_for_the_agent_that_was_told_so(
    before: str, again: str, course: list[str]
) -> None:
    tape = in_a_round(Tape(ours()))
    said = [tape.call("look", "same", agent=agent, at=1) for agent in before]
    assert "if your next call is the same, the round ends" in tape.why
    assert [*said, tape.call("look", "same", agent=again, at=1)] == course


def test_another_call_than_the_one_it_was_just_told_of_is_withheld_first() -> None:
    tape = in_a_round(Tape(ours()))
    for at in (1, 2, 1):
        tape.call("look", f"r{at}", at=at)
    assert [tape.call("look", "r2", at=2) for _ in range(2)] == ["refuse", "cut"]


@pytest.mark.parametrize(("result", "status"), [("Error: timed out", "error"), ("[]", "ok")])
def test_a_failure_or_a_blank_result_is_asked_for_once_more(result: str, status: str) -> None:
    tape = in_a_round(Tape(ours()))
    assert [tape.call("look", result, status, at=1) for _ in range(4)][-2:] == ["refuse", "cut"]


def test_one_reply_that_asks_the_same_several_times_was_told_nothing_yet() -> None:
    tape = in_a_round(Tape(ours()))
    tape.call("look", "same", at=1)
    tape.account = apply(tape.account, ev.StepBegins(at=tape.now, id="s"))
    second = tape.ask("look", step=False, at=1)
    assert second is not None
    tape.answer(second, "same")
    assert tape.ask("look", step=False, at=1) is None
    assert tape.said == ["allow", "warned", "refuse"]


@pytest.mark.parametrize(("rules", "held"), [(ours(), 1), (patient(), 0)])
def test_where_another_round_may_bring_more_only_the_round_is_ended(
    rules: list[Placed], held: int
) -> None:
    tape = in_a_round(Tape(rules), index=2, held=held)
    ends = []
    for index in (2, 3):
        if index > 2:
            tape.account = apply(tape.account, ev.RoundEnds(at=tape.now, index=2, held=held))
            tape.account = apply(tape.account, ev.RoundBegins(at=tape.now, index=index))
        tape.call("first", f"of round {index}")
        ends.append([tape.call("look", "same", at=1) for _ in range(4)][1:])
    assert ends == [["warned", "refuse", "cut"], ["warned", "refuse", "stop"]]


@pytest.mark.parametrize(("rules", "held"), [(ours(), 1), (patient(), 0)])
def test_a_round_that_begins_with_the_call_the_last_was_cut_for_ends_the_run(
    rules: list[Placed], held: int
) -> None:
    def next_round(*calls: int) -> list[str]:
        tape = in_a_round(Tape(rules), index=2, held=held)
        assert [tape.call("look", "same", at=1) for _ in range(4)][-1] == "cut"
        tape.account = apply(tape.account, ev.RoundEnds(at=tape.now, index=2, held=held))
        tape.account = apply(tape.account, ev.RoundBegins(at=tape.now, index=3))
        return [tape.call("look", f"r{at}" if at > 1 else "same", at=at) for at in calls]

    assert next_round(1) == ["stop"]
    assert next_round(2, 1, 1) == ["allow", "allow", "warned"]


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=16))
def test_a_round_is_judged_like_a_run_of_its_own_until_it_ends(course: list[str]) -> None:
    """With findings it is cut at the call that would end such a run. Without any it is cut there, or
    at the call withheld before it, where that is the very one it was just told of: never sooner."""
    alone, found, empty = Tape(ours()), Tape(ours()), Tape(ours())
    for tape in (alone, in_a_round(found, index=2, held=1), in_a_round(empty)):
        for letter in course:
            if tape.call("look", letter, at=letter) in ("cut", "stop"):
                break
    assert [kind.replace("cut", "stop") for kind in found.said] == alone.said
    empty.said = [kind.replace("cut", "stop") for kind in empty.said]
    last = len(empty.said)
    assert empty.said[: last - 1] == alone.said[: last - 1]
    if empty.said[-1] != alone.said[last - 1]:
        assert (empty.said[-1], alone.said[last - 1]) == ("stop", "refuse")
        assert course[last - 1] == course[last - 2]
        assert course[:last].count(course[last - 1]) >= 3


# The signals, each alone


def ends(tape: Tape) -> int:
    """Number of the first call that did not run; 0 for none."""
    return next((n for n, kind in enumerate(tape.said, 1) if kind in ("refuse", "stop")), 0)


LOOPS: dict[str, list[tuple[str, dict[str, Any], Any]]] = {
    "repeat": [("look", {"at": 1}, "same")] * 9,
    "near": [("search", {"q": f"cause of timeout {n}"}, "same") for n in range(9)],
    "error": [("sql", {"q": "select a"}, "Error: no such table")] * 9,
    "failing": [("sql", {"q": f"select a from b {n}"}, f"Error: {'x' * n}") for n in range(12)],
    "cycle": [("a", {}, "ra"), ("b", {}, "rb")] * 5,
    "clock": [("date", {}, f"{n:02d}") for n in range(14)],
    "rewrite": [("edit_file", {"text": "x"}, f"saved {n}") for n in range(9)],
}


@pytest.mark.parametrize("signal", LOOPS)
def test_each_signal_by_itself_ends_its_own_loop_and_no_other_run(signal: str) -> None:
    tape = Tape(ours(signal))
    through(tape, LOOPS[signal])
    assert tape.said.index("warned") < tape.said.index("refuse") < tape.said.index("stop")
    busy = Tape(ours(signal))
    through(busy, [("look", {"at": "x" * n}, f"found {'y' * n}") for n in range(20)])
    assert set(busy.said) == {"allow"}


def test_repeat() -> None:
    tape = Tape(ours("repeat"))
    through(tape, [("look", {"at": 1}, "same")] * 6)
    assert tape.said[2:4] == ["refuse", "stop"]


def test_repeat_is_blind_to_clocks_and_ids_in_results() -> None:
    tape = Tape(ours("repeat"))
    for n in range(6):
        tape.call("look", f"2024-05-0{n + 1}T10:00:0{n}Z request_id=r{n} took {n}.5ms: no rows")
    assert ends(tape) == 3


def test_repeat_asked_by_agents_side_by_side_is_no_loop() -> None:
    tape = Tape(ours())
    for agent in ("north", "east", "south", "west"):
        event = ev.ActionBegins(at=1.0, id=agent, tool="look", agent=agent, call="c", gist="")
        assert decide(tape.rules, tape.account, event).verdict.kind is Kind.ALLOW
        tape.account = apply(tape.account, event)


def test_repeat_counts_what_the_same_agent_has_in_flight() -> None:
    tape = Tape(ours("repeat"))
    asked = [tape.ask("look", step=False, at=1) for _ in range(9)]
    assert tape.said == ["allow"] * 2 + ["refuse"] * 7
    for begun in asked[:2]:
        assert begun is not None
        tape.answer(begun, "same")
    assert tape.call("search", "something new", words="elsewhere") == "allow"


def test_near_duplicates_with_one_result() -> None:
    asked = ["cause of db timeout", "db timeout cause", "timeout of db cause", "cause db timeout"]
    tape = Tape(ours("near"))
    through(tape, [("search", {"q": q}, "R1") for q in asked * 3])
    assert 0 < ends(tape) <= 7
    other = Tape(ours("near"))
    through(other, [("search", {"q": q}, f"R{n} {q}") for n, q in enumerate(asked * 3)])
    assert ends(other) == 0


def test_near_duplicates_that_differ_in_a_number() -> None:
    tape = Tape(ours("near"), logs="read")
    through(tape, [("logs", {"limit": 100 + n}, "same lines") for n in range(9)])
    assert 0 < ends(tape) <= 6


def test_the_same_error_whatever_is_asked() -> None:
    tape = Tape(ours("error", "repeat"))
    words = ["alpha one", "beta two", "gamma three", "delta four", "eps five", "zeta six"]
    through(tape, [("sql", {"q": w}, "Error: table 'x' does not exist") for w in words])
    assert ends(tape) == 0  # other questions are let through, however often they fail
    assert "warned" in tape.said
    assert tape.call("sql", "Error: table 'x' does not exist", q="alpha one") == "refuse"


def test_attempts_that_keep_failing() -> None:
    tape = Tape(ours("failing", "near"))
    base = "select name from stadium join concert on id where year"
    for n in range(12):
        tape.call("sql", f"Error: column {'abcdefghijkl'[n] * 3} is unknown", q=f"{base} > {n}")
    assert 0 < ends(tape) <= 9


def test_two_calls_that_take_turns() -> None:
    tape = Tape(ours("cycle", "repeat"))
    through(tape, [("a", {}, "ra"), ("b", {}, "rb")] * 4)
    assert 0 < ends(tape) <= 6


def test_going_back_and_forth_between_two_pages_but_not_through_them() -> None:
    def pages(offsets: list[int]) -> Tape:
        tape = Tape(ours(), read="read")
        through(tape, [("read", {"path": "o", "offset": n}, f"chunk {'xyz' * n}") for n in offsets])
        return tape

    assert 0 < ends(pages([0, 5, 0, 5, 0, 5, 0])) <= 6
    assert set(pages(list(range(0, 30, 1))).said) == {"allow"}


def test_a_clock_is_no_news_and_a_stream_is() -> None:
    clock = Tape(ours(), shell="read")
    through(clock, [("shell", {"cmd": "date +%S"}, f"{n:02d}") for n in range(20)])
    assert 0 < ends(clock) <= 8
    stream = Tape(ours(), read_output="read")
    chunks = [
        ("read_output", {"session": "s"}, f"bytes {n}: {chr(97 + n % 26) * n}") for n in range(50)
    ]
    through(stream, chunks)
    assert set(stream.said) == {"allow"}
    through(stream, [("read_output", {"session": "s"}, f"more {'z' * n}") for n in range(30)])
    assert ends(stream) > 60


@pytest.mark.parametrize("status", ["ok", "error"])
def test_a_successful_write_makes_reading_worth_while_and_a_rejected_one_does_not(
    status: str,
) -> None:
    tape = Tape(ours(), check="read", edit="write")
    for n in range(12):
        tape.call("edit", {"status": status, "text": f"version {n}"}, status, line=n, words="a" * n)
        tape.call("check", "3 tests failed")
    assert (ends(tape) == 0) is (status == "ok")


def test_a_write_never_excuses_itself() -> None:
    tape = Tape(ours(), book="write")
    through(tape, [("book", {"seat": 4}, {"status": "ok", "booking": n}) for n in range(2)])
    assert tape.said == ["allow", "refuse"]  # a booking made twice has two numbers
    assert tape.call("book", seat=5) == "allow"


def test_a_write_that_failed_may_be_tried_again() -> None:
    tape = Tape(ours(), book="write")
    assert tape.call("book", {"error": "timed out"}, "error", seat=4) == "allow"
    assert tape.call("book", {"status": "ok"}, seat=4) == "allow"


def test_a_reply_that_asks_for_one_write_several_times_has_it_once() -> None:
    tape = Tape(ours(), book="write")
    first = tape.ask("book", seat="2A")
    assert first is not None
    assert tape.ask("book", step=False, seat="2B") is not None
    assert [tape.ask("book", step=False, seat="2A") for _ in range(3)] == [None] * 3
    assert tape.said[-3:] == ["refuse"] * 3
    tape.answer(first, "no seat left", status="error")
    assert tape.call("book", seat="2A") == "allow"  # what failed may be tried again


def test_writes_that_undo_each_other_are_a_loop() -> None:
    tape = Tape(ours(), put="write")
    for n in range(12):
        tape.call("put", {"status": "ok"}, value="ab"[n % 2])
    assert 0 < ends(tape) <= 8


def test_undeclared_tools_are_judged_by_what_they_look_like() -> None:
    tape = Tape(ours())
    for n in range(8):
        assert tape.call("edit_file", "saved", text="line " + "word " * n) == "allow"
        assert tape.call("shell", "FAILED", cmd="pytest tests/") == "allow"


def test_asking_for_what_is_refused() -> None:
    tape = Tape(ours("refused"))
    refusal = ev.Ruled(at=1.0, verdict="refuse", rule="allowlist", layer="tool", subject="restart")
    kinds = []
    for n in range(6):
        tape.account = apply(tape.account, ev.StepBegins(at=1.0, id=f"s{n}"))
        event = ev.ActionBegins(at=1.0, id=f"a{n}", tool="restart", args={"n": n}, call=f"c{n}")
        kinds.append(decide(tape.rules, tape.account, event).verdict.kind)
        tape.account = apply(tape.account, refusal)
    assert kinds[:2] == [Kind.ALLOW] * 2  # this rule has nothing to add to the first refusal
    assert kinds[-1] is Kind.STOP

    others = Tape(ours())
    for _ in range(9):  # one reply that did not know better
        others.account = apply(others.account, refusal)
    assert others.call("look", "fine") == "allow"


# Waiting


def test_a_poll_is_bounded_by_time_and_not_by_count() -> None:
    tape = Tape(ours(poll=60.0), status="poll")
    for _ in range(200):
        assert tape.call("status", "still running", job=7) == "allow"
    tape.now += 40
    assert tape.call("status", "still running", job=7) == "warned"
    tape.now += 21
    assert tape.call("status", "still running", job=7) == "refuse"


def test_a_poll_whose_answer_changes_begins_anew() -> None:
    tape = Tape(ours(poll=60.0), status="poll")
    for n in range(20):
        tape.now += 50
        assert tape.call("status", f"{n} of 20 done", job=7) == "allow"


def test_a_poll_that_goes_on_after_it_was_refused_ends_the_run() -> None:
    tape = Tape(ours(poll=60.0), status="poll")
    tape.call("status", "still running")
    tape.now += 61
    assert [tape.call("status", "still running") for _ in range(4)] == ["refuse"] * 3 + ["stop"]


# Talk


def test_announcing_the_same_without_doing_it() -> None:
    tape = Tape(ours("narration"))
    turns = ["I'll now put the report together.", "Let me put the report together now.",
             "Now I will put together the report."]  # fmt: skip
    assert [tape.reply(t) for t in turns * 2][:4] == ["allow", "allow", "allow", "stop"]


@pytest.mark.parametrize(
    "turns",
    [
        [
            "I am writing the report now.",
            "Now writing the report.",
            "I need to write the report now.",
        ],
        ["About to create the file.", "Proceeding to create the file.", "Time to create the file."],
        [
            "We'll save the file next.",
            "We will save the file next.",
            "I should save the file next.",
        ],
    ],
)
def test_it_is_announced_in_many_words(turns: list[str]) -> None:
    assert all(map(announces, turns))
    tape = Tape(ours("narration"))
    assert [tape.reply(t) for t in turns * 2][:4] == ["allow", "allow", "allow", "stop"]


@pytest.mark.parametrize(
    "text",
    [
        "ready to ship",
        "The writing is on the wall.",
        "invoice",
        "The job is about to expire.",
        "We are seeing timeouts since ten.",
        "I'm finding nothing that moved.",
        "I have to conclude that the pool is too small.",
        "I should note that the pool was halved.",
    ],
)
def test_a_label_or_a_finding_announces_nothing(text: str) -> None:
    assert not announces(text)


def test_a_text_that_is_written_better_each_time_announces_nothing() -> None:
    """A clause about what happened, behind a comma or a colon, is no word about what comes next."""
    tape = Tape(ours("narration"))
    drafts = [
        "Checkout slowed at 10:02 after v1.5 halved its pool, making requests wait.",
        "Checkout slowed at 10:02 after v1.5 halved its pool to 10, making requests wait for 3 s.",
        "Checkout slowed at 10:02 after v1.5 halved its pool to 10: running out, requests waited.",
        "Checkout slowed at 10:02 after v1.5 halved its pool to 10, making all requests wait for 3 s.",
    ]
    assert [tape.reply(one) for one in drafts] == ["allow"] * 4


def test_an_announcement_that_is_acted_upon_is_none() -> None:
    tape = Tape(ours())
    for n in range(9):
        assert tape.reply("Let me look at the next page.", calls=1) == "allow"
        tape.call("page", f"page {'x' * n}", n=n)


def test_the_same_label_again_is_an_answer() -> None:
    tape = Tape(ours())
    assert {tape.reply("spam") for _ in range(9)} == {"allow"}


@pytest.mark.parametrize("blanks", [("", " ", "\n", ""), ("\u00a0", "\u200b", "\ufeff", " ")])
def test_blank_replies(blanks: tuple[str, ...]) -> None:
    tape = Tape(ours("blank"))
    assert [tape.reply(t) for t in blanks] == ["allow", "allow", "allow", "stop"]


def test_a_person_who_speaks_is_news_to_those_who_talk() -> None:
    tape = Tape(ours())
    for _ in range(9):
        assert tape.reply("Let me check that for you.") == "allow"
        tape.account = apply(tape.account, ev.UserTurn(at=tape.now))


def test_a_signal_that_is_left_out_sees_nothing() -> None:
    for signal, reply in (("narration", "Let me see."), ("blank", "")):
        tape = Tape(ours(*(ALL - {signal})))
        assert {tape.reply(reply) for _ in range(9)} == {"allow"}
    quiet = Tape(ours("poll"))
    through(quiet, [("look", {"at": 1}, "same")] * 9)
    assert set(quiet.said) == {"allow"}


def test_calls_that_end_an_agent_are_never_withheld() -> None:
    rules = [Placed(Stuck(ALL, 1.0, 2.0, 3.0, 60.0, frozenset({"exit_loop"})))]
    tape = Tape(rules)
    assert {tape.call("exit_loop", None) for _ in range(9)} == {"allow"}


def test_arguments_that_only_say_how_much_or_why_are_no_other_question() -> None:
    tape = Tape(ours())
    through(tape, [("logs", {"limit": 100 + n}, "same lines") for n in range(7)])
    assert ends(tape) == 4
    tape = Tape(ours())
    through(tape, [("read_file", {"path": "a.py", "note": f"step {n}"}, "text") for n in range(7)])
    assert ends(tape) == 4


def test_a_mark_of_the_one_call_is_no_other_question_beside_one() -> None:
    tape = Tape(ours())
    calls = [("logs", {"q": "error", "request_id": f"r-{n}x"}, "same lines") for n in range(7)]
    through(tape, calls)
    assert ends(tape) == 4
    tape = Tape(ours())
    through(tape, [("logs", {"request_id": f"r-{n}x"}, "no lines") for n in range(7)])
    assert set(tape.said) <= {"allow", "warned"}


def test_a_threshold_that_moves_is_no_other_question() -> None:
    tape = Tape(ours())
    through(tape, [("m", {"threshold": 0.1 + n / 100}, "nothing above it") for n in range(7)])
    assert ends(tape) == 4


def test_a_write_is_the_same_whichever_way_its_numbers_are_written() -> None:
    tape = Tape(ours(), book="write")
    for n, amount in enumerate([40, 40.0, 40]):
        tape.call("book", f"booked as {n}", rows=[{"amount": amount, "rate": 0.5}])
    assert tape.said == ["allow", "refuse", "refuse"]


@pytest.mark.parametrize(("result", "end"), [("R1", 5), ("[]", 7), ("", 7)])
def test_the_fifth_wording_of_a_question_with_one_answer_is_withheld(result: str, end: int) -> None:
    """Not when the answer is a blank one: it says less."""
    words = ["again", "once", "more", "please", "now", "today", "still", "so"]
    tape = Tape(ours(), search="read")
    through(tape, [("search", {"q": f"cause of db timeout {word}"}, result) for word in words])
    assert ends(tape) == end


@pytest.mark.parametrize("blank", ["", " ", "[]", "{}", "null", [], {}])
def test_a_result_that_holds_nothing_is_blank(blank: Any) -> None:
    assert result_prints(blank, "ok")["print"] == ""
    assert result_prints("[0]", "ok")["print"] != ""


@pytest.mark.parametrize("answer", ["healthy", "no results", {"status": "empty"}, ""])
def test_the_same_question_about_one_thing_after_the_other_is_busy(answer: Any) -> None:
    tape = Tape(ours(), health="read")
    for name in ("cart", "shop", "pay", "mail", "auth", "stock", "ship", "web", "api", "db"):
        tape.call("health", answer, service=name, namespace="prod", window="15m", check="all")
    assert ends(tape) == 0
    tape = Tape(ours())
    through(tape, [("open_valve", {"number": n}, answer) for n in range(12)])
    assert ends(tape) == 0
