"""Calls that wait although nobody works: on which pairs, since when, and which service they share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from roundsman.analysis.gaps import waits
from roundsman.investigate.call_facts import CallFacts
from roundsman.investigate.facts import Facts
from roundsman.investigate.ranking import _waiting
from roundsman.sources import Span

CALLS = {"web": ("cart", "pay"), "cart": ("store",), "pay": (), "store": ()}
BEGINS = 60


def requests(
    delay: Callable[[str, str, int], float],
    works: Callable[[str, int], float] = lambda name, n: 0.02,
    lost: Callable[[str, str, int], bool] = lambda caller, callee, n: False,
) -> list[Span]:
    """A hundred requests, with a client's span around each call; `n` is the request's number."""
    rng = np.random.default_rng(1)
    out: list[Span] = []

    def serve(name: str, at: float, n: int, parent: str) -> float:
        me = f"{n}-{len(out)}"
        slot = len(out)
        out.append(Span(at, 0, name, "serve", str(n), me, parent, False))
        spent = works(name, n) * float(rng.uniform(0.9, 1.1))
        for callee in CALLS[name]:
            client = f"{me}-{callee}"
            took = delay(name, callee, n) + float(rng.uniform(0.001, 0.002))
            place = len(out)
            out.append(Span(at + spent, 0, name, f"call {callee}", str(n), client, me, False))
            if not lost(name, callee, n):
                took += serve(callee, at + spent + took / 2, n, client)
            out[place] = out[place]._replace(duration=took)
            spent += took
        out[slot] = out[slot]._replace(duration=spent)
        return spent

    for n in range(100):
        serve("web", 1_790_000_000.0 + 6 * n, n, "")
    return out


def ranked(found: list[Span]) -> list[str]:
    seen = waits(found)
    rows = [[name, far] for name, far in seen.by_service.items()]
    facts = Facts(along=CallFacts())
    facts.along.add("a1", {"wait_in": rows})
    return [one.service for one in _waiting(facts)]


def test_a_network_that_is_slow_around_one_service_is_told_by_all_its_pairs() -> None:
    found = requests(lambda a, b, n: 0.3 if n >= BEGINS and "cart" in (a, b) else 0.0)
    seen = waits(found)
    assert {(one.caller, one.callee) for one in seen.pairs} == {("web", "cart"), ("cart", "store")}
    assert all(one.at == pytest.approx(1_790_000_000 + 6 * BEGINS, abs=40) for one in seen.pairs)
    assert ranked(found)[0] == "cart"


def test_of_one_slow_pair_the_end_is_meant_whose_other_pairs_are_quick() -> None:
    slow = requests(lambda a, b, n: 0.3 if n >= BEGINS and b == "pay" else 0.0)
    assert ranked(slow)[0] == "pay"


def test_a_service_that_works_longer_makes_nobody_wait() -> None:
    found = requests(
        lambda a, b, n: 0.0, lambda name, n: 0.5 if n >= BEGINS and name == "cart" else 0.02
    )
    assert not waits(found).pairs


def test_calls_without_a_span_of_the_callee_are_told() -> None:
    found = requests(
        lambda a, b, n: 0.0, lost=lambda a, b, n: n >= BEGINS and b == "pay" and n % 2 == 0
    )
    (one,) = waits(found).pairs
    assert (one.caller, one.callee, one.missing) == ("web", "pay", True)
    assert one.after == pytest.approx(0.5, abs=0.05)


def test_quiet_requests_and_few_of_them_say_nothing() -> None:
    assert not waits(requests(lambda a, b, n: 0.0)).pairs
    assert not waits([]).pairs
    assert not waits(requests(lambda a, b, n: 0.3)[:20]).pairs
