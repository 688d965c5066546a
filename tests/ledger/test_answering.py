"""Answers to a run's questions: each once, in time, and of the right kind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from journals import Journal

from roundsman.errors import LeaseHeld, RunNotFound, UsageError
from roundsman.guard import Kind, Placed, rules_for
from roundsman.guard import events as ev
from roundsman.guard.asking import exact_digest
from roundsman.ledger import History, LiveRun, Store, answering, stop_run
from roundsman.ledger.answering import answer, checked_grant
from roundsman.ledger.retention import old_runs
from roundsman.policy import load_policy

TOOLS = {"wipe": {"effect": "write", "approve": "always"}}


def rules(**run: Any) -> tuple[Placed, ...]:
    policy = load_policy("default").with_tools(TOOLS)
    changed = policy.run.model_copy(update={"on_limit": "ask", **run})
    return rules_for(policy.model_copy(update={"run": changed}))


def asked(store: Store, run_id: str = "r1", **run: Any) -> LiveRun:
    """A run that waits: for `wipe(what=all)`, or at its limit of steps."""
    live = LiveRun.start(store, rules(**run), policy="p", run_id=run_id)
    if "steps" in run:
        live.propose(ev.StepBegins(id="s1", agent="a"))
        live.settle(ev.StepEnds(id="s1", agent="a"))
        verdict, _ = live.propose(ev.StepBegins(id="s2", agent="a"))
    else:
        wipe = ev.ActionBegins(id="a1", tool="wipe", args={"what": "all"}, call="c")
        verdict, _ = live.propose(wipe)
    assert verdict.kind is Kind.ASK
    live.pause()
    return live


@pytest.fixture
def store(journal: Journal) -> Iterator[Store]:
    store = journal.open()
    yield store
    store.close()


CHILD = """
import sys
from roundsman.errors import RoundsmanError
from roundsman.ledger import answering, open_store
from roundsman.ledger.answering import answer
answering.PATIENCE_S = 100
store = open_store()
print("ready", flush=True)
sys.stdin.readline()
try:
    answer(store, "r1", "q1", sys.argv[1], by=sys.argv[1] + "er")
    print("mine")
except RoundsmanError as error:
    print(error)
"""


def test_of_two_who_answer_at_once_one_wins_and_the_other_is_told(
    store: Store, journal: Journal
) -> None:
    asked(store)
    people = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, decision],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | journal.env,
        )
        for decision in ("approve", "deny", "approve")
    ]  # fmt: skip
    for one in people:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in people:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    said = [one.communicate()[0].strip() for one in people]
    assert said.count("mine") == 1
    answers = [r.body for r in store.records("r1") if r.kind == "answered"]
    assert len(answers) == 1
    told = [text for text in said if text != "mine"]
    who = f"q1 was answered by {answers[0]['by']} at "
    assert all(text.startswith(who) and "nothing was changed" in text for text in told), said
    store.verify("r1")


def test_who_may_not_answer_is_told_why(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(store)
    asked(store, "r2", steps=1)
    wrong = [
        (("r9", "q1", "approve"), {}, "no run 'r9'"),
        (("r1", "q7", "approve"), {}, r"no question 'q7' \(open: q1\)"),
        (("r1", "q1", "grant"), {"granted": {"steps": 1}}, "about an action: approve or deny"),
        (("r2", "q1", "approve"), {}, "about a limit: grant or finish"),
        (("r2", "q1", "grant"), {"granted": {"tokens": 5}}, r"about steps .*; give --steps N"),
        (("r2", None, "deny"), {}, "no question to deny"),
    ]
    for (run_id, question, decision), more, why in wrong:
        with pytest.raises((UsageError, RunNotFound), match=why):
            answer(store, run_id, question, decision, by="eve", **more)
    monkeypatch.setattr(answering, "PATIENCE_S", 0.0)
    LiveRun.start(store, (), policy="p", run_id="r3")
    with pytest.raises(LeaseHeld, match="a run is answered when it waits"):
        answer(store, "r3", "q1", "approve", by="eve")


@pytest.mark.parametrize("value", [0, -1, float("nan"), -float("inf"), True, "5", 0.5])
def test_what_grants_nothing_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match=r"--steps .* (grants nothing|whole)"):
        checked_grant({"steps": value})


@pytest.mark.parametrize("value", [10**16, 10**400, 1e300, float("inf")])
def test_what_is_more_than_anything_is_told_as_that(value: float) -> None:
    for limit in ("steps", "usd"):
        with pytest.raises(UsageError, match=r"is more than can be granted .* --accept-change"):
            checked_grant({limit: value})


@given(
    st.dictionaries(
        st.sampled_from(["tokens", "steps", "actions", "max_rounds", "usd", "wall_clock"]),
        st.integers(1, 10**6),
    )
)
def test_sound_grants_pass(granted: dict[str, float]) -> None:
    assert checked_grant(granted) == granted


def test_grants_add_up_and_outlive_the_process(store: Store) -> None:
    asked(store, steps=1)
    for _ in range(2):
        answer(store, "r1", None, "grant", by="eve", granted={"steps": 1, "usd": 0.5})
        run = LiveRun.reopen(store, rules(steps=1), "r1")
        step = run.next_step_id()
        assert run.propose(ev.StepBegins(id=step, agent="a"))[0].kind <= Kind.AMEND
        run.settle(ev.StepEnds(id=step, agent="a"))
        assert run.propose(ev.StepBegins(id="s9", agent="a"))[0].kind is Kind.ASK
        run.pause()
    assert run.account.asks.granted == {"steps": 2, "usd": 1.0}
    assert run.account.steps == 3


def test_a_stopped_run_stays_stopped_whatever_is_granted(store: Store) -> None:
    run = asked(store, steps=1)
    run.go_on()
    run.stop("aborted", "enough")
    run.end("aborted")
    with pytest.raises(UsageError, match=r"is over \(stopped\)"):
        answer(store, "r1", None, "grant", by="eve", granted={"steps": 5})


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=4))
def test_a_digest_is_of_the_tool_and_all_arguments(args: dict[str, Any]) -> None:
    same = exact_digest("t", dict(reversed(args.items())))
    assert exact_digest("t", args) == same
    others = [exact_digest("u", args), exact_digest("t", {**args, "more": 1})]
    others += [exact_digest("t", {**args, key: [value]}) for key, value in args.items()]
    assert same not in others


def test_what_cannot_be_shown_exactly_cannot_be_approved(store: Store) -> None:
    run = LiveRun.start(store, rules(), policy="p", run_id="r1")
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for odd in (object(), float("nan"), deep):
        verdict, _ = run.propose(ev.ActionBegins(id="a1", tool="wipe", args={"what": odd}))
        assert verdict.kind is Kind.REFUSE
        assert "cannot be shown exactly" in verdict.reason


@pytest.mark.parametrize(("status", "known"), [("ok", True), ("empty", True), ("unknown", False)])
def test_a_read_that_was_broken_off_is_asked_again(store: Store, status: str, known: bool) -> None:
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    run.write(ev.ActionBegins(id="a1", tool="look", agent="a", call="c", effect="read"))
    run.write(ev.ActionEnds(id="a1", tool="look", effect="read", status=status))
    past = History(store.records("r1")).replay.action("a", "c", "look")
    assert (past is not None) is known


def test_between_the_answer_and_going_on_a_run_is_answered(store: Store) -> None:
    asked(store)
    asked(store, "r2")
    LiveRun.start(store, (), policy="p", run_id="r3")._lease.release()
    assert {i.run_id: i.status for i in store.runs()} == {
        "r1": "waiting", "r2": "waiting", "r3": "interrupted",
    }  # fmt: skip
    answer(store, "r1", None, "approve", by="eve")
    answer(store, "r2", None, "deny", by="eve")
    assert [store.info(name).status for name in ("r1", "r2")] == ["answered", "answered"]
    assert {i.run_id for i in old_runs(store, 4e10, unfinished=True)} == {"r1", "r2", "r3"}
    live = LiveRun.reopen(store, rules(), "r1")
    assert store.info("r1").status == "running"
    live._lease.release()  # it died
    assert store.info("r1").status == "interrupted"
    assert stop_run(store, "r2", "eve") == "stopped"
    asked(store, "r4")
    answer(store, "r4", None, "approve", by="eve")
    store.delete("r4")
    assert "r4" not in store.ids()
