"""What structured tool results say: movements, log shifts and changes, each with its evidence.

The analyst words findings from these facts, and the verdict checks findings against them. How they are
taken from results: `collect.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roundsman.investigate.call_facts import CallFacts
from roundsman.investigate.entries import Changed as Changed
from roundsman.investigate.entries import Moved as Moved
from roundsman.investigate.entries import Standing as Standing
from roundsman.sources.times import parse_time

#: a change may be written down this long after its first effect (clocks, sampling), in seconds
CLOCK = 5.0
#: how long before the onset a change still counts, in seconds
LOOK_BACK = 3600.0
#: movements this long before the errors belong to the same event, in seconds
_LEAD = 900.0
_SAME_MOMENT = 60.0
#: a trend is dated this well: it may seem to begin so long before or after what began it, in seconds
_GREW_BEFORE, _GREW_AFTER = 300.0, 900.0


@dataclass
class Facts:
    """Everything that moved or was changed, by kind.

    `counts` are the largest a result gave, `counted_in` the results that did, `earlier` the minutes of
    the incident's window before the newest piece that was looked at, `end` the last moment looked at.
    `alerted` and `alert_at`: whom the alert names, and when it came. `furthest` and `makeup`: services by
    how far their metrics moved in a bad direction, and by how much what they log changed. `steady`: services
    (lower case) whose requests come in as before. `clocks`: sources whose times differ. `broken`: steps of
    the analysis that raised, with why.
    """

    metrics: list[Moved] = field(default_factory=list)
    settings: list[Moved] = field(default_factory=list)
    transients: list[Moved] = field(default_factory=list)
    logs: list[Moved] = field(default_factory=list)
    changes: list[Changed] = field(default_factory=list)
    along: CallFacts = field(default_factory=CallFacts)
    failed: list[str] = field(default_factory=list)
    expiries: list[Moved] = field(default_factory=list)
    emptied: list[Moved] = field(default_factory=list)
    looked: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    counted_in: dict[str, str] = field(default_factory=dict)
    earlier: int = 0
    end: float | None = None
    alerted: str = ""
    alert_at: float | None = None
    furthest: dict[str, Standing] = field(default_factory=dict)
    makeup: dict[str, Standing] = field(default_factory=dict)
    steady: set[str] = field(default_factory=set)
    clocks: list[Mapping[str, Any]] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)

    @property
    def bad_logs(self) -> list[Moved]:
        """Log lines of error level and above that appeared or surged, the most frequent first."""
        return [one for one in self.logs if one.bad]

    def known_services(self) -> set[str]:
        """Services that telemetry or changes name as their own."""
        rows = [*self.metrics, *self.settings, *self.transients, *self.logs]
        names = {one.service for one in rows} | {one.service for one in self.changes}
        return {name for name in names if name}

    def spelled(self, service: str) -> str:
        """A service as telemetry writes it, from its name in lower case."""
        return next((name for name in self.known_services() if name.lower() == service), service)

    def grew_with(self, change: Changed) -> bool:
        """Whether something of the change's service has grown steadily since it was made."""
        return any(
            (since := parse_time(one.row.get("growing_since"))) is not None
            and one.service.lower() == change.service.lower()
            and -_GREW_BEFORE <= since - change.at <= _GREW_AFTER
            for one in self.metrics
        )

    def anchor(self) -> float | None:
        """When the trouble was plain: onset of the largest error log, else strongest metric."""
        if self.bad_logs:
            return max(self.bad_logs, key=lambda m: int(m.row.get("after") or 0)).at
        if self.metrics:
            return max(self.metrics, key=lambda m: float(m.row.get("score") or 0)).at
        return None

    def symptoms(self) -> list[Moved]:
        """What moved together, oldest first."""
        anchor = self.anchor()
        if anchor is None:
            return []
        found = [m for m in [*self.metrics, *self.bad_logs] if m.at >= anchor - _LEAD]
        return sorted(found, key=lambda moved: (moved.at, moved.log))

    def followed(self, change: Changed) -> list[Moved]:
        """What moved together and not before this change: what went on already is no effect of it."""
        found = self.symptoms()
        return [m for m in found if m.at >= change.at - CLOCK] or found

    def onset(self) -> float | None:
        """The first moment of what moved together."""
        found = self.symptoms()
        return found[0].at if found else None


def _ratio(before: Any, after: Any) -> float | None:
    try:
        low, high = float(before), float(after)
    except (TypeError, ValueError):
        return None
    return high / low if low else None


def same_values(setting: Moved, pair: Any) -> bool:
    """Whether a setting moved between the very values a change names."""
    before, after = setting.row.get("before"), setting.row.get("after")
    if not isinstance(pair, list) or len(pair) != 2 or before == after:
        return False
    try:
        return [float(pair[0]), float(pair[1])] == [float(str(before)), float(str(after))]
    except (TypeError, ValueError):
        return False


def echoes(setting: Moved, change: Changed) -> list[str]:
    """Keys of a change whose new value a metric merely repeats: same values, or the same ratio."""
    if not -CLOCK - _SAME_MOMENT <= setting.at - change.at <= 5 * _SAME_MOMENT:
        return []
    before, after = setting.row.get("before"), setting.row.get("after")
    ratio = _ratio(before, after)
    out = []
    for key, pair in change.diff.items():
        if not isinstance(pair, list) or len(pair) != 2:
            continue
        other = _ratio(pair[0], pair[1])
        same = ratio is not None and other is not None and abs(ratio - other) < 1e-3 * abs(other)
        if same or (before, after) == (pair[0], pair[1]):
            out.append(str(key))
    return out
