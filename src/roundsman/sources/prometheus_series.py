"""Rows of a range query as series: named, joined where names are equal, without what is no number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from roundsman.sources.prometheus_names import Asked, owner, told_apart
from roundsman.sources.protocols import Floats, Series

#: values in this range, in a metric of seconds, are points in time: 2001 to 2100
_EARLIEST, _LATEST = 1e9, 4.1e9
_MOMENTS = ("_timestamp", "_time", "_not_after", "_not_before", "_created", "_expiry", "_since")


@dataclass(frozen=True)
class Found:
    """Series of one query; `useless` had no usable sample, `services` is how many they belong to."""

    found: list[Series]
    useless: int
    services: int


@dataclass(frozen=True)
class Answer:
    """What one query gave; `joined`: one series a service, since there were too many."""

    metric: str
    promql: str
    series: Found
    joined: bool = False


def series_of(metric: str, asked: Asked, rows: Sequence[Mapping[str, Any]]) -> Found:
    """The series of a range query's rows, in the order of their names.

    Quantiles are NaN where nothing was asked of a service: no samples, and nothing to tell.
    """
    labels = [_labels(row) for row in rows]
    mine: dict[str, list[dict[str, str]]] = {}
    for its in labels:
        mine.setdefault(owner(metric, its), []).append(its)
    parts: dict[tuple[str, str], list[tuple[Floats, Floats]]] = {}
    useless = 0
    for row, its in zip(rows, labels, strict=True):
        times, values = _samples(row)
        if not times.size:
            useless += 1
            continue
        whose = owner(metric, its)
        key = (whose, told_apart(asked.name, its, mine[whose]))
        parts.setdefault(key, []).append((times, values))
    found = []
    for (service, name), pieces in sorted(parts.items()):
        times, values = pieces[0] if len(pieces) == 1 else _joined(pieces, asked.merge)
        found.append(_since(Series(service, name, times, values)))
    quantile = asked.promql.startswith("histogram_quantile")
    return Found(found, 0 if quantile else useless, len({service for service, _ in parts}))


def _labels(row: Mapping[str, Any]) -> dict[str, str]:
    found = row.get("metric")
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}


def _samples(row: Mapping[str, Any]) -> tuple[Floats, Floats]:
    listed = row.get("values")
    pairs = [p for p in listed if isinstance(p, list)] if isinstance(listed, list) else []
    try:
        both = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    except (ValueError, TypeError):
        return np.empty(0), np.empty(0)
    both = both[np.isfinite(both).all(axis=1)]
    if np.any(np.diff(both[:, 0]) < 0):
        both = both[np.argsort(both[:, 0], kind="stable")]
    return both[:, 0], both[:, 1]


def _joined(pieces: Sequence[tuple[Floats, Floats]], merge: str) -> tuple[Floats, Floats]:
    all_times = np.concatenate([times for times, _ in pieces])
    all_values = np.concatenate([values for _, values in pieces])
    times, place = np.unique(all_times, return_inverse=True)
    if merge == "max":
        highest = np.full(times.size, -np.inf)
        np.maximum.at(highest, place, all_values)
        return times, highest
    total: Floats = np.bincount(place, weights=all_values, minlength=times.size).astype(np.float64)
    if merge == "mean":
        total = total / np.bincount(place, minlength=times.size)
    return times, total


def _since(series: Series) -> Series:
    """A gauge that holds a point in time, as the seconds since or until then: it moves when restarted
    or renewed, and not with the clock."""
    stem = series.metric.partition("{")[0].removesuffix("_seconds")
    values, rest = series.values, series.metric.partition("{")[2]
    if not stem.endswith(_MOMENTS) or values.min() < _EARLIEST or values.max() > _LATEST:
        return series
    ahead = bool(values[0] > series.times[0])
    name = f"{stem}_{'in' if ahead else 'age'}_seconds" + (f"{{{rest}" if rest else "")
    gap = values - series.times if ahead else series.times - values
    return Series(series.service, name, series.times, gap)
