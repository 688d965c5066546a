"""What stretch of time telemetry covers, when a few of its times are wrong."""

from __future__ import annotations

from roundsman.sources.protocols import Floats

#: a time this much after everything else, in seconds, is a wrong clock or a placeholder
FAR = 86_400.0
LATE = "dated more than a day after all the rest: taken for wrong, not for the incident's end"
_FEW, _ENOUGH = 50, 8


def sensible_end(times: Floats) -> tuple[float, int]:
    """(the last time of an ordered series, how many after it were left out).

    One sample, or one in fifty, that lies a day or more after all others does not move the end; of fewer
    than eight samples nobody can tell.
    """
    if times.size < _ENOUGH:
        return float(times[-1]), 0
    for left_out in range(max(1, times.size // _FEW), 0, -1):
        if times[-left_out] - times[-left_out - 1] > FAR:
            return float(times[-left_out - 1]), left_out
    return float(times[-1]), 0
