"""When a metric moved, and how far: robust statistics over one series.

Method: the split of the series (at most 240 bins) into two constant pieces with the smallest sum of
absolute deviations, then back to the first sample that left the earlier level. A movement must be
large against the noise on both sides (MAD) and separate the two sides in rank. Constants, gaps and
series that begin or end inside the window are handled before that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roundsman.sources.protocols import Floats, Series, Window

METHOD = "two-piece median fit (least absolute deviations), shift over MAD noise"
_BINS = 240
_LEFT, _RIGHT = 5, 3
_SCORE = 5.0
_SEPARATION = 0.9
#: noise is never taken to be smaller than this share of the level
_FLOOR = 0.05


@dataclass(frozen=True)
class Onset:
    """A movement. `before` is None for a series that had no samples; `after` for one that ended.

    kind: step, appeared, vanished or transient (moved and came back before the window's end).
    score: the shift in units of noise. setting: both levels are exact constants but for a short
    passage between them, as a configured limit or a version marker is.
    """

    at: float
    kind: str
    before: float | None
    after: float | None
    score: float
    setting: bool
    method: str = METHOD


def _mad(values: Floats) -> float:
    return float(np.median(np.abs(values - np.median(values)))) * 1.4826


def _noise(left: Floats, right: Floats) -> float:
    level = max(abs(float(np.median(left))), abs(float(np.median(right))))
    return max(_mad(left), 0.5 * _mad(right), _FLOOR * level, 1e-12)


def _constant(values: Floats) -> bool:
    return bool(np.all(values == values[0]))


def _settled(values: Floats) -> bool:
    """Whether it is an exact constant after a short passage: what instances report together goes
    through other values while they are restarted one by one."""
    other = np.flatnonzero(values != values[-1])
    passage = int(other[-1]) + 1 if other.size else 0
    return passage <= max(0, values.size // 10)


def _edge(series: Series, window: Window) -> Onset | None:
    times, values = series.times, series.values
    gaps = np.diff(times)
    # a rate needs a few samples to start: 5 % of the window, or four of its own steps
    step = float(np.median(gaps)) if gaps.size else 0.0
    margin = max(0.08 * (window.end - window.start), 4 * step)
    late = times[0] - window.start > margin
    early = window.end - times[-1] > margin
    level = float(np.median(values))
    if late and not early and np.any(values != 0):
        return Onset(float(times[0]), "appeared", None, level, 10.0, _constant(values))
    if early and not late:
        return Onset(float(times[-1]), "vanished", level, None, 10.0, _constant(values))
    return None


def _bins(times: Floats, values: Floats) -> tuple[Floats, Floats]:
    if times.size <= _BINS:
        return times, values
    groups = np.array_split(np.arange(times.size), _BINS)
    return (
        np.array([times[group[0]] for group in groups]),
        np.array([np.median(values[group]) for group in groups]),
    )


def _split(values: Floats) -> int:
    """The split into two constant pieces that leaves the smallest sum of absolute deviations."""
    costs = [
        float(np.sum(np.abs(part[0] - np.median(part[0]))))
        + float(np.sum(np.abs(part[1] - np.median(part[1]))))
        for part in (
            (values[:index], values[index:]) for index in range(_LEFT, values.size - _RIGHT + 1)
        )
    ]
    return _LEFT + int(np.argmin(costs))


def find_onset(series: Series, window: Window) -> Onset | None:
    """The movement of one series in a window, or None when it stays within its noise.

    `window` is where samples could have been (the extent of all series), so that a series which is
    absent at first is told from one that is short.
    """
    edge = _edge(series, window)
    if edge:
        return edge
    times, values = _bins(series.times, series.values)
    if values.size < _LEFT + _RIGHT or _constant(values):
        return None
    split = _split(values)
    left, right = values[:split], values[split:]
    before, after = float(np.median(left)), float(np.median(right))
    noise = _noise(left, right)
    score = abs(after - before) / noise
    sign = 1.0 if after > before else -1.0
    limit = float(np.quantile(sign * left, 0.95))
    separation = float(np.mean(sign * right > limit))
    if score < _SCORE or separation < _SEPARATION:
        return None
    while split > _LEFT and sign * (values[split - 1] - before) > 3 * noise:
        split -= 1
    tail = right[-max(2, right.size // 5) :]
    back = sign * (float(np.median(tail)) - before) < max(noise, abs(after - before) / 3)
    setting = _settled(left[::-1]) and _settled(right)
    kind = "transient" if back else "step"
    return Onset(float(times[split]), kind, before, after, round(score, 1), setting)
