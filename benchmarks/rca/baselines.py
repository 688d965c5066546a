"""What plain methods say of a case: no model, no rules, a few lines each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from roundsman.investigate.incident import load_incident


@dataclass(frozen=True)
class Said:
    """What somebody says of a case.

    services: the likeliest first. change: words that name a change, empty when none is accused.
    accuses: whether anything is named as a cause. category: its kind.
    """

    services: tuple[str, ...] = ()
    change: str = ""
    accuses: bool = False
    confidence: str = ""
    category: str = ""
    first_failing: str = ""
    seconds: float = 0.0
    tokens: int = 0
    detail: dict[str, object] = field(default_factory=dict)


def n_sigma(folder: Path) -> Said:
    """Services by their furthest sample in the last fifth of the window, in standard deviations of
    the rest (before the alert when there is one)."""
    incident = load_incident(folder)
    window = incident.window
    split = window.end - 0.2 * (window.end - window.start)
    if incident.alert and incident.alert.at is not None:
        split = min(split, incident.alert.at - 120)
    scores: dict[str, float] = {}
    for one in incident.source.series(window):
        before, after = one.values[one.times < split], one.values[one.times >= split]
        if before.size < 3 or not after.size:
            continue
        spread = float(np.std(before)) or 1e-9
        far = float(np.max(np.abs(after - np.mean(before)))) / spread
        scores[one.service] = max(scores.get(one.service, 0.0), min(far, 1e6))
    ranked = sorted(scores, key=lambda name: -scores[name])
    return Said(services=tuple(ranked), accuses=bool(ranked) and scores[ranked[0]] > 3)


def last_deploy(folder: Path) -> Said:
    """The last deploy before the alert, or before the end, did it."""
    incident = load_incident(folder)
    end = incident.window.end
    if incident.alert and incident.alert.at is not None:
        end = min(end, incident.alert.at)
    done = [
        one
        for one in incident.source.changes(incident.window)
        if one.at <= end and one.kind == "deploy"
    ]
    if not done:
        return Said()
    last = done[-1]
    return Said((last.service,), f"{last.name} {last.text}", accuses=True)


def always_none(folder: Path) -> Said:
    """Nobody did it."""
    del folder
    return Said()


BASELINES: dict[str, Callable[[Path], Said]] = {
    "n-sigma": n_sigma,
    "last deploy": last_deploy,
    "always none": always_none,
}
