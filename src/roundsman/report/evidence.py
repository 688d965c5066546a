"""Findings and the evidence they stand on, and which three lines of it come first."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from roundsman.ledger.view import BODIES, head_of
from roundsman.report.text import as_dict, as_dicts, as_list, clean, compact, short_times

QUERY_LIMIT = 8_000
"""Characters of a query that are shown in files; longer ones are whole in report.json only."""

_TEXTS = ("raw", "query", "sql", "promql", "expr")
_BODY = r'"{}": \[(?!\])"?'


@dataclass(frozen=True)
class Finding:
    """One statement; `grounded` False means nothing this run saw bears it out."""

    id: str
    statement: str
    evidence: tuple[str, ...]
    grounded: bool
    round: str
    ruled_out: bool = False
    queries: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Evidence:
    """One action's result; `statement` is the finding it supports, or what it shows by itself (`shows`, with
    the line for that)."""

    id: str
    statement: str
    tool: str
    query: str
    excerpt: str
    status: str
    shows: str = ""
    shows_query: str = ""


def _ids(value: object) -> tuple[str, ...]:
    return tuple(clean(one, 60) for one in ([value] if isinstance(value, str) else as_list(value)))


def read_findings(report: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings, numbered where they have no id; then those nothing bears out."""
    held = as_dicts(report.get("findings"))
    # What the run claimed and could not support is shown as such, not hidden.
    loose = [{**item, "grounded": False} for item in as_dicts(report.get("unsupported"))]
    for number, item in enumerate([*held, *loose], 1):
        yield Finding(
            id=clean(item.get("id"), 60) or f"f{number}",
            statement=clean(item.get("statement")) or "(no statement)",
            evidence=_ids(item.get("evidence")),
            grounded=item.get("grounded") is True,
            round="" if item.get("round") is None else clean(item.get("round"), 20),
            ruled_out=item.get("role") == "ruled_out",
            queries={
                clean(name, 60): line
                for name, line in as_dict(item.get("queries")).items()
                if isinstance(line, str)
            },
        )


def query_text(item: Mapping[str, Any]) -> str:
    """The query to paste elsewhere: its own text where the tool gave one, else its arguments.

    It may be a shell line around words out of a log. It is shown as it is or not at all: a character
    taken out of a quoted line moves its quotes, and what was a word becomes a command.
    """
    query = item.get("query")
    if isinstance(query, Mapping):
        for key in _TEXTS:
            text = query.get(key)
            if isinstance(text, str) and text.strip() and (shown := _as_it_is(text)):
                return shown
        args = item.get("args") or {k: v for k, v in query.items() if k not in _TEXTS}
        return _call(query.get("tool") or item.get("tool"), args)
    if isinstance(query, str) and (shown := _as_it_is(query)):
        return shown
    args = item.get("args")
    return _call(item.get("tool"), args) if args else ""


def _as_it_is(text: str) -> str:
    """The text without blank lines around it, or nothing when cleaning would change more."""
    text = text.replace("\r\n", "\n").strip("\n").expandtabs(4)
    return text if clean(text, QUERY_LIMIT, lines=True) == text else ""


def _call(tool: object, args: object) -> str:
    """A call as one line; arguments that were left blank say nothing and are left out.

    Quoted as a shell would, since it stands where others can be pasted: then it names a command
    that is not there, and nothing in it runs.
    """
    if isinstance(args, Mapping):
        args = {k: v for k, v in args.items() if k != "tool" and v is not None and v != ""}
    words = [clean(tool, 120), clean(compact(args), QUERY_LIMIT) if args else ""]
    return " ".join(shlex.quote(word) for word in words if word)


def readable(excerpt: object) -> str:
    """What a tool found, without the envelope of its answer (which may be cut short)."""
    if isinstance(excerpt, str) and excerpt.startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            excerpt = json.loads(excerpt)
    if isinstance(excerpt, Mapping):
        excerpt = head_of(excerpt)
    elif isinstance(excerpt, str) and excerpt.startswith("{"):
        start = next(
            (hit for key in BODIES if (hit := re.search(_BODY.format(key), excerpt))), None
        )
        if start:
            excerpt = excerpt[start.end() :] + "…"
    if isinstance(excerpt, (list, tuple)):
        excerpt = "\n".join(one if isinstance(one, str) else compact(one) for one in excerpt)
    return clean(excerpt, 1_000, lines=True)


def in_words(shown: str) -> str:
    """What was found in one line: records without their brackets and quotes, however they were cut."""
    if shown.startswith(("{", "[")):
        shown = re.sub(r"[{}\[\]\"]+", "", shown.replace("}\n{", "; "))
    return clean(shown, 200)


def read_evidence(
    report: Mapping[str, Any], findings: tuple[Finding, ...], day: str = ""
) -> Iterator[Evidence]:
    """The evidence, each with what the (preferably grounded) finding that cites it says. Of instants of
    `day` the clock alone is said."""
    said: dict[str, str] = {}
    lines: dict[str, str] = {}
    # The claim that cites fewest actions says best what this one showed; a summary cites them all.
    for finding in sorted(findings, key=lambda f: (not f.grounded, f.ruled_out, len(f.evidence))):
        for one in finding.evidence:
            note = "" if finding.grounded else " (not grounded)"
            if one not in said and finding.queries.get(one):
                lines[one] = _as_it_is(finding.queries[one])
            said.setdefault(one, finding.statement + note)
    for number, item in enumerate(as_dicts(report.get("evidence")), 1):
        name = clean(item.get("id"), 60) or f"e{number}"
        shown = readable(item.get("excerpt"))
        if item.get("status") == "empty":
            shown = f"{clean(item.get('tool'), 120)} found nothing"
        query, line = query_text(item), item.get("shows_query")
        shows_query = (_as_it_is(line) if isinstance(line, str) else "") or query
        shows = short_times(clean(item.get("shows"), 300), day) or in_words(shown)
        yield Evidence(
            id=name,
            statement=said.get(name) or shows or clean(item.get("tool"), 120) or name,
            tool=clean(item.get("tool"), 120),
            query=lines.get(name) or (query if name in said else shows_query),
            excerpt=shown,
            status=clean(item.get("status"), 40),
            shows=shows,
            shows_query=shows_query,
        )


def pick_top(
    cause: Mapping[str, Any], findings: tuple[Finding, ...], evidence: tuple[Evidence, ...]
) -> Iterator[Evidence]:
    """Three lines: what the cause cites, then one a grounded finding in turn, then the rest. What would say
    the same as one before it is left out."""
    wanted = list(_ids(cause.get("evidence")))
    grounded = [finding.evidence for finding in findings if finding.grounded]
    for depth in range(max(map(len, grounded), default=0)):
        wanted += [ids[depth] for ids in grounded if len(ids) > depth]
    wanted += [one for finding in findings for one in finding.evidence]
    known = {one.id: one for one in evidence}
    # Last resort, so that a run cut before its first finding still shows what it looked at.
    if not any(name in known for name in wanted):
        wanted = [one.id for one in evidence if one.status in ("ok", "")]
    said: set[str] = set()
    for one in (known[name] for name in dict.fromkeys(wanted) if name in known):
        # A finding with two supports would say the same thing twice; the second shows its data.
        if one.statement in said and one.shows:
            one = replace(one, statement=one.shows, query=one.shows_query)
        if one.statement not in said and len(said) < 3:
            said.add(one.statement)
            yield one
