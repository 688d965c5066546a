"""Facts out of tool results: every row that says something moved, was changed or stands out.

No data access: only results that a run already holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from roundsman.investigate.entries import Changed, Moved, Standing
from roundsman.investigate.facts import Facts, echoes
from roundsman.investigate.recurring import Recurring, recurring, span_of
from roundsman.investigate.steps import attempt
from roundsman.sources.times import parse_time

#: overlapping questions see one movement this far apart at most, in seconds
_SAME_MOVEMENT = 600.0


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
