"""Tokens a day hold for all workers together, whoever asks at the same time."""

from __future__ import annotations

import random
import threading

import pytest
from journals import Journal

from roundsman.errors import UsageError
from roundsman.worker.daylimit import admit, limit_of, set_limit, settle, tokens_today


def test_the_day_is_never_overdrawn_by_many_who_ask_at_once(journal: Journal) -> None:
    store = journal.open()
    set_limit(store, 1000)
    together = threading.Barrier(4)
    admitted: list[int] = []

    def ask(number: int) -> None:
        mine = journal.open()
        together.wait()
        for turn in range(5):
            if admit(mine, f"r{number}-{turn}", 130):
                admitted.append(130)
        mine.close()

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == tokens_today(store) == 910  # seven times 130, not eight
    store.close()


def test_what_a_run_did_not_spend_is_free_again(journal: Journal) -> None:
    store = journal.open()
    set_limit(store, 100)
    assert admit(store, "a", 80)
    assert not admit(store, "b", 30)
    assert admit(store, "a", 80)  # handed out again after its worker died: reserved once
    assert tokens_today(store) == 80
    settle(store, "a", 50)
    assert admit(store, "b", 30)
    assert tokens_today(store) == 80
    set_limit(store, None)
    assert limit_of(store) is None
    assert admit(store, "c", None)
    store.close()


def test_what_was_settled_is_reserved_anew_when_it_is_asked_for_again(journal: Journal) -> None:
    store = journal.open()
    set_limit(store, 100)
    assert admit(store, "a", 60)
    settle(store, "a", 10)  # it failed
    assert admit(store, "b", 50)
    assert not admit(store, "a", 60)  # 10 are spent, 50 more would be 110
    assert tokens_today(store) == 60
    settle(store, "b", 40)
    assert admit(store, "a", 60)
    assert tokens_today(store) == 100
    assert admit(store, "a", 60)  # handed out again: that stands
    assert not admit(store, "a", 61)  # a person granted more than there is today
    store.close()


def test_a_run_that_goes_on_on_another_day_is_reserved_of_that_day(journal: Journal) -> None:
    store = journal.open()
    set_limit(store, 100)
    assert admit(store, "a", 60)
    store.db.execute("update spent set day=day-1")
    assert tokens_today(store) == 0
    assert admit(store, "b", 60)
    assert not admit(store, "a", 60)
    settle(store, "b", 40)
    assert admit(store, "a", 60)
    assert tokens_today(store) == 100
    store.close()


def test_reservations_of_any_sizes_stay_within_the_limit(journal: Journal) -> None:
    store = journal.open()
    set_limit(store, 500)
    dice = random.Random(7)
    held: dict[str, int] = {}
    for number in range(60):
        most = dice.randint(1, 300)
        if admit(store, f"r{number}", most):
            held[f"r{number}"] = most
        if held and dice.random() < 0.5:
            name = dice.choice(sorted(held))
            held[name] = dice.randint(0, held[name])
            settle(store, name, held[name])
        assert tokens_today(store) == sum(held.values()) <= 500
    store.close()


@pytest.mark.parametrize(("most", "why"), [(None, "set run.tokens"), (101, "lower run.tokens")])
def test_what_could_never_be_admitted_is_told(journal: Journal, most: int | None, why: str) -> None:
    store = journal.open()
    set_limit(store, 100)
    with pytest.raises(UsageError, match=why):
        admit(store, "a", most)
    store.close()
