"""The account is the fold of its journal, and nothing else."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.guard import Account, apply
from roundsman.guard import events as ev
from roundsman.guard.events import KINDS, from_body, to_body
from roundsman.guard.stuck.memory import BEGUN, PAST, POLLS, SAID, WRITTEN
from roundsman.ledger.fold import fold
from roundsman.ledger.records import Record

_spec = importlib.util.spec_from_file_location(
    "guard_events", Path(__file__).with_name("guard_events.py")
)
assert _spec is not None
assert _spec.loader is not None
made: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made)


def test_every_kind_has_invented_events() -> None:
    assert set(made.EVENTS) == set(KINDS)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_body_round_trip(kind: str) -> None:
    @given(made.EVENTS[kind])
    def check(event: ev.Event) -> None:
        stored = json.loads(json.dumps(to_body(event)))
        assert from_body(kind, event.at, stored) == event

    check()


def test_a_kind_of_a_later_version_is_an_error() -> None:
    with pytest.raises(KeyError):
        from_body("teleported", 1.0, {})


@given(st.lists(made.ANY_EVENT, max_size=25), st.integers(0, 25))
def test_fold_of_any_sequence_is_stepwise(events: list[ev.Event], cut: int) -> None:
    stepwise = reduce(apply, events, Account())
    records = [
        Record(n, e.kind, e.at, json.loads(json.dumps(to_body(e))), "")
        for n, e in enumerate(events)
    ]
    assert fold(records) == stepwise
    assert reduce(apply, events[cut:], reduce(apply, events[:cut], Account())) == stepwise


@given(st.lists(made.ANY_EVENT, max_size=40))
def test_counters_never_fall_and_memory_is_bounded(events: list[ev.Event]) -> None:
    account = Account()
    for event in events:
        after = apply(account, event)
        for counter in ("steps", "tokens", "tokens_estimated", "replans", "active"):
            assert getattr(after, counter) >= getattr(account, counter)
        held = after.stuck
        for one in held.talking.values():
            sizes = [(one.past, PAST), (one.begun, BEGUN), (one.written, WRITTEN)]
            sizes += [(t.said, SAID) for t in one.talks.values()]
            assert all(len(kept) <= most for kept, most in [*sizes, (one.polls, POLLS)])
        account = after


ACTIONS = st.one_of(*(made.EVENTS[kind] for kind in ("action_begins", "action_ends")))


@given(st.lists(ACTIONS, max_size=40))
def test_every_action_counts_but_those_that_were_kept_from_running(events: list[ev.Event]) -> None:
    account, counted = Account(), 0
    for event in events:
        if isinstance(event, ev.ActionEnds):  # once, and only what was under way
            counted -= not event.ran and event.id in account.open_actions
        else:
            counted += 1
        account = apply(account, event)
        assert account.actions == sum(account.by_tool.values()) == counted
        assert min(account.by_tool.values(), default=0) >= 0
        assert min((s.actions for s in account.shares.values()), default=0) >= 0


@given(st.lists(made.ANY_EVENT, max_size=20))
def test_a_stop_is_sticky(events: list[ev.Event]) -> None:
    stop = ev.Ruled(at=1.0, verdict="stop", rule="tokens", stop="tokens")
    account = apply(Account(), stop)
    for event in events:
        account = apply(account, event)
        assert account.stopped is not None
        if not any(e.kind == "run_ends" for e in events):
            assert account.stopped.reason == "tokens"


def test_a_resumed_run_is_charged_what_was_in_flight_and_not_the_time_between() -> None:
    account = apply(Account(), ev.RunBegins(at=100.0))
    account = apply(account, ev.StepBegins(at=101.0, id="s1", reserved_tokens=40, reserved_usd=0.5))
    account = apply(account, ev.RunResumes(at=9_000.0))
    assert (account.tokens, account.tokens_estimated, account.usd) == (40, 40, 0.5)
    assert account.reserved == {}
    assert account.active == 1.0
    assert apply(account, ev.RoundBegins(at=9_002.0)).active == 3.0


def test_apply_changes_nothing_in_place() -> None:
    account = Account()
    before = replace(account)
    apply(account, ev.ActionBegins(at=1.0, id="a1", tool="read_sensor"))
    assert account == before


def test_a_yes_that_serves_once_more_holds_no_longer_than_it_did() -> None:
    from roundsman.guard.asking import exact_digest

    args = {"depot": "north"}
    digest = exact_digest("purge", args)
    asked = ev.Asked(id="q1", about="action", tool="purge", args=args, digest=digest)
    events = [
        asked,
        ev.Answered(id="q1", decision="approve", by="eve", expires=100.0),
        ev.ActionBegins(id="a1", tool="purge", args=args, approval="q1"),
        ev.ActionSettled(id="a1", decision="again", by="purge.verify"),
    ]
    given = reduce(apply, events, Account()).asks.approved[digest]
    assert (given.holds(99.0), given.holds(101.0)) == (True, False)
