"""What structured tool results say: movements, log shifts and changes, each with its evidence.

No data access: only results that a run already holds. The analyst words findings from these facts,
and the verdict checks findings against them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from roundsman.investigate.call_facts import CallFacts
from roundsman.investigate.entries import Changed as Changed
from roundsman.investigate.entries import Moved as Moved
from roundsman.investigate.entries import Standing as Standing
from roundsman.investigate.recurring import Recurring, recurring, span_of
from roundsman.investigate.steps import attempt
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
#: overlapping questions see one movement this far apart at most, in seconds
_SAME_MOVEMENT = 600.0


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


def _moved(evidence: str, row: Any, log: bool) -> Moved | None:
    if not isinstance(row, Mapping) or not row.get("moved"):
        return None
    at = parse_time(row.get("onset"))
    name = str(row.get("template" if log else "metric") or "")
    if at is None or not name:
        return None
    return Moved(evidence, at, str(row.get("service") or ""), name, row, log)


def _stand_out(facts: Facts, evidence: str, result: Mapping[str, Any]) -> None:
    """Take which services stand out, and whom the alert names."""
    alert = result.get("alert")
    if isinstance(alert, Mapping):
        facts.alerted = str(alert.get("service") or "")
        facts.alert_at = parse_time(alert.get("at"))
    rows = result.get("services")
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, Mapping) or not isinstance(row.get("far"), int | float):
            continue
        into, since, name = facts.furthest, "onset", str(row.get("metric") or "")
        if "template" in row:
            into, since, name = facts.makeup, "at", str(row["template"])
        at, service = parse_time(row.get(since)), str(row.get("service") or "")
        if at is None or not service:
            continue
        known = into.get(service)
        if known is None or row["far"] > known.far:
            felt = bool(row.get("felt", True))
            into[service] = Standing(evidence, service, float(row["far"]), at, name, felt)


def _at_its_end(evidence: str, row: Any, how: str) -> Moved | None:
    """A count-down that reached zero (`ran_out`), or what is nearly used up (`emptied`)."""
    at = parse_time(row.get(how)) if isinstance(row, Mapping) else None
    if at is None or not row.get("metric"):
        return None
    return Moved(evidence, at, str(row.get("service") or ""), str(row["metric"]), row)


def _enter(same: list[Moved], one: Moved) -> None:
    """Add a movement to those of the same series or kind of line, unless it is one of them.

    Of one seen twice the first stays: the narrow question comes first. A kind of line appears once, and
    when it comes and goes every piece of a long window calls it new; the oldest is right.
    """
    if any(abs(one.at - other.at) <= _SAME_MOVEMENT for other in same):
        return
    if one.log and same:
        same[:] = [min([*same, one], key=lambda moved: moved.at)]
    else:
        same.append(one)


def collect(results: Iterable[tuple[str, str, Any]]) -> Facts:
    """Facts from (evidence id, tool, result) triples; repeats of the same entry count once.

    A result that cannot be read is named in `broken` and costs nothing else.
    """
    facts = Facts()
    results = list(results)
    pieces = partial(recurring, [result for _, _, result in results])
    recur = attempt(facts.broken, "lines that are there all along", pieces)
    seen: set[tuple[str, str, str]] = set()
    moved: dict[tuple[str, str, str], list[Moved]] = {}
    for evidence, tool, result in results:
        if not isinstance(result, Mapping) or result.get("status") in ("error", "blocked"):
            facts.failed.append(tool)
            continue
        for part, take in (
            ("what it looked at", partial(_looked_at, facts, evidence, tool, result)),
            ("services that stand out", partial(_stand_out, facts, evidence, result)),
            ("what moved", partial(_movements, facts, moved, evidence, result, recur)),
            ("changes", partial(_changes, facts, seen, evidence, result)),
            ("calls", partial(facts.along.add, evidence, result)),
        ):
            attempt(facts.broken, f"{part} of {evidence} ({tool})", take)
    facts.changes.sort(key=lambda change: change.at)
    for one in (one for same in moved.values() for one in same):
        attempt(facts.broken, f"{one.name[:80]} of {one.service}", partial(_sort, facts, one))
    return facts


def _looked_at(facts: Facts, evidence: str, tool: str, result: Mapping[str, Any]) -> None:
    facts.looked.setdefault(tool, evidence)
    counts = result.get("counts")
    for name, count in (counts if isinstance(counts, Mapping) else {}).items():
        if isinstance(count, int) and count >= facts.counts.get(name, 0):
            if name not in facts.counts or count > facts.counts[name]:
                facts.counted_in[name] = evidence
            facts.counts[name] = count
    query = result.get("query")
    until = parse_time(query.get("to")) if isinstance(query, Mapping) else None
    if until is not None and tool in ("query_logs", "query_metrics"):
        facts.end = max(until, facts.end or until)
    steady = result.get("steady")
    facts.steady |= {str(name).lower() for name in (steady if isinstance(steady, list) else [])}
    clocks = result.get("clocks")
    for row in clocks if isinstance(clocks, list) else []:
        if isinstance(row, Mapping) and row not in facts.clocks:
            facts.clocks.append(row)
    earlier = result.get("earlier_minutes")
    if isinstance(earlier, int):
        facts.earlier = max(facts.earlier, earlier)


def _movements(
    facts: Facts,
    moved: dict[tuple[str, str, str], list[Moved]],
    evidence: str,
    result: Mapping[str, Any],
    recur: Recurring | None,
) -> None:
    for field_name, log in (("series", False), ("templates", True)):
        for row in result.get(field_name) or []:
            if not log and (gone := _at_its_end(evidence, row, "ran_out")):
                facts.expiries.append(gone)
            if not log and (used := _at_its_end(evidence, row, "emptied")):
                facts.emptied.append(used)
            one = _moved(evidence, row, log)
            if one and log and recur:
                one = recur.held_against(one, span_of(result))
            if one:
                _enter(moved.setdefault((field_name, one.service, one.name), []), one)


def _changes(
    facts: Facts, seen: set[tuple[str, str, str]], evidence: str, result: Mapping[str, Any]
) -> None:
    for row in result.get("changes") or []:
        at = parse_time(row.get("at")) if isinstance(row, Mapping) else None
        if at is None:
            continue
        key = ("change", str(row.get("service")), f"{at} {row.get('name')}")
        if key not in seen:
            seen.add(key)
            facts.changes.append(Changed(evidence, at, row))


def _sort(facts: Facts, one: Moved) -> None:
    """A movement to those of its kind."""
    if one.log:
        facts.logs.append(one)
    elif one.row.get("moved") == "transient":
        facts.transients.append(one)
    elif one.row.get("setting") and (
        one.row.get("moved") != "step" or any(echoes(one, c) for c in facts.changes)
    ):
        facts.settings.append(one)
    else:
        facts.metrics.append(one)
