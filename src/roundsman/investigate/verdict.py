"""The verdict: a cause or an honest abstention, settled by code from grounded findings.

What a model says is a proposal. A cause is accepted only when its statement occurs in the results
it cites, something moved for good, and a change or an error in the logs came before it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from roundsman.investigate.facts import CLOCK, LOOK_BACK, Facts, collect
from roundsman.investigate.suspects import Suspect, suspects
from roundsman.investigate.wording import say_change, say_moved
from roundsman.loop.grounding import ungrounded
from roundsman.sources.times import iso, parse_time

_MOST_ALTERNATIVES = 5
#: score by which a change must lead the next, and seconds in which an effect is soon
_LEAD, _SOON = 0.5, 300.0


def _result(entry: Mapping[str, Any]) -> Any:
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


def _abstain(because: str, facts: Facts | None = None) -> dict[str, Any]:
    onset = facts.onset() if facts else None
    return {
        "service": None,
        "change": None,
        "kind": None,
        "confidence": "low",
        "abstained": True,
        "because": because,
        "since": iso(onset) if onset is not None else None,
        "statement": "no cause found: " + because,
        "affected": _affected(facts, None) if facts else [],
        "mechanism": None,
        "next_action": "change nothing on this evidence; keep watching, and look again with a "
        "longer window or the telemetry that is missing",
    }


def _affected(facts: Facts, service: str | None) -> list[str]:
    names = dict.fromkeys(one.service for one in facts.symptoms() if one.service)
    return [name for name in names if name != service]


def _grounded(
    findings: Sequence[Mapping[str, Any]], texts: Mapping[str, str]
) -> tuple[list[Mapping[str, Any]], list[tuple[Mapping[str, Any], str]]]:
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


def _match(finding: Mapping[str, Any], found: Sequence[Suspect]) -> Suspect | None:
    """The suspected change a finding names: by its name (and service if that is not enough) or time."""
    statement = str(finding.get("statement") or "").lower()
    named = f"{finding.get('change') or ''} {statement}".lower()
    about = f"{finding.get('service') or ''} {statement}".lower()
    by_name = [one for one in found if one.change.name and one.change.name.lower() in named]
    if len(by_name) > 1:
        by_name = [one for one in by_name if one.change.service.lower() in about]
    by_time = [one for one in found if str(one.change.row.get("at") or "-").lower() in statement]
    return next(iter([*by_name, *by_time]), None)


def _confidence(facts: Facts, suspect: Suspect | None, rival: Suspect | None) -> tuple[str, str]:
    """How sure, and in which words."""
    metric = any(not one.log for one in facts.symptoms())
    if suspect is None:
        return "low", "errors in the logs came before what moved, but no change explains them"
    onset = facts.onset() or suspect.change.at
    seconds = max(0, round(onset - suspect.change.at))
    because = f"the change came {seconds} s before the first movement"
    close = rival is not None and suspect.score - rival.score < _LEAD
    if suspect.same_service:
        because += ", on a service that moved"
    if suspect.words:
        because += ", and shares words with it: " + ", ".join(suspect.words[:4])
    if close and rival is not None:
        return "low", because + f"; {say_change(rival.change)} is nearly as likely"
    both = metric and bool(facts.bad_logs)
    if both and suspect.same_service and suspect.change.diff and seconds <= 600:
        return "high", because + "; metrics and logs agree"
    return ("medium" if both or suspect.words else "low"), because


def _next(suspect: Suspect | None, service: str) -> str:
    if suspect is None:
        return f"read the first errors of {service or 'the service'} in full before acting"
    row = suspect.change.row
    keys = ", ".join(suspect.keys[:2])
    what = f"{row.get('kind')} {row.get('name')}" + (f" of {service}" if service else "")
    check = f"confirm that {keys} is in effect" if keys else f"confirm that {what} is live"
    return f"{check}, then have {what} rolled back by whoever owns it and watch the errors stop"


def settle(
    findings: Sequence[Mapping[str, Any]],
    evidence: Sequence[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """The `cause` of the report, with its `alternatives` (statement, why_not) under that key.

    `findings` are the run's findings (statement, evidence ids, optionally role, service, change,
    since). `evidence` is the report's list with the whole tool result under `result`, or a map from id
    to it; excerpts alone work only as far as they are whole JSON.
    """
    if isinstance(evidence, Mapping):
        entries = [{"id": key, "result": value} for key, value in evidence.items()]
    else:
        entries = [dict(entry) for entry in evidence]
    results = [(str(e.get("id")), str(e.get("tool") or ""), _result(e)) for e in entries]
    texts = {key: json.dumps(value, ensure_ascii=False) for key, _, value in results}
    # a quoted log line is escaped in JSON and plain in a statement
    texts = {key: text + " " + text.replace('\\"', '"') for key, text in texts.items()}
    facts = collect(results)
    good, bad = _grounded(findings, texts)
    others = [
        {"statement": str(f.get("statement")), "why_not": why} for f, why in bad if _proposes(f)
    ]
    if not facts.symptoms():
        return _with(_abstain(_nothing_moved(facts), facts), others)
    found = suspects(facts)
    for finding in (f for f in good if _proposes(f)):
        suspect = _match(finding, found)
        if suspect is None and finding.get("change"):
            why = "no change of that name came before the onset and touches what moved"
            others.append({"statement": str(finding.get("statement")), "why_not": why})
            continue
        if suspect is None and not _mechanism(facts):
            why = "neither a change nor an error in the logs precedes what moved"
            others.append({"statement": str(finding.get("statement")), "why_not": why})
            continue
        if suspect and not _stands_out(facts, suspect, found):
            why = "another change is nearly as likely, and too little speaks for either"
            others.append({"statement": str(finding.get("statement")), "why_not": why})
            continue
        accepted = _accept(facts, finding, suspect, found)
        return _with(accepted, others + _rest(facts, suspect, found))
    because = "something moved, but no grounded finding names what stands out as its cause"
    if len(found) > 1:
        because += f": {len(found)} changes before it are about as likely"
    return _with(_abstain(because, facts), others + _rest(facts, None, found))


def _stands_out(facts: Facts, suspect: Suspect, found: Sequence[Suspect]) -> bool:
    """Whether a change is more than a guess.

    A changed setting is, and a lead over every other change; shared words are only while the movement
    followed within minutes.
    """
    rivals = [one.score for one in found if one is not suspect]
    if suspect.change.diff or all(suspect.score - score >= _LEAD for score in rivals):
        return True
    soon = (facts.onset() or suspect.change.at) - suspect.change.at <= _SOON
    return bool(suspect.words) and soon


def _with(cause: dict[str, Any], alternatives: list[dict[str, Any]]) -> dict[str, Any]:
    return {**cause, "alternatives": alternatives[:_MOST_ALTERNATIVES]}


def _proposes(finding: Mapping[str, Any]) -> bool:
    return finding.get("role") in ("cause", None)


def _nothing_moved(facts: Facts) -> str:
    if not facts.looked:
        return "no tool gave a result to judge by"
    if not {"query_metrics", "query_logs"} & set(facts.looked):
        return "neither metrics nor logs were looked at"
    seen = []
    if facts.counts.get("series"):
        seen.append("no metric moved for good")
    errors = facts.counts.get("errors", 0)
    if errors:
        seen.append(f"the logs hold errors ({errors} lines) all along, but none that is new")
    elif facts.counts.get("lines"):
        seen.append("no error appeared in the logs")
    if not seen:
        return "there is no metric and no log line in what was looked at"
    parts = [" and ".join(seen)]
    parts += [f"{say_moved(one)}" for one in facts.transients[:2]]
    return "; ".join(parts)


def _mechanism(facts: Facts) -> bool:
    symptoms = facts.symptoms()
    if not facts.bad_logs:
        return False
    first = min(one.at for one in facts.bad_logs)
    return any(not one.log and one.at >= first - 60 for one in symptoms)


def _accept(
    facts: Facts, finding: Mapping[str, Any], suspect: Suspect | None, found: Sequence[Suspect]
) -> dict[str, Any]:
    rival = next((one for one in found if one is not suspect), None)
    confidence, because = _confidence(facts, suspect, rival)
    symptoms = facts.symptoms()
    onset = facts.onset() or symptoms[0].at
    since = parse_time(finding.get("since"))
    if since is None or abs(since - onset) > LOOK_BACK:
        since = onset
    first_error = min(facts.bad_logs, key=lambda one: one.at, default=None)
    service = (suspect.change.service if suspect else "") or str(finding.get("service") or "")
    kind = str(finding.get("kind") or "mechanism")
    if suspect:
        kind = "config_change" if suspect.change.diff else str(suspect.change.row.get("kind"))
    return {
        "service": service or symptoms[0].service,
        "change": say_change(suspect.change, suspect.keys) if suspect else None,
        "kind": kind,
        "confidence": confidence,
        "abstained": False,
        "because": because,
        "since": iso(since),
        "statement": str(finding.get("statement")),
        "affected": _affected(facts, service or symptoms[0].service),
        "mechanism": say_moved(first_error or symptoms[0]),
        "next_action": _next(suspect, service),
    }


def _rest(facts: Facts, chosen: Suspect | None, found: Sequence[Suspect]) -> list[dict[str, Any]]:
    """Every other change, and what speaks against it."""
    onset = facts.onset()
    out = []
    for one in found:
        if chosen is None or one.change is not chosen.change:
            why = (
                "has less to do with what moved" if one.change.diff else "names no changed setting"
            )
            out.append({"statement": say_change(one.change, one.keys), "why_not": why})
    related = {id(one.change) for one in found}
    for change in facts.changes:
        if id(change) in related or onset is None:
            continue
        late = change.at > onset + CLOCK
        why = "came after the first movement" if late else "touches nothing that moved"
        out.append({"statement": say_change(change), "why_not": why})
    return out
