"""When a metric moved, and which kinds of log lines are new."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.analysis import find_onset, mask, shared_words, shifts, summarise
from roundsman.sources import LogLine, Series, Window

T0 = 1_767_261_600.0


def series(values: list[float], first: int = 0) -> Series:
    times = T0 + 60.0 * np.arange(first, first + len(values))
    return Series("api", "m", times, np.asarray(values, dtype=np.float64))


def whole(count: int) -> Window:
    return Window(T0, T0 + 60 * (count - 1))


def noise(kind: str, seed: int) -> list[float]:
    random = np.random.default_rng(seed)
    if kind == "normal":
        return list(random.normal(10, 1, 60))
    if kind == "spiky":
        return list(random.exponential(1, 60))
    return list(random.poisson(0.3, 60).astype(float))


@pytest.mark.parametrize("kind", ["normal", "spiky", "rare"])
def test_noise_does_not_move(kind: str) -> None:
    found = [find_onset(series(noise(kind, seed)), whole(60)) for seed in range(60)]
    assert [one for one in found if one] == []


def test_a_step_is_dated_to_its_first_sample() -> None:
    random = np.random.default_rng(1)
    values = [*random.normal(10, 1, 40), *random.normal(30, 1, 20)]
    onset = find_onset(series(values), whole(60))
    assert onset is not None
    assert (onset.kind, onset.at, onset.setting) == ("step", T0 + 40 * 60, False)
    assert onset.before == pytest.approx(10, abs=1)
    assert onset.after == pytest.approx(30, abs=1)


def test_a_constant_never_moves_and_a_changed_constant_is_a_setting() -> None:
    assert find_onset(series([5.0] * 30), whole(30)) is None
    assert find_onset(series([0.0] * 30), whole(30)) is None
    onset = find_onset(series([8.0] * 20 + [40.0] * 10), whole(30))
    assert onset is not None
    assert (onset.setting, onset.at, onset.before, onset.after) == (True, T0 + 1200, 8.0, 40.0)


def test_a_series_that_begins_late_had_no_samples_not_zero() -> None:
    onset = find_onset(series([3.0, 4.0, 6.0, 5.0], first=26), whole(30))
    assert onset is not None
    assert (onset.kind, onset.before, onset.at) == ("appeared", None, T0 + 26 * 60)


def test_a_series_that_ends_early_vanished() -> None:
    onset = find_onset(series([3.0, 4.0] * 8), whole(30))
    assert onset is not None
    assert (onset.kind, onset.after) == ("vanished", None)


def test_a_bump_that_came_back_is_transient() -> None:
    values = [1.0, 1.2, 0.9, 1.1] * 6 + [9.0, 9.5, 9.2, 9.1] * 4 + [1.0, 1.1, 1.2, 0.9, 1.0]
    onset = find_onset(series(values), whole(len(values)))
    assert onset is None or onset.kind == "transient"


def test_a_gap_in_the_middle_is_no_movement() -> None:
    random = np.random.default_rng(2)
    full = series(list(random.normal(10, 1, 60)))
    keep = np.r_[0:20, 40:60]
    cut = Series("api", "m", full.times[keep], full.values[keep])
    assert find_onset(cut, whole(60)) is None


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40))
def test_any_values_are_judged_without_failing(values: list[float]) -> None:
    onset = find_onset(series(values), whole(len(values)))
    assert onset is None or T0 <= onset.at <= T0 + 60 * len(values)


def line(minute: float, text: str, level: str = "INFO") -> LogLine:
    return LogLine(T0 + minute * 60, "api", level, text, text)


def test_numbers_ids_and_addresses_are_masked() -> None:
    text = "user 17 at 10.0.0.1:80 took 1.5 ms 8f14e45f-ceea-4672-a1f1-0123456789ab 0xff deadbeef01"
    assert mask(text) == "user <n> at <ip> took <n> ms <id> <n> <id>"


def test_new_error_lines_come_first_and_steady_lines_not_at_all() -> None:
    lines = [line(n / 10, f"ok {n}") for n in range(600)]
    lines += [line(40 + n / 10, f"slow {n}", "WARN") for n in range(200)]
    lines += [line(45 + n, f"refused {n}", "ERROR") for n in range(10)]
    found = shifts(summarise(lines, Window(T0, T0 + 3600)))
    assert [(one.template.template, one.kind) for one in found] == [
        ("refused <n>", "appeared"),
        ("slow <n>", "appeared"),
    ]
    assert found[0].at == T0 + 45 * 60


def test_a_line_that_was_always_there_can_surge() -> None:
    lines = [line(n, "retry", "ERROR") for n in range(40)]
    lines += [line(40 + n / 10, "retry", "ERROR") for n in range(200)]
    (found,) = shifts(summarise(lines, Window(T0, T0 + 3600)))
    assert found.kind == "surged"
    assert found.at == pytest.approx(T0 + 40 * 60, abs=120)


def test_the_number_of_templates_is_bounded() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    lines = (line(1, f"{a}{b}{c} fell") for a in letters for b in letters for c in letters[:10])
    found = summarise(lines, Window(T0, T0 + 3600))
    assert len(found.templates) == 4000
    assert found.other == 6760 - 4000


def test_names_are_compared_by_telling_words() -> None:
    assert shared_words("DB_POOL_SIZE", ["db_pool_in_use"]) == ["pool"]
    assert shared_words("connectTimeout", ["connection timeouts rose"]) == ["timeout"]
    assert shared_words("max_rate", ["error rate"]) == []


def test_a_setting_may_be_passed_on_by_one_instance_after_the_other() -> None:
    values = [8.0] * 40 + [4.0, 3.0] + [6.0] * 40
    onset = find_onset(series(values), whole(len(values)))
    assert onset is not None
    assert onset.setting
    worked = [8.0] * 40 + [1.0, 2.0, 3.0, 1.0] * 5 + [2.0] * 20
    onset = find_onset(series(worked), whole(len(worked)))
    assert onset is not None
    assert not onset.setting


def test_a_line_that_was_due_many_times_and_does_not_come_has_vanished() -> None:
    often = [LogLine(T0 + 10 * n, "api", "INFO", "tick 1", "") for n in range(360)]
    mine = [LogLine(T0 + 10 * n, "job", "INFO", "done 1", "") for n in range(180)]
    rare = [LogLine(T0 + 600 * n, "job", "INFO", "rare", "") for n in range(3)]
    (found,) = shifts(summarise([*often, *mine, *rare], Window(T0, T0 + 3600)))
    assert (found.kind, found.template.service, found.before, found.after) == (
        "vanished", "job", 180, 0
    )  # fmt: skip
    once = LogLine(T0, "job", "INFO", "started", "")
    assert not shifts(summarise([*often, once], Window(T0, T0 + 3600)))
    # where all lines end, nothing is known of what came after
    assert not shifts(summarise([*mine, *rare], Window(T0, T0 + 3600)))
