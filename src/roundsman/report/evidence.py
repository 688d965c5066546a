"""Findings and the evidence they stand on, and which three lines of it come first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from roundsman.report.text import as_dicts, as_list, clean, compact

QUERY_LIMIT = 8_000
"""Characters of a query that are shown in files; longer ones are whole in report.json only."""


@dataclass(frozen=True)
class Finding:
    """One statement; `grounded` False means nothing this run saw bears it out."""

    id: str
    statement: str
    evidence: tuple[str, ...]
    grounded: bool
    round: str


@dataclass(frozen=True)
class Evidence:
    """One action's result; `statement` is the finding it supports, or its own excerpt."""

    id: str
    statement: str
    tool: str
    query: str
    excerpt: str
    status: str


def _ids(value: object) -> tuple[str, ...]:
    return tuple(clean(one, 60) for one in ([value] if isinstance(value, str) else as_list(value)))


def read_findings(report: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings, numbered where they have no id."""
    for number, item in enumerate(as_dicts(report.get("findings")), 1):
        yield Finding(
            id=clean(item.get("id"), 60) or f"f{number}",
            statement=clean(item.get("statement")) or "(no statement)",
            evidence=_ids(item.get("evidence")),
            grounded=item.get("grounded") is True,
            round="" if item.get("round") is None else clean(item.get("round"), 20),
        )


def query_text(item: Mapping[str, Any]) -> str:
    """The query to paste elsewhere: its own text where the tool gave one, else its arguments."""
    query = item.get("query")
    if isinstance(query, Mapping):
        for key in ("raw", "query", "sql", "promql", "expr"):
            if isinstance(query.get(key), str) and query[key].strip():
                return clean(query[key], QUERY_LIMIT, lines=True)
    if not query:
        args = item.get("args")
        if not args:
            return ""
        query = f"{clean(item.get('tool'), 120)} {compact(args)}"
    return clean(query, QUERY_LIMIT, lines=True)


def read_evidence(report: Mapping[str, Any], findings: tuple[Finding, ...]) -> Iterator[Evidence]:
    """The evidence, each with what the (preferably grounded) finding that cites it says."""
    said: dict[str, str] = {}
    for finding in sorted(findings, key=lambda one: not one.grounded):
        for one in finding.evidence:
            note = "" if finding.grounded else " (not grounded)"
            said.setdefault(one, finding.statement + note)
    for number, item in enumerate(as_dicts(report.get("evidence")), 1):
        name = clean(item.get("id"), 60) or f"e{number}"
        excerpt = item.get("excerpt")
        if isinstance(excerpt, (list, tuple)):
            excerpt = "\n".join(one if isinstance(one, str) else compact(one) for one in excerpt)
        shown = clean(excerpt, 1_000, lines=True)
        yield Evidence(
            id=name,
            statement=said.get(name) or clean(shown, 200) or clean(item.get("tool"), 120) or name,
            tool=clean(item.get("tool"), 120),
            query=query_text(item),
            excerpt=shown,
            status=clean(item.get("status"), 40),
        )


def pick_top(
    cause: Mapping[str, Any], findings: tuple[Finding, ...], evidence: tuple[Evidence, ...]
) -> Iterator[Evidence]:
    """Three lines: what the cause cites, then one a grounded finding in turn, then the rest."""
    wanted = list(_ids(cause.get("evidence")))
    grounded = [finding.evidence for finding in findings if finding.grounded]
    for depth in range(max(map(len, grounded), default=0)):
        wanted += [ids[depth] for ids in grounded if len(ids) > depth]
    wanted += [one for finding in findings for one in finding.evidence]
    known = {one.id: one for one in evidence}
    # Last resort, so that a run cut before its first finding still shows what it looked at.
    wanted += [one.id for one in evidence if one.status in ("ok", "")]
    chosen = list(dict.fromkeys(one for one in wanted if one in known))[:3]
    said: set[str] = set()
    for one in (known[name] for name in chosen):
        # A finding with two supports would say the same thing twice; the second shows its data.
        again = one.statement in said and one.excerpt
        said.add(one.statement)
        yield replace(one, statement=clean(one.excerpt, 200)) if again else one
