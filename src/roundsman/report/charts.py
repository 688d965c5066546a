"""Line charts as numbers: everything a template needs to draw an SVG, and nothing it must escape
by itself except labels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from roundsman.report.text import as_dicts, as_list, as_number, as_time, clean, show_time

WIDTH, HEIGHT = 720, 230
LEFT, RIGHT, TOP, BOTTOM = 62, 24, 40, 28
MOST_POINTS = 600
"""Points drawn in one line; more are thinned so that every dip and spike stays."""
_TOO_LARGE = 1e100
_STEPS = (1, 5, 15, 30, 60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


@dataclass(frozen=True)
class Tick:
    """A place on an axis (px) and its label."""

    at: float
    label: str


@dataclass(frozen=True)
class Mark:
    """A vertical line: its x, its label, the label's own x, y and anchor (px)."""

    x: float
    label: str
    label_x: float
    label_y: float
    anchor: str
    kind: str


@dataclass(frozen=True)
class Chart:
    """One chart; `lines` are the values of SVG `points`, `dots` single points between gaps."""

    title: str
    note: str
    summary: str
    lines: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]


def build_charts(value: object, most: int = 24) -> list[Chart]:
    """The first `most` charts that have at least one value to draw; the others are left out.

    They share one axis of time, so that what moved first is seen by comparing them.
    """
    items = as_dicts(value)[:most]
    times = [
        at for item in items for at, number in _points(item.get("points")) if number is not None
    ]
    shared = (min(times), max(times)) if times else (0.0, 0.0)
    made = (_chart(item, shared) for item in items)
    return [chart for chart in made if chart is not None]


def _chart(item: Mapping[str, Any], shared: tuple[float, float]) -> Chart | None:
    points = _points(item.get("points"))
    values = [value for _, value in points if value is not None]
    if not values:
        return None
    low, high = min(values), max(values)
    ticks = _nice(low, high)
    bottom, top = min(ticks[0], low), max(ticks[-1], high)
    first, last = points[0][0], points[-1][0]
    if last - first > 0.05 * (shared[1] - shared[0]):
        first, last = min(first, shared[0]), max(last, shared[1])
    marks = _wanted(item)
    # A deploy shortly before the first value is often the cause: the axis makes room for it, but
    # not for one so far away that the line would be squeezed into a corner.
    reach = max((last - first) * 0.5, 60.0)
    near = [at for at, _, _ in marks if first - reach <= at <= last + reach]
    start, end = min([first, *near]), max([last, *near])
    if end <= start:
        start, end = start - 30, end + 30

    def place_x(at: float) -> float:
        return round(LEFT + (at - start) / (end - start) * (WIDTH - LEFT - RIGHT), 1)

    def place_y(number: float) -> float:
        return round(
            HEIGHT - BOTTOM - (number - bottom) / (top - bottom) * (HEIGHT - TOP - BOTTOM), 1
        )

    lines, dots = _draw(_thin(points), place_x, place_y)
    name = " ".join(filter(None, (clean(item.get("service"), 80), clean(item.get("metric"), 120))))
    shown = [(at, label, kind) for at, label, kind in marks if start <= at <= end]
    return Chart(
        title=clean(item.get("title"), 200) or name or "Metric",
        note=_note(item),
        summary=_summary(name, points, values, marks),
        lines=lines,
        dots=dots,
        x_ticks=tuple(Tick(place_x(at), label) for at, label in _time_ticks(start, end)),
        y_ticks=tuple(Tick(place_y(one), _short(one)) for one in ticks),
        marks=_lay_out([(place_x(at), label, kind) for at, label, kind in shown]),
    )


def _note(item: Mapping[str, Any]) -> str:
    """`1 → 15`, when the chart says what it moved between."""
    if "before" not in item or "after" not in item:
        return ""
    ends = [
        "no samples" if number is None else _short(number)
        for number in (as_number(item["before"]), as_number(item["after"]))
    ]
    return " → ".join(ends)


def _points(value: object) -> list[tuple[float, float | None]]:
    found: list[tuple[float, float | None]] = []
    for pair in as_list(value):
        if not isinstance(pair, (list, tuple)) or len(pair) < 2:
            continue
        at, number = as_time(pair[0]), as_number(pair[1])
        if at is not None:
            usable = number is not None and abs(number) < _TOO_LARGE
            found.append((at.timestamp(), number if usable else None))
    found.sort(key=lambda point: point[0])
    return found


def _wanted(item: Mapping[str, Any]) -> list[tuple[float, str, str]]:
    wanted = []
    onset = as_time(item.get("onset"))
    if onset is not None:
        form = "%H:%M:%S" if onset.second else "%H:%M"
        wanted.append((onset.timestamp(), f"onset {onset:{form}}", "onset"))
    for mark in as_dicts(item.get("marks"))[:20]:
        at = as_time(mark.get("at"))
        if at is not None:
            wanted.append((at.timestamp(), clean(mark.get("label"), 60) or "change", "mark"))
    return sorted(wanted)


def _thin(points: list[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """Keep the lowest and the highest of each stretch, and the gaps, in their order."""
    if len(points) <= MOST_POINTS:
        return points
    size = math.ceil(len(points) / (MOST_POINTS / 3))
    kept: list[tuple[float, float | None]] = []
    for begin in range(0, len(points), size):
        part = points[begin : begin + size]
        real = [index for index, (_, value) in enumerate(part) if value is not None]
        gap = next((index for index, (_, value) in enumerate(part) if value is None), None)
        picked = {gap} if gap is not None else set()
        if real:
            picked |= {min(real, key=lambda i: part[i][1] or 0.0)}
            picked |= {max(real, key=lambda i: part[i][1] or 0.0)}
        kept += [part[index] for index in sorted(one for one in picked if one is not None)]
    return kept


def _draw(
    points: list[tuple[float, float | None]], place_x: Any, place_y: Any
) -> tuple[tuple[str, ...], tuple[tuple[float, float], ...]]:
    runs: list[list[tuple[float, float]]] = [[]]
    for at, value in points:
        if value is None:
            runs.append([])
        else:
            runs[-1].append((place_x(at), place_y(value)))
    lines = tuple(" ".join(f"{x},{y}" for x, y in run) for run in runs if len(run) > 1)
    return lines, tuple(run[0] for run in runs if len(run) == 1)


def _nice(low: float, high: float) -> list[float]:
    """Three to six round numbers that cover both ends; zero is kept in when it is near."""
    if low > 0 and low < high * 0.5:
        low = 0.0
    if high <= low:
        pad = abs(low) * 0.1 or 1.0
        low, high = low - pad, high + pad
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 1e-300 else raw or 1.0
    step = next((power * one for one in (1, 2, 2.5, 5) if power * one >= raw), power * 10)
    begin, end = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(begin, end + 1)]


def _short(number: float) -> str:
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(number) >= size:
            scale = 1e3 if unit == "k" else size
            return f"{number / scale:.4g}{unit}"
    return f"{number:.4g}"


def _time_ticks(start: float, end: float) -> list[tuple[float, str]]:
    span = end - start
    step = next((one for one in _STEPS if span / one <= 7), None) or 86400 * math.ceil(
        span / 86400 / 6
    )
    form = "%H:%M:%S" if step < 60 else "%H:%M" if span <= 86400 else "%m-%d %H:%M"
    begin = math.ceil(start / step)
    return [
        (number * step, datetime.fromtimestamp(number * step, UTC).strftime(form))
        for number in range(begin, math.floor(end / step) + 1)
    ]


def _lay_out(marks: list[tuple[float, str, str]]) -> tuple[Mark, ...]:
    """Labels go on two rows above the plot, and to the left of their line near the right edge."""
    ends = [0.0, 0.0]
    laid = []
    for x, label, kind in marks:
        left = x > WIDTH * 0.7
        label = label if len(label) <= 28 else label[:27] + "…"
        length = len(label) * 6.2
        begin = x - length - 4 if left else x + 4
        row = 0 if ends[0] <= begin else 1
        # Two rows are full: the line stays, its label would only make both unreadable.
        fits = ends[row] <= begin
        if fits:
            ends[row] = begin + length + 8
        laid.append(
            Mark(
                x=x,
                label=label if fits else "",
                label_x=x - 4 if left else x + 4,
                label_y=TOP - 8 - 15 * row,
                anchor="end" if left else "start",
                kind=kind,
            )
        )
    return tuple(laid)


def _summary(
    name: str,
    points: list[tuple[float, float | None]],
    values: list[float],
    marks: list[tuple[float, str, str]],
) -> str:
    """What someone who cannot see the line needs to know of it."""
    begin = show_time(datetime.fromtimestamp(points[0][0], UTC))
    end = show_time(datetime.fromtimestamp(points[-1][0], UTC))
    text = (
        f"{name or 'Values'} from {begin} to {end}: lowest {min(values):.4g}, "
        f"highest {max(values):.4g}, last {values[-1]:.4g}."
    )
    lost = len(points) - len(values)
    if lost:
        text += f" {lost} of {len(points)} values missing."
    for at, label, kind in marks:
        said = "Onset" if kind == "onset" else label
        text += f" {said} at {show_time(datetime.fromtimestamp(at, UTC))}."
    return text
