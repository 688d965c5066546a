"""The line to paste that shows what a finding claims, where the question it cites was a wider one; and
what a piece of evidence shows by itself, in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roundsman.investigate import paste
from roundsman.investigate.collect import collect
from roundsman.investigate.facts import Facts, Moved
from roundsman.investigate.incident import Incident
from roundsman.investigate.recurring import span_of
from roundsman.investigate.wording import literal, say_change, say_moved
from roundsman.sources import Window

_NARROWS = ("service", "metric", "text")


def with_queries(
    findings: Sequence[dict[str, Any]],
    evidence: Sequence[Mapping[str, Any]],
    facts: Facts,
    incident: Incident,
) -> None:
    """Give findings `queries`: evidence id -> a line that shows the very series or kind of line.

    Only for questions that asked for everything; a narrower one has its own line already.
    """
    wide = _wide(evidence)
    moved = [*facts.metrics, *facts.settings, *facts.transients, *facts.logs]
    for finding in findings:
        statement = str(finding.get("statement") or "")
        queries: dict[str, str] = {}
        for name in map(str, finding.get("evidence") or ()):
            if name not in wide or name in queries:
                continue
            told = [one for one in moved if one.evidence == name and _tells(statement, one)]
            if told:
                line = _line(max(told, key=lambda one: len(one.name)), wide[name], incident)
                queries |= {name: line} if line else {}
        if queries:
            finding["queries"] = queries


def with_words(
    rows: Sequence[dict[str, Any]], evidence: Sequence[Mapping[str, Any]], incident: Incident
) -> None:
    """Give pieces of evidence `shows`: what moved most, or was changed, in what was answered, in words;
    and `shows_query`, a line for it, where the question was wider. `evidence` are the same with results."""
    wide = _wide(evidence)
    for row, whole in zip(rows, evidence, strict=True):
        name, tool, result = str(whole["id"]), str(whole["tool"]), whole["result"]
        facts = collect([(name, tool, result)])
        moved = [*facts.metrics, *facts.bad_logs, *facts.settings, *facts.logs, *facts.transients]
        if moved:
            row["shows"] = say_moved(moved[0])
            if name in wide and (line := _line(moved[0], wide[name], incident)):
                row["shows_query"] = line
        elif facts.changes:
            first = next((c for c in facts.changes if c.row is result["changes"][0]), None)
            row["shows"] = say_change(first or facts.changes[-1])


def _wide(evidence: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Questions for everything, by id: the time they were about."""
    return {
        str(row.get("id")): span
        for row in evidence
        if row.get("tool") in ("query_metrics", "query_logs")
        and isinstance(query := row.get("query"), Mapping)
        and not any(query.get(name) for name in _NARROWS)
        and (span := span_of(row)) is not None
    }


def _line(one: Moved, span: tuple[float, float], incident: Incident) -> str:
    kind, text = ("logs", literal(one.name)) if one.log else ("metrics", one.name)
    return paste.line(incident, kind, Window(*span), one.service, text)


def _tells(statement: str, one: Moved) -> bool:
    """Whether a statement is about a movement: it names the series, or quotes the line."""
    name = literal(one.name) if one.log else one.name
    return bool(name) and name in statement and one.service in statement
