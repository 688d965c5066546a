"""How far a coarse series is from its usual level when an alert comes: a few samples are all there is.

Method: the second worst sample around the alert against the median of those before, in units of their MAD
and a tenth of the level (for what is better when higher, a two hundredth: availability moves little).
A series that was as far off shortly before already (a drift, another kind of day) does not count; of the
samples shortly before the worst is passed over, since an alert may come one sample late.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from roundsman.analysis.symptoms import more_is_better
from roundsman.sources.protocols import Series

#: steps between samples from which a series is coarse, in seconds
COARSE = 120.0
_LEAST = 6
#: around an alert, in steps: from so many before to so many after; shortly before, from so many before
_NEAR, _AFTER, _SHORTLY = 1.0, 3.0, 3.2
_SHARE, _SHARE_GOOD = 0.1, 0.005
_MOST = 1000.0


@dataclass(frozen=True)
class Around:
    """far: in units of noise, above 0 the bad way. before, then: usual level and the one at the alert."""

    far: float
    before: float
    then: float
    at: float


def is_coarse(series: Series) -> bool:
    """Whether its samples are minutes apart."""
    return series.times.size > 1 and float(np.median(np.diff(series.times))) >= COARSE


def around(series: Series, alert: float) -> Around | None:
    """How far the series is off at the alert; None when it is not coarse or has too few samples."""
    times, values = series.times, series.values
    if times.size < _LEAST:
        return None
    step = float(np.median(np.diff(times)))
    if step < COARSE:
        return None
    sign = -1.0 if more_is_better(series.metric) else 1.0
    near = (times >= alert - _NEAR * step) & (times <= alert + _AFTER * step)
    shortly = np.sort(sign * values[(times >= alert - _SHORTLY * step) & (times < alert)])
    usual = values[times < alert - _NEAR * step]
    if near.sum() < 2 or usual.size < _LEAST - 2:
        return None
    level = float(np.median(usual))
    mad = float(np.median(np.abs(usual - level))) * 1.4826
    noise = mad + (_SHARE if sign > 0 else _SHARE_GOOD) * abs(level) + 1e-9
    order = np.argsort(-sign * values[near])
    then = float(values[near][order[1]])
    far = sign * (then - level) / noise
    if shortly.size:
        far = min(far, (sign * then - float(shortly[-2:][0])) / noise)
    return Around(min(far, _MOST), level, then, float(times[near][min(order[:2])]))
