"""Calls that wait although nobody works: time a caller's span lasts beyond its callee's, and calls whose
callee wrote no span.

Method: for each pair of services the gap (duration of a span with one child, in another service, less that
child's) and whether a span that usually has such a child has none; both over time, split as series of
metrics are (`onset`). The network of a service is suspected when most of the pairs it belongs to wait: of
one slow pair its other pairs tell which end it is. Needs spans on both sides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from roundsman.analysis.onset import Onset, find_onset
from roundsman.sources.protocols import Series, Span, Window

#: samples a pair needs, and its gap's least growth: seconds, and as a multiple
_SAMPLES, _LEAST, _TIMES = 12, 0.02, 1.5
#: share of calls that usually have a callee's span, and of those that miss it now
_USUAL, _MISSING = 0.9, 0.2


@dataclass(frozen=True)
class Wait:
    """A pair of services whose calls wait since `at` (epoch seconds). before, after: the gap in seconds, or
    the share of calls without a span of the callee (`missing`). far: in units of noise."""

    caller: str
    callee: str
    at: float
    before: float
    after: float
    far: float
    missing: bool = False


@dataclass(frozen=True)
class Waits:
    """pairs: the furthest first. by_service: how far all pairs of one wait, times the share that does."""

    pairs: tuple[Wait, ...]
    by_service: dict[str, float]


def waits(spans: Sequence[Span]) -> Waits:
    """Pairs of services whose calls began to wait, and the services that all have in common."""
    children: dict[tuple[str, str], list[Span]] = defaultdict(list)
    for one in spans:
        if one.parent:
            children[one.trace, one.parent].append(one)
    gaps: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    answered: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    for one in spans:
        mine = children.get((one.trace, one.id), []) if one.id else []
        others = {child.service for child in mine if child.service not in ("", one.service)}
        if len(mine) <= 1:
            answered[one.service, one.name].append((one.at, next(iter(others), "")))
        if len(mine) == 1 and others and one.duration is not None and mine[0].duration is not None:
            gaps[one.service, mine[0].service].append((one.at, one.duration - mine[0].duration))
    found = [wait for pair, some in gaps.items() if (wait := _gap(*pair, some))]
    found += [wait for key, some in answered.items() if (wait := _unanswered(key[0], some))]
    pairs = tuple(sorted(found, key=lambda one: (-one.far, one.caller, one.callee)))
    return Waits(pairs, _by_service(pairs, gaps.keys()))


def _moved(samples: list[tuple[float, float]]) -> Onset | None:
    if len(samples) < _SAMPLES:
        return None
    times, values = (
        np.array(column, dtype=np.float64) for column in zip(*sorted(samples), strict=True)
    )
    series = Series("", "", times, values)
    found = find_onset(series, Window(float(times[0]), float(times[-1])))
    return found if found is not None and found.kind == "step" else None


def _gap(caller: str, callee: str, samples: list[tuple[float, float]]) -> Wait | None:
    found = _moved(samples)
    if found is None or found.before is None or found.after is None:
        return None
    if found.after - found.before < _LEAST or found.after < _TIMES * found.before:
        return None
    return Wait(caller, callee, found.at, found.before, found.after, found.far)


def _unanswered(caller: str, samples: list[tuple[float, str]]) -> Wait | None:
    """Of calls that had a callee's span nearly always: since when many have none."""
    if len(samples) < _SAMPLES:
        return None
    samples.sort()
    named = [callee for _, callee in samples if callee]
    if not named or len(set(named)) != 1 or len(named) == len(samples):
        return None
    first = next(at for at, callee in samples if not callee)
    before = [callee for at, callee in samples if at < first]
    after = [callee for at, callee in samples if at >= first]
    if len(before) < _SAMPLES // 2 or len(after) < 4:
        return None
    share = sum(not callee for callee in after) / len(after)
    # without any before the first, a usual share of misses would be seen as spread over all of it
    if len(before) / len(samples) < 1 - _USUAL or share < _MISSING:
        return None
    return Wait(caller, named[0], first, 0.0, share, share / (1 - _USUAL), missing=True)


def _by_service(pairs: Sequence[Wait], known: Iterable[tuple[str, str]]) -> dict[str, float]:
    edges = {*known, *((one.caller, one.callee) for one in pairs)}
    far: dict[tuple[str, str], float] = {}
    for one in pairs:
        far[one.caller, one.callee] = max(one.far, far.get((one.caller, one.callee), 0.0))
    out: dict[str, float] = {}
    for name in {name for pair in far for name in pair}:
        mine = [pair for pair in edges if name in pair]
        waiting = [far[pair] for pair in mine if pair in far]
        out[name] = sum(waiting) * len(waiting) / len(mine)
    return out
