from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.report.charts import HEIGHT, LEFT, MOST_POINTS, WIDTH, Chart, build_charts

BEGIN = datetime(2026, 1, 31, 10, 0, tzinfo=UTC)


def at(minute: float) -> str:
    return (BEGIN + timedelta(minutes=minute)).isoformat()


def chart(values: list[Any], **more: Any) -> Chart:
    points = [[at(index), value] for index, value in enumerate(values)]
    (made,) = build_charts([{"title": "t", "points": points, **more}])
    return made


def test_a_gap_breaks_the_line() -> None:
    made = chart([1, 2, None, float("nan"), 3, 4, float("inf"), 5])
    assert len(made.lines) == 2
    assert len(made.dots) == 1
    assert "3 of 8 values missing" in made.summary


@pytest.mark.parametrize(
    "values", [[5], [0, 0, 0], [-3, -3], [1e-320, 0], [1e90, -1e90], [1e300, 1]]
)
def test_flat_and_extreme_series_are_drawn(values: list[float]) -> None:
    made = chart(values)
    assert made.lines or made.dots
    assert len(made.y_ticks) >= 2


@pytest.mark.parametrize(
    "points", [[], None, "x", [1, 2], [[None, 1]], [["x", 1]], [[at(0), None]], [[at(0)]]]
)
def test_a_chart_without_values_is_left_out(points: Any) -> None:
    assert build_charts([{"points": points}]) == []


def test_long_series_keep_their_spike() -> None:
    values = [1.0] * 50_000
    values[31_234] = 900.0
    made = chart(values)
    (line,) = made.lines
    heights = [float(pair.split(",")[1]) for pair in line.split()]
    assert len(heights) <= MOST_POINTS
    assert min(heights) < HEIGHT / 3


def test_marks_are_placed_and_far_ones_left_to_the_text() -> None:
    made = chart(
        list(range(61)),
        onset=at(37),
        marks=[{"at": at(-10), "label": "deploy"}, {"at": at(-9000), "label": "old"}, {"at": "?"}],
    )
    assert [mark.kind for mark in made.marks] == ["mark", "onset"]
    assert LEFT <= made.marks[0].x < made.marks[1].x <= WIDTH
    assert "old at" in made.summary


def test_labels_do_not_lie_on_each_other() -> None:
    made = chart(
        list(range(61)), marks=[{"at": at(i / 2), "label": "deploy number"} for i in range(8)]
    )
    places = [(mark.label_x, mark.label_y) for mark in made.marks if mark.label]
    assert len(made.marks) == 8
    assert 2 <= len(places) < 8
    assert len({y for _, y in places}) == 2


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.floats(-1e12, 1e12) | st.just("x"), st.floats() | st.none()), max_size=30)
)
def test_whatever_the_points_the_numbers_are_numbers(points: list[tuple[Any, Any]]) -> None:
    for made in build_charts([{"points": points, "onset": 0, "marks": [{"at": 5e11}]}]):
        for line in made.lines:
            assert re.fullmatch(r"[-\d., ]+", line)
        for x, y in made.dots:
            assert math.isfinite(x)
            assert -1 <= y <= HEIGHT
        assert len(made.x_ticks) < 20
        assert len(made.y_ticks) < 12


def test_charts_share_one_axis_of_time_and_say_what_moved() -> None:
    long = {"points": [[n, 1] for n in range(0, 100, 10)], "before": 1, "after": 15}
    late = {"points": [[n, 2] for n in range(50, 100, 10)], "before": None, "after": 2.5}
    first, second = build_charts([long, late])
    assert first.x_ticks == second.x_ticks
    assert [first.note, second.note] == ["1 → 15", "no samples → 2.5"]
    assert build_charts([{"points": [[0, 1], [9, 1]]}])[0].note == ""


def test_a_chart_of_a_moment_is_not_squeezed_into_an_axis_of_days() -> None:
    days = {"points": [[n * 3600, 1] for n in range(48)]}
    minute = {"points": [[90_000 + n, 1] for n in range(60)]}
    wide, narrow = build_charts([days, minute])
    assert wide.x_ticks != narrow.x_ticks
