"""What resembles nothing is told at one look: it must come to what asking every signal comes to."""

from __future__ import annotations

from hypothesis import event, given
from hypothesis import strategies as st

from roundsman.guard.stuck.evidence import SIGNALS, asked, seen
from roundsman.guard.stuck.memory import Asked, Conversation, Outcome
from roundsman.guard.stuck.score import NEW_CALL, gathered, proposed

NAMES = frozenset(s.name for s in SIGNALS)
few = st.sampled_from(["", "aaaaaaaa" + "01" * 32, "aaaaaaaa" + "02" * 32, "bbbbbbbb" + "01" * 32])
calls = st.builds(
    Asked,
    call=st.sampled_from(["c1", "c2", "c3", "c4"]),
    gist=few,
    tool=st.sampled_from(["look", "book"]),
    alters=st.sampled_from(["", "", "", "seems", "declared"]),
    agent=st.sampled_from(["", "one", "two"]),
)
points = st.lists(
    st.tuples(st.sampled_from(sorted(NAMES)), st.sampled_from([0.5, 1.0])), max_size=2
)
outcomes = st.builds(
    Outcome,
    asked=calls,
    print=st.sampled_from(["", "p1", "p2", "p3"]),
    shape=st.sampled_from(["s1", "s2"]),
    fault=st.sampled_from(["", "", "", "f1", "f2"]),
    fresh=st.booleans(),
    withheld=st.sampled_from([False, False, True]),
    step=st.integers(0, 3),
    points=points.map(tuple),
)
conversations = st.builds(
    Conversation,
    past=st.lists(outcomes, max_size=5).map(tuple),
    written=st.lists(st.sampled_from(["c1", "c2"]), max_size=2).map(tuple),
    run=st.tuples(st.sampled_from(["", "c1", "c2"]), st.integers(0, 70)),
    flying=st.dictionaries(st.sampled_from(["a1", "a2"]), calls, max_size=2),
)


@given(conversations, outcomes)
def test_an_outcome_has_the_points_every_signal_gives_it(
    mine: Conversation, outcome: Outcome
) -> None:
    one_by_one = tuple((s.name, p) for s in SIGNALS if (p := s.seen(mine, outcome)))
    event(f"evidence: {bool(one_by_one)}")
    assert seen(mine, outcome) == one_by_one


@given(conversations, calls, st.sets(st.sampled_from(sorted(NAMES))))
def test_a_call_has_the_points_of_the_strongest_signal(
    mine: Conversation, call: Asked, signals: set[str]
) -> None:
    one_by_one = [p for s in SIGNALS if s.name in signals and (p := s.asked(mine, call))]
    event(f"evidence: {bool(one_by_one)}")
    assert asked(mine, call, signals) == max(one_by_one, default=None)
    assert proposed(mine, call, signals) == max(one_by_one, default=-NEW_CALL)


@given(conversations)
def test_outcomes_without_points_come_to_none(mine: Conversation) -> None:
    bare = Conversation(past=tuple(Outcome(o.asked, o.print, fresh=o.fresh) for o in mine.past))
    assert gathered(bare, NAMES) == 0.0
