"""Which service stands out: by what it logs, and by coarse metrics at an alert."""

from __future__ import annotations

import numpy as np
import pytest

from roundsman.analysis import summarise
from roundsman.analysis.around import around
from roundsman.analysis.makeup import makeups
from roundsman.sources import LogLine, Series, Window

WINDOW = Window(0.0, 600.0)


def lines(service: str, kinds: list[str], first: int, last: int) -> list[LogLine]:
    return [
        LogLine(float(at), service, "INFO", kinds[at % len(kinds)], kinds[at % len(kinds)])
        for at in range(first, last)
    ]


def test_a_service_that_takes_another_way_stands_out_and_one_that_is_asked_less_does_not() -> None:
    logged = [
        *lines("changed", ["begin", "ask", "end"], 0, 400),
        *lines("changed", ["begin", "refuse", "end"], 400, 600),
        *lines("quieter", ["one", "two", "three"], 0, 400),
        *lines("quieter", ["one", "two", "three"], 400, 440),
    ]
    found = makeups(summarise(logged, WINDOW))
    assert found[0].service == "changed"
    assert found[0].far > 8
    assert found[0].at == pytest.approx(400, abs=60)
    assert next((one.far for one in found if one.service == "quieter"), 0.0) < 3


def test_a_few_lines_are_no_make_up() -> None:
    assert makeups(summarise(lines("a", ["x", "y"], 0, 4), WINDOW)) == []
    assert makeups(summarise([], WINDOW)) == []


def series(values: list[float], metric: str = "latency_p99", step: float = 300.0) -> Series:
    return Series("a", metric, step * np.arange(len(values)), np.asarray(values))


QUIET = [1.0, 1.1, 0.9, 1.0, 1.0, 1.1, 0.9, 1.0, 1.0, 1.0]


def test_two_samples_off_at_the_alert_are_enough() -> None:
    found = around(series([*QUIET, 9.0, 8.0, 1.0]), 300.0 * 10)
    assert found is not None
    assert found.far > 30
    assert (found.before, found.then) == (1.0, 8.0)


def test_one_sample_off_or_a_drift_before_the_alert_is_not() -> None:
    one = around(series([*QUIET, 1.0, 9.0, 1.0]), 300.0 * 10)
    assert one is not None
    assert one.far < 2
    drift = around(series([*QUIET[:-2], 9.0, 9.0, 9.0, 9.0, 9.0]), 300.0 * 10)
    assert drift is not None
    assert drift.far < 2


def test_availability_is_worse_when_it_falls() -> None:
    good = [100.0] * 10
    falls = around(series([*good, 96.0, 95.0, 100.0], "availability"), 300.0 * 10)
    rises = around(series([*good, 104.0, 105.0, 100.0], "availability"), 300.0 * 10)
    assert falls is not None
    assert rises is not None
    assert falls.far > 5
    assert rises.far <= 0


def test_fine_series_are_left_to_the_onset() -> None:
    assert around(series([*QUIET, 9.0, 8.0, 1.0], step=10.0), 100.0) is None
