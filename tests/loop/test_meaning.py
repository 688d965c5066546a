"""Numbers, names and times decide whether a finding is new; wording does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.loop import Held
from roundsman.loop.answer import Claim
from roundsman.loop.meaning import Said

REPEATS = [
    (
        "checkout-api errors at 18 % from 10:07",
        "From 10:07 on, 18 % of requests to checkout-api fail",
    ),
    ("checkout-api errors at 18 % from 10:07", "checkout-api errors: 17.9% from 10:07:00"),
    ("checkout-api errors at 18 % from 10:07", "checkout-api shows errors at 18 %"),
    (
        "payments-db refuses connections (too many clients)",
        "connections are refused by payments-db: too many clients",
    ),
    (
        "v1.42, deployed 10:00, cut DB_POOL_SIZE from 50 to 20",
        "the deploy of v1.42 at 10:00 reduced DB_POOL_SIZE 50 -> 20",
    ),
    ("errors rose to 18 % at 10:07", "errors climbed to 18 % at 10:07"),
    ("disk full on node-1", "node-1's disk is full"),
    ("The disk is full", "the disk is full."),
]
NEW = [
    ("checkout-api errors at 18 % from 10:07", "checkout-api errors at 19 % from 10:07"),
    ("checkout-api errors at 18 % from 10:07", "checkout-api errors at 18 % from 10:09"),
    ("checkout-api errors at 18 % from 10:07", "payments-api errors at 18 % from 10:07"),
    ("cart-api restarted", "cart-api is slow"),
    ("errors rose to 18 %", "errors fell to 18 %"),
    ("The disk is full", "the disk is not full"),
    ("went from 200 ms to 3 s", "went from 3 s to 200 ms"),
    ("replica db-1 lags 45 s behind db-0", "replica db-0 lags 45 s behind db-1"),
    (
        "readiness probe of search fails with HTTP 503",
        "liveness probe of search fails with HTTP 503",
    ),
]


@pytest.mark.parametrize(("held", "told"), REPEATS)
def test_other_words_for_the_same_facts_are_a_repeat(held: str, told: str) -> None:
    assert Said(held).says(told)


@pytest.mark.parametrize(("held", "told"), NEW)
def test_another_fact_is_new(held: str, told: str) -> None:
    assert not Said(held).says(told)


@given(st.text(max_size=80), st.text(max_size=80))
def test_comparing_never_fails(one: str, other: str) -> None:
    Said(one).says(other)


@given(st.text(min_size=1, max_size=80).filter(str.strip))
def test_a_statement_told_twice_is_progress_once(statement: str) -> None:
    held = Held("grounded")
    claim = Claim(statement, ("a1",))
    assert held.take((claim, claim), 1, {"a1": statement}) == 1
    assert held.take((claim,), 2, {"a1": statement}) == 0


def test_a_rephrased_finding_is_no_progress_and_a_new_number_is() -> None:
    held = Held("grounded")
    results = {"a1": "checkout-api errors 18 % at 10:07", "a2": "checkout-api errors 25 % at 10:20"}
    assert held.take((Claim("checkout-api errors at 18 % from 10:07", ("a1",)),), 1, results) == 1
    again = Claim("From 10:07 on, 18 % of the requests to checkout-api fail", ("a1",))
    assert held.take((again,), 2, results) == 0
    more = Claim("checkout-api errors at 25 % from 10:20", ("a2",))
    assert held.take((more,), 3, results) == 1


def test_a_claim_is_held_once_it_cites_what_supports_it() -> None:
    held = Held("grounded")
    results = {"a1": "node-1: disk full"}
    assert held.take((Claim("disk full on node-1"),), 1, results) == 0
    assert held.take((Claim("disk full on node-1"),), 2, results) == 0
    assert [one.id for one in held.unsupported] == ["f1"]
    assert held.take((Claim("disk full on node-1", ("a1",)),), 3, results) == 1
    assert held.unsupported == []
    assert [one.id for one in held.held] == ["f2"]
