"""When a metric counts as back, and when nothing can be said of it."""

from __future__ import annotations

import numpy as np
import pytest

from roundsman.remedy.finding import Broken
from roundsman.remedy.telemetry import Reading, limit, look
from roundsman.sources import Series

ERRORS = Broken("till", 'http_requests_rate{code="502"}', None, 6.0, 10.0, 1000.0)
SLOW = Broken("till", "request_duration_p99_seconds", 0.2, 1.4, 12.0, 1000.0)
GOOD = Broken("till", "success_share", 0.99, 0.6, 50.0, 1000.0)


def series(metric: str, *values: float, end: float = 2000.0, service: str = "till") -> Series:
    times = np.array([end - 10.0 * n for n in range(len(values))][::-1])
    return Series(service, metric, times, np.array(values, dtype=float))


def at(
    broken: Broken, *found: Series, after: float = 1950.0, newest: float = 2000.0
) -> tuple[object, bool]:
    seen = look(lambda one, now: Reading(list(found), newest), broken, after, 2001.0)
    return seen.value, seen.back


def test_nine_tenths_of_the_way_or_the_noise_of_before() -> None:
    assert limit(ERRORS).value == pytest.approx(0.6)
    assert limit(SLOW).value == pytest.approx(0.2 + 3 * 1.2 / 12)
    assert limit(Broken("t", "errors", 1.0, 2.0, 1.0, 0.0)).value == 1.5  # noise: half of the way
    assert limit(GOOD).down
    assert limit(GOOD).holds(0.98)
    assert not limit(GOOD).holds(0.7)
    assert limit(SLOW).holds(0.0)  # better than before is no harm


def test_errors_that_come_back_as_another_code_are_not_back() -> None:
    assert at(ERRORS, series(ERRORS.metric, 6, 0, 0)) == (0.0, True)
    moved = series('http_requests_rate{code="504"}', 0, 5, 6)
    assert at(ERRORS, series(ERRORS.metric, 6, 0, 0), moved) == (6.0, False)
    fine = series('http_requests_rate{code="200"}', 9, 9, 9)
    other = series('http_requests_rate{code="502"}', 6, 6, 6, service="other")
    assert at(ERRORS, series(ERRORS.metric, 6, 0, 0), fine, other) == (0.0, True)


def test_what_had_no_samples_before_may_have_none_again() -> None:
    ended = series(ERRORS.metric, 6, 6, 6, end=1900.0)
    assert at(ERRORS, ended) == (0.0, True)
    assert at(ERRORS) == (0.0, True)
    assert at(SLOW) == (None, False)  # it had some: nobody can say how slow it is now


def test_the_dead_make_no_errors() -> None:
    for alive in (True, False):
        reading = Reading([series(ERRORS.metric, 6, 6, 6, end=1900.0)], 2000.0, lambda: alive)  # noqa: B023
        seen = look(lambda one, now: reading, ERRORS, 1950.0, 2001.0)  # noqa: B023
        assert (seen.value, seen.back) == ((0.0, True) if alive else (None, False))


def test_a_source_that_is_filled_no_more_says_nothing() -> None:
    assert at(ERRORS, newest=1940.0) == (None, False)
    assert at(ERRORS, series(ERRORS.metric, 6, 6, 6, end=1945.0), newest=1960.0) == (None, False)
    assert at(SLOW, series(SLOW.metric, 0.2, 0.2, end=1949.0)) == (None, False)
