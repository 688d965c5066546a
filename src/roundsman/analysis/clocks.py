"""Whether sources go by different clocks: how far one is ahead of another, and what shows it.

Two methods. Recordings of one incident begin and end together: where one kind both begins and ends by the
same whole or half hours later, its times are of another zone. And what is one event seen twice (an error
counted and logged, a setting changed and measured) has one time: a lag that several such pairs agree on is a
clock's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roundsman.sources.protocols import Window

_HALF_HOUR = 1800.0
#: how far from a multiple of half an hour a zone's shift may seem, in seconds
_OFF = 150.0
#: zones differ by no more than this, in seconds
_MOST = 14 * 3600.0
#: a lag below this may come of sampling, in seconds; pairs must agree on it this well
_LEAST, _AGREE = 240.0, 90.0


@dataclass(frozen=True)
class Skew:
    """`of` is `seconds` ahead of `against` (behind, when negative); `by`: what shows it."""

    of: str
    against: str
    seconds: float
    by: str

    @property
    def said(self) -> str:
        """The skew in words."""
        way = "ahead of" if self.seconds > 0 else "behind"
        return f"{self.of} are {span(abs(self.seconds))} {way} {self.against}"


def span(seconds: float) -> str:
    """A duration in words; one near a multiple of half an hour as that."""
    if abs(seconds - zone(seconds)) <= _OFF and zone(seconds):
        seconds = zone(seconds)
    hours, minutes = int(seconds // 3600), round(seconds % 3600 / 60)
    return " ".join(
        filter(None, [f"{hours} h" if hours else "", f"{minutes} min" if minutes else ""])
    )


def zone(seconds: float) -> float:
    """The multiple of half an hour nearest to a lag."""
    return round(seconds / _HALF_HOUR) * _HALF_HOUR


def _is_zone(seconds: float) -> bool:
    near = zone(seconds)
    return near != 0 and abs(near) <= _MOST and abs(seconds - near) <= _OFF


def shifted(extents: Mapping[str, Window]) -> list[Skew]:
    """Kinds of telemetry whose recording lies whole or half hours beside that of metrics (else of the
    first kind there is)."""
    order = [kind for kind in ("metrics", "logs", "traces") if kind in extents]
    out = []
    for kind in order[1:]:
        one, other = extents[order[0]], extents[kind]
        begins, ends = other.start - one.start, other.end - one.end
        length = min(one.end - one.start, other.end - other.start)
        if length < 300 or abs(begins - ends) > max(_OFF, 0.1 * length):
            continue
        # one of them may begin a sample late: either edge may tell the zone
        lag = next((lag for lag in (ends, begins) if _is_zone(lag)), None)
        if lag is not None:
            why = "both begin and end so far apart"
            out.append(Skew(kind, order[0], zone(lag), why))
    return out


def agreed(lags: Sequence[float], enough: int = 2) -> float | None:
    """The lag that pairs of one event seen twice agree on; None when they do not, or it is small.

    A single pair is enough only where its lag is that of a zone.
    """
    if not lags:
        return None
    middle = float(np.median(lags))
    if abs(middle) < _LEAST or max(abs(lag - middle) for lag in lags) > _AGREE:
        return None
    return middle if len(lags) >= enough or _is_zone(middle) else None
