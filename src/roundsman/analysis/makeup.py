"""Which service changed what it logs: the shares of its kinds of lines before and after some moment.

Method: for each kind of line the G statistic (likelihood ratio, Sokal and Rohlf, Biometry, ch. 17) of a
2x2 table, this kind and the service's other lines before and after, at the split where it is largest;
its root is comparable to a z score. Shares, not counts: a service that is merely asked less often keeps
its make-up, one that takes another way through its code does not. Needs no level and no error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from roundsman.analysis.templates import LogSummary, Template

METHOD = "root of G of a kind of line's share of its service's lines, largest over splits"
_COARSE = 12
#: lines a service must have on both sides, and bins of them
_LINES = 5
_BEFORE, _AFTER = 2, 1


@dataclass(frozen=True)
class Makeup:
    """A service whose log changed. far: root of G. share: (before, after) of the kind of line that
    changed most, at: the beginning of the bin it changed in (epoch seconds)."""

    service: str
    far: float
    template: Template
    share: tuple[float, float]
    at: float


def _entropy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    safe = np.where(counts > 0, counts, 1.0)
    return counts * np.log(safe)


def _g(kind: NDArray[np.float64], own: NDArray[np.float64]) -> NDArray[np.float64]:
    """G at every split: `kind` and `own` are counts up to and with each bin."""
    k0, n0 = kind[:-1], own[:-1]
    k1, n1 = kind[-1] - k0, own[-1] - n0
    cells = _entropy(k0) + _entropy(n0 - k0) + _entropy(k1) + _entropy(n1 - k1)
    columns = _entropy(n0) + _entropy(n1)
    rows = _entropy(kind[-1:]) + _entropy(own[-1:] - kind[-1:])
    return np.maximum(2 * (cells - columns - rows + _entropy(own[-1:])), 0.0)


def makeups(summary: LogSummary) -> list[Makeup]:
    """Services by how much the make-up of their log changed, the most first."""
    by: dict[str, list[Template]] = defaultdict(list)
    for one in summary.templates:
        by[one.service].append(one)
    return sorted(_changed(by, summary), key=lambda one: (-one.far, one.at))


def _changed(by: dict[str, list[Template]], summary: LogSummary) -> Iterable[Makeup]:
    if not summary.templates:
        return
    used = np.sum([np.asarray(one.bins) for one in summary.templates], axis=0)
    filled = np.flatnonzero(used)
    if filled.size < 2:
        return
    first, last = int(filled[0]), int(filled[-1]) + 1
    edges = np.unique(np.linspace(first, last, min(_COARSE, last - first) + 1).astype(int))
    width = (summary.window.end - summary.window.start) / used.size
    for service, group in by.items():
        counts = np.array([_coarse(one, edges) for one in group])
        own = np.cumsum(counts.sum(axis=0))
        splits = [
            i
            for i in range(_BEFORE - 1, own.size - _AFTER)
            if own[i] >= _LINES and own[-1] - own[i] >= _LINES
        ]
        if not splits or len(group) < 2:
            continue
        found = np.array([_g(np.cumsum(one), own)[splits] for one in counts])
        row, column = np.unravel_index(int(np.argmax(found)), found.shape)
        split = splits[int(column)]
        kind = np.cumsum(counts[int(row)])
        before, after = kind[split] / own[split], (kind[-1] - kind[split]) / (own[-1] - own[split])
        yield Makeup(
            service,
            float(np.sqrt(found[row, column])),
            group[int(row)],
            (float(before), float(after)),
            summary.window.start + float(edges[split + 1]) * width,
        )


def _coarse(one: Template, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    bins = np.asarray(one.bins, dtype=np.float64)
    return np.array([bins[a:b].sum() for a, b in pairwise(edges)])
