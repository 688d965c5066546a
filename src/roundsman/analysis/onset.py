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
#: what `far` measures by, and where it ends (a shift away from nothing)
_TENTH, _MOST = 0.1, 1000.0


@dataclass(frozen=True)
class Onset:
    """A movement. `before` is None for a series that had no samples; `after` for one that ended.

    kind: step, appeared, vanished or transient (moved and came back before the window's end).
    score: the shift in units of noise. setting: both levels are exact constants but for a short
    passage between them, as a configured limit or a version marker is. far: the shift as a multiple of
    the noise before it and a tenth of the level before it; unlike the score it has no ceiling.
    """

    at: float
    kind: str
    before: float | None
    after: float | None
    score: float
    setting: bool
    far: float = 10.0
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
    times, values = _thinned(series.times, series.values, _BINS)
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
    far = abs(after - before) / (_mad(left) + _TENTH * abs(before) + 1e-9 * abs(after) + 1e-12)
    return Onset(
        float(times[split]), kind, before, after, round(score, 1), setting, min(far, _MOST)
    )


def ran_out(series: Series) -> float | None:
    """When a count-down reached zero: a series that falls by as much time as passes, to 0 or below.

    A remaining time (until a certificate, a token or a lease ends) is told by its slope, one second a
    second (or in minutes, hours, days), whatever it is called.
    """
    times, values = series.times, series.values
    if values.size < 4 or values[-1] > 0 or values[0] <= 0:
        return None
    left = np.flatnonzero(values > 0)
    if left.size < 3:
        return None
    span = float(times[left[-1]] - times[left[0]])
    fall = float(values[left[0]] - values[left[-1]])
    for unit in (1.0, 60.0, 3600.0, 86400.0):
        if span and abs(fall * unit / span - 1) <= 0.05:
            return float(times[left[-1]] + values[left[-1]] * unit)
    return None


def emptied(series: Series) -> float | None:
    """When what is left of something was nearly used up: since when a series has stayed below a twentieth of
    what it held at first, and to its end. None when it holds more, or never held anything.

    What it held at first is no more than there is room for, so it is more than 95 % full by any count.
    """
    values = series.values
    if values.size < _LEFT + _RIGHT or np.any(values < 0):
        return None
    low = values <= 0.05 * float(np.median(values[:_LEFT]))
    if not values[0] > 0 or not np.all(low[-2:]):
        return None
    above = np.flatnonzero(~low)
    return float(series.times[int(above[-1]) + 1])


def growing_since(series: Series) -> float | None:
    """Since when a series has grown steadily up to its peak; None when it does not, or always did.

    Method: the hinge (constant, then a straight rise) with the least squared error over at most 120
    bins; the rise must take at least 8 bins, be straight (r >= 0.95) and reach half as much again as
    the level before. A leak looks like this, and what began with it is where the line begins.
    """
    peak = int(np.argmax(series.values))
    times, values = _thinned(series.times[: peak + 1], series.values[: peak + 1])
    size = values.size
    if size < 16:
        return None
    best, at = np.inf, 0
    for start in range(2, size - 7):
        flat, rise = values[:start], values[start:]
        slope = np.polyfit(times[start:] - times[start], rise, 1)
        error = float(np.sum((flat - np.median(flat)) ** 2))
        error += float(np.sum((rise - np.polyval(slope, times[start:] - times[start])) ** 2))
        if error < best:
            best, at = error, start
    rise, level = values[at:], float(np.median(values[:at]))
    if np.std(rise) == 0 or float(np.corrcoef(times[at:], rise)[0, 1]) < 0.95:
        return None
    if rise[-1] < level + max(0.5 * abs(level), 5 * _mad(values[:at]), 1e-9):
        return None
    # a line that was rising from the first sample on began before anybody looked
    return float(times[at]) if at >= 3 else None


def _thinned(times: Floats, values: Floats, bins: int = 120) -> tuple[Floats, Floats]:
    if times.size <= bins:
        return times, values
    groups = np.array_split(np.arange(times.size), bins)
    return (
        np.array([times[group[0]] for group in groups]),
        np.array([np.median(values[group]) for group in groups]),
    )
