"""The line to paste that shows what a finding claims, where the question it cites was a wider one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roundsman.investigate import paste
from roundsman.investigate.facts import Facts, Moved
from roundsman.investigate.incident import Incident
from roundsman.investigate.recurring import span_of
from roundsman.investigate.wording import literal
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
    wide = {
        str(row.get("id")): span
        for row in evidence
        if row.get("tool") in ("query_metrics", "query_logs")
        and isinstance(query := row.get("query"), Mapping)
        and not any(query.get(name) for name in _NARROWS)
        and (span := span_of(row)) is not None
    }
    moved = [*facts.metrics, *facts.settings, *facts.transients, *facts.logs]
    for finding in findings:
        statement = str(finding.get("statement") or "")
        queries: dict[str, str] = {}
        for name in map(str, finding.get("evidence") or ()):
            if name not in wide or name in queries:
                continue
            told = [one for one in moved if one.evidence == name and _tells(statement, one)]
            if told:
                one = max(told, key=lambda one: len(one.name))
                start, end = wide[name]
                kind, text = ("logs", literal(one.name)) if one.log else ("metrics", one.name)
                line = paste.line(incident, kind, Window(start, end), one.service, text)
                queries |= {name: line} if line else {}
        if queries:
            finding["queries"] = queries


def _tells(statement: str, one: Moved) -> bool:
    """Whether a statement is about a movement: it names the series, or quotes the line."""
    name = literal(one.name) if one.log else one.name
    return bool(name) and name in statement and one.service in statement
