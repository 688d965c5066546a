"""What a model proposes, checked against the results it cites: which findings hold, and whom they name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from roundsman.investigate.causes import Candidate
from roundsman.loop.grounding import ungrounded


def whole_result(entry: Mapping[str, Any]) -> Any:
    """The structured result of an evidence entry; an excerpt that is JSON serves as well."""
    found = entry.get("result")
    if isinstance(found, Mapping):
        return found
    for text in (found, entry.get("excerpt")):
        if isinstance(text, str) and text.lstrip().startswith("{"):
            try:
                return json.loads(text)
            except ValueError:
                continue
    return {"status": entry.get("status"), "text": str(found or entry.get("excerpt") or "")}


def grounded(
    findings: Sequence[Mapping[str, Any]], texts: Mapping[str, str]
) -> tuple[list[Mapping[str, Any]], list[tuple[Mapping[str, Any], str]]]:
    """Findings that the results they cite bear out, and the others with why not; `texts` by id."""
    good: list[Mapping[str, Any]] = []
    bad: list[tuple[Mapping[str, Any], str]] = []
    for finding in findings:
        cited = [str(one) for one in finding.get("evidence") or []]
        known = [texts[one] for one in cited if one in texts]
        missing = ungrounded(str(finding.get("statement") or ""), known)
        if finding.get("grounded") is False:
            bad.append((finding, "the run did not find its statement in the results it cites"))
        elif not known:
            bad.append((finding, "it cites no result of this run"))
        elif missing:
            bad.append((finding, "not in the results it cites: " + ", ".join(missing[:5])))
        else:
            good.append(finding)
    return good, bad


def named_by(finding: Mapping[str, Any], found: Sequence[Candidate]) -> Candidate | None:
    """The candidate a finding names: a change by its name (and service if that is not enough) or time,
    a condition by its kind."""
    statement = str(finding.get("statement") or "").lower()
    named = f"{finding.get('change') or ''} {statement}".lower()
    about = f"{finding.get('service') or ''} {statement}".lower()
    changes = [(one, one.suspect.change) for one in found if one.suspect]
    by_name = [
        (one, change)
        for one, change in changes
        if any(name and name.lower() in named for name in (change.name, change.commit))
    ]
    if len(by_name) > 1:
        by_name = [(one, change) for one, change in by_name if change.service.lower() in about]
    by_time = [(o, c) for o, c in changes if str(c.row.get("at") or "-").lower() in statement]
    chosen = next((one for one, _ in [*by_name, *by_time]), None)
    if chosen is None and not finding.get("change"):
        kind = str(finding.get("kind") or "")
        chosen = next((one for one in found if one.condition and one.condition.kind == kind), None)
    return chosen


def proposes(finding: Mapping[str, Any]) -> bool:
    """Whether a finding names a cause."""
    return finding.get("role") in ("cause", None)
