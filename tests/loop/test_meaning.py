"""Numbers, names and times decide whether a finding is new; wording does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.loop import Held
from roundsman.loop.answer import Claim
from roundsman.loop.grounding import ungrounded
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


def test_a_lone_letter_another_zone_and_a_word_in_a_short_sentence_tell_findings_apart() -> None:
    pairs = [
        ("lookups of redis fail in zone b only", "lookups of redis fail in zone a only"),
        (
            "Kubelet on node failed to renew its client certificate",
            "Kubelet failed to renew its server certificate",
        ),
        (
            "api2-0: container CPU load, started 2022-03-20 11:08:07",
            "api2-0: container memory load, started ?",
        ),
    ]
    for one, other in pairs:
        assert not Said(one).says(other)
        assert not Said(other).says(one)
        assert Said(one).resembles(other)


def test_what_may_be_told_already_is_marked_and_never_merged() -> None:
    told = "orders-db: pool is exhausted, 100 of 100; no free connections remain, all 100 in use"
    results = {"a1": told}
    held = Held("grounded")
    claims = (
        Claim("the pool of orders-db is exhausted, 100 of 100", ("a1",)),
        Claim("no free connections remain for orders-db, all 100 of the pool in use", ("a1",)),
    )
    assert held.take(claims, 1, results) == 2
    assert "possible_duplicate_of" not in held.held[0].to_json()
    assert held.held[1].to_json()["possible_duplicate_of"] == "f1"


def test_a_clock_time_before_a_colon_is_a_time() -> None:
    assert ungrounded("it was cut at 10:00", ["v2 deployed 10:00: POOL 50 -> 20"]) == []
    assert ungrounded("it was cut at 10:01", ["v2 deployed 10:00: POOL 50 -> 20"]) == ["10:01"]


@pytest.mark.parametrize(
    ("held", "told", "repeat"),
    [
        ("db-1: high CPU usage, started 10:08", "db-1: high CPU usage, started 10:04:30", True),
        ("api slow since 2026-01-01T10:08Z", "api slow since 2026-01-01T10:05Z", True),
        ("api slow since 10:08", "api slow since 10:16", False),
        ("api slow since 2026-01-01 10:08", "api slow since 2026-01-02 10:08", False),
        ("db-1: high CPU usage, started 10:08", "db-2: high CPU usage, started 10:07", False),
        ("db-1: high CPU usage, started 10:08", "db-1: high disk usage, started 10:07", False),
        ("pod killed at 10:08", "pod killed at 10:07", False),
        ("5 errors from 10:08", "6 errors from 10:07", False),
    ],
)
def test_one_beginning_may_be_dated_minutes_apart_and_an_event_may_not(
    held: str, told: str, repeat: bool
) -> None:
    assert Said(held).says(told) is repeat
    assert Said(told).says(held) is repeat
