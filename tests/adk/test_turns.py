"""The line for resources, without an engine: a simulated run takes every step a real one may."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.adk.turns import Access, State, Turn, Turns

KEYS = st.none() | st.sets(st.sampled_from(["db", "web", "dns"]), min_size=1).map(frozenset)
ACCESS = st.builds(Access, writes=st.booleans(), keys=KEYS)


def write(*keys: str) -> Access:
    return Access(True, frozenset(keys) or None)


def read(*keys: str) -> Access:
    return Access(False, frozenset(keys) or None)


def states(*turns: Turn) -> list[str]:
    return [t.state.value for t in turns]


@dataclass
class Run:
    """Draws, arrivals, questions to a person and ends in any order the data says."""

    line: Turns = field(default_factory=Turns)
    drawn: list[Turn] = field(default_factory=list)
    going: list[Turn] = field(default_factory=list)
    started: list[Turn] = field(default_factory=list)

    def note(self, changed: list[Turn]) -> None:
        for turn in changed:
            if turn.state is State.GOING:
                self.going.append(turn)
                self.started.append(turn)
        self.check()

    def draw(self, access: Access, batch: Any = None, parent: Turn | None = None) -> Turn:
        name = f"a{len(self.drawn) + 1}"
        turn = self.line.draw(name, "tool", access, batch=batch, call=name, parent=parent)
        self.drawn.append(turn)
        return turn

    def end(self, turn: Turn) -> None:
        if turn in self.going:
            self.going.remove(turn)
        self.note(self.line.release(turn))

    def check(self) -> None:
        for n, one in enumerate(self.going):
            for other in self.going[n + 1 :]:
                related = one in other.ancestors() or other in one.ancestors()
                assert related or not one.access.clashes(other.access)

    def leaves(self) -> list[Turn]:
        """Calls in progress with nothing running or waiting below them."""
        return [t for t in self.going if not t.below]

    def finish(self) -> None:
        """What is drawn arrives, what goes ends: nobody is left behind."""
        for turn in self.drawn:
            if turn.state is State.DRAWN and turn in self.line.live:
                self.note(self.line.arrive(turn))
        while self.line.live:
            ends = self.leaves()
            assert ends, f"deadlock: {[(t.owner, t.state) for t in self.line.live]}"
            self.end(ends[0])


@settings(max_examples=1500, deadline=None)
@given(st.data())
def test_no_write_overlaps_and_nobody_is_left_behind(data: st.DataObject) -> None:
    run = Run()
    for _ in range(data.draw(st.integers(1, 14), label="steps")):
        live = list(run.line.live)
        step = data.draw(
            st.sampled_from(["draw", "draw", "draw", "arrive", "end", "cancel", "ask"])
        )
        if step == "draw" or not live:
            parent = data.draw(st.sampled_from([None, None, *run.going]), label="below")
            batch = (parent and parent.owner, data.draw(st.integers(0, 1), label="batch"))
            run.draw(data.draw(ACCESS), batch, parent)
        elif step == "arrive":
            run.note(run.line.arrive(data.draw(st.sampled_from(live))))
        elif step == "end" and run.leaves():
            run.end(data.draw(st.sampled_from(run.leaves())))
        elif step == "cancel":
            run.end(data.draw(st.sampled_from(live)))
        elif step == "ask":
            turn = data.draw(st.sampled_from(live))
            if turn.state is State.DRAWN:
                run.note(run.line.ask(turn))
    run.finish()
    for turn in run.drawn:
        assert turn.state in (State.OVER, State.REFUSED)


@settings(max_examples=800, deadline=None)
@given(st.lists(ACCESS, min_size=2, max_size=10), st.randoms(use_true_random=False))
def test_clashing_calls_go_in_the_order_they_were_drawn(
    accesses: list[Access], random: Any
) -> None:
    run = Run()
    turns = [run.draw(access) for access in accesses]
    arriving = list(turns)
    random.shuffle(arriving)
    for turn in arriving:
        run.note(run.line.arrive(turn))
        if run.going and random.random() < 0.5:
            run.end(random.choice(run.going))
    run.finish()
    order = {turn: n for n, turn in enumerate(run.started)}
    assert len(order) == len(turns)
    for n, one in enumerate(turns):
        for other in turns[n + 1 :]:
            if one.access.clashes(other.access):
                assert order[one] < order[other]


@settings(max_examples=300, deadline=None)
@given(st.lists(KEYS, min_size=1, max_size=12))
def test_reads_never_wait_for_reads(keys: list[frozenset[str] | None]) -> None:
    run = Run()
    for key in keys:
        run.note(run.line.arrive(run.draw(Access(False, key))))
    assert len(run.going) == len(keys)


def test_a_write_waits_for_reads_before_it_and_reads_after_it_wait_for_it() -> None:
    run = Run()
    turns = [run.draw(a) for a in (read("db"), read("db"), write("db"), read("db"), read("web"))]
    for turn in turns:
        run.note(run.line.arrive(turn))
    assert states(*turns) == ["going", "going", "waiting", "waiting", "going"]
    run.end(turns[0])
    run.end(turns[1])
    assert states(*turns[2:4]) == ["going", "waiting"]
    run.end(turns[2])
    assert states(turns[3]) == ["going"]


def test_a_call_that_is_held_up_before_it_arrives_keeps_its_place() -> None:
    run = Run()
    first, second = run.draw(write("db")), run.draw(write("db"))
    run.note(run.line.arrive(second))
    assert states(first, second) == ["drawn", "waiting"]
    run.note(run.line.arrive(first))
    assert states(first, second) == ["going", "waiting"]


def test_a_call_below_another_does_not_wait_for_it_but_its_sisters_take_turns() -> None:
    run = Run()
    outer = run.draw(write("db"))
    run.note(run.line.arrive(outer))
    inner = [run.draw(write("db"), parent=outer) for _ in range(2)]
    for turn in inner:
        run.note(run.line.arrive(turn))
    assert states(*inner) == ["going", "waiting"]
    run.end(inner[0])
    assert states(inner[1]) == ["going"]


def test_a_call_below_goes_before_one_that_waits_for_its_caller() -> None:
    run = Run()
    outer = run.draw(read("db"))
    run.note(run.line.arrive(outer))
    waiting = run.draw(write("db"))
    run.note(run.line.arrive(waiting))
    inner = run.draw(read("db"), parent=outer)
    run.note(run.line.arrive(inner))
    assert states(outer, waiting, inner) == ["going", "waiting", "going"]
    run.end(outer)  # given up while its inner call, on a thread, goes on
    assert states(waiting) == ["waiting"]
    run.end(inner)
    assert states(waiting) == ["going"]


def test_a_wait_that_could_never_end_is_refused() -> None:
    run = Run()
    one, two = run.draw(write("db")), run.draw(write("web"))
    for turn in (one, two):
        run.note(run.line.arrive(turn))
    below_one = run.draw(write("web"), parent=one)
    run.note(run.line.arrive(below_one))
    below_two = run.draw(write("db"), parent=two)
    assert states(below_one, below_two) == ["waiting", "refused"]
    assert "would wait for ever: tool (a1) holds db" in below_two.why
    run.end(two)
    assert states(below_one) == ["going"]


def test_while_a_person_decides_later_writes_of_the_reply_are_refused_and_reads_go_on() -> None:
    run = Run()
    first = run.draw(write("db"), batch=1)
    asked = run.draw(write("db"), batch=1)
    later = run.draw(write("web"), batch=1)
    look = run.draw(read("db"), batch=1)
    other = run.draw(write("db"), batch=2)
    for turn in (first, later, look, other):
        run.note(run.line.arrive(turn))
    assert states(first, later, look, other) == ["going", "waiting", "waiting", "waiting"]
    run.note(run.line.ask(asked))
    assert states(later) == ["refused"]
    assert "waits for a person's decision" in later.why
    run.end(first)
    assert states(look, other) == ["going", "waiting"]
    assert run.draw(write("dns"), batch=1).state is State.REFUSED
    run.line.decided(asked.call)
    assert run.draw(write("dns"), batch=1).state is State.DRAWN


def test_a_write_asked_for_before_the_undecided_one_runs() -> None:
    run = Run()
    early, asked = run.draw(write("db"), batch=1), run.draw(write("web"), batch=1)
    run.note(run.line.ask(asked))
    run.note(run.line.arrive(early))
    assert states(early) == ["going"]


def test_what_a_person_confirmed_runs_though_an_earlier_one_is_undecided() -> None:
    line = Turns()
    line.ask(line.draw("a1", "t", write("db"), batch=1, call="c1"))
    assert line.draw("a2", "t", write("db"), batch=1, confirmed=True).state is State.DRAWN


def test_releasing_twice_changes_nothing() -> None:
    run = Run()
    turns = [run.draw(write("db")) for _ in range(3)]
    for turn in turns:
        run.note(run.line.arrive(turn))
    run.end(turns[0])
    run.end(turns[0])
    assert states(*turns) == ["over", "going", "waiting"]


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (read(), read(), False), (write(), read("db"), True), (write("db"), read(), True),
        (write("db"), write("web"), False), (write("db"), read("db", "web"), True),
    ],
)  # fmt: skip
def test_what_clashes(one: Access, other: Access, clash: bool) -> None:
    assert one.clashes(other) is other.clashes(one) is clash


def test_it_needs_no_engine() -> None:
    code = "import roundsman.adk.turns, sys; print('google.adk' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
