"""The verdict: a cause or an honest abstention, settled by code from grounded findings.

What a model says is a proposal. A cause is accepted only when its statement occurs in the results
it cites, something moved for good, and a change or an error in the logs came before it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from roundsman.analysis.clocks import Skew
from roundsman.analysis.symptoms import eased
from roundsman.investigate.advice import WATCH, next_action, without_cause
from roundsman.investigate.causes import (
    LESS,
    Candidate,
    Judgement,
    against,
    ahead_by,
    came_after,
    judge,
)
from roundsman.investigate.clocks import NOT_CORRECTED
from roundsman.investigate.collect import collect
from roundsman.investigate.facts import CLOCK, LOOK_BACK, Facts
from roundsman.investigate.proposals import grounded, named_by, proposes, whole_result
from roundsman.investigate.ranking import rank
from roundsman.investigate.steps import as_unseen, attempt
from roundsman.investigate.wording import say_change, say_moved
from roundsman.sources.times import iso, parse_time

_MOST_ALTERNATIVES = 6
_ALTERNATIVES = "the alternatives"
_PART_FAILED = "a part of the analysis failed (see what was not seen)"


def _abstain(
    because: str, facts: Facts | None = None, judged: Judgement | None = None
) -> dict[str, Any]:
    onset = attempt(facts.broken, "since when", facts.onset) if facts else None
    affected = (
        attempt(facts.broken, "who is affected", partial(_affected, facts, None)) if facts else []
    )
    advice = WATCH
    if facts and judged:
        advice = attempt(facts.broken, "advice", partial(without_cause, facts, judged)) or WATCH
    return {
        "service": None,
        "change": None,
        "kind": None,
        "confidence": "low",
        "abstained": True,
        "because": because,
        "since": iso(onset) if onset is not None else None,
        "statement": "no cause found: " + because,
        "first_failing": None,
        "affected": affected or [],
        "mechanism": None,
        "next_action": advice,
    }


def _affected(facts: Facts, service: str | None) -> list[str]:
    known: dict[str, str] = {}  # one service may be written in two ways
    for one in facts.symptoms():
        if eased(one.name, one.level("before"), one.level("after")) and not one.log:
            continue
        known.setdefault(one.service.lower(), one.service)
    return [name for key, name in known.items() if key and key != (service or "").lower()]


def _because(one: Candidate, judgement: Judgement) -> str:
    """What speaks for the cause, and who else is nearly as likely."""
    text = "; ".join(one.speaks_for[:4])
    rival = judgement.rival(one)
    if rival is not None and one.score - rival.score < 1.0:
        text += f"; {rival.statement} is nearly as likely"
    return text


def settle(
    findings: Sequence[Mapping[str, Any]],
    evidence: Sequence[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """The `cause` of the report, with its `alternatives` (statement, why_not), ranked `services`, and
    `broken`: steps of the analysis that failed, in the form of `unseen`.

    `findings` are the run's findings (statement, evidence ids, optionally role, service, change,
    since). `evidence` is the report's list with the whole tool result under `result`, or a map from id
    to it; excerpts alone work only as far as they are whole JSON.
    """
    if isinstance(evidence, Mapping):
        entries = [{"id": key, "result": value} for key, value in evidence.items()]
    else:
        entries = [dict(entry) for entry in evidence]
    results = [(str(e.get("id")), str(e.get("tool") or ""), whole_result(e)) for e in entries]
    texts = {key: json.dumps(value, ensure_ascii=False) for key, _, value in results}
    # a quoted log line is escaped in JSON and plain in a statement
    texts = {key: text + " " + text.replace('\\"', '"') for key, text in texts.items()}
    facts = collect(results)
    good, bad = grounded(findings, texts)
    others = [
        {"statement": str(f.get("statement")), "why_not": why} for f, why in bad if proposes(f)
    ]
    judged = judge(facts)
    if not attempt(facts.broken, "what moved together", facts.symptoms):
        return _with(_abstain(_nothing_moved(facts), facts, judged), others, facts, judged)
    for finding in (f for f in good if proposes(f)):
        one = named_by(finding, judged.candidates)
        ask = partial(_refused, finding, one, judged, facts)
        why = attempt(facts.broken, "judging a proposal", ask)
        if why != "":
            why = why or "it could not be judged"
            others.append({"statement": str(finding.get("statement")), "why_not": why})
            continue
        accept = partial(_accept, facts, finding, one, judged)
        accepted = attempt(facts.broken, "wording the cause", accept)
        if accepted is None:
            continue
        others += attempt(facts.broken, _ALTERNATIVES, partial(_rest, facts, one, judged)) or []
        return _with(accepted, others, facts, judged)
    because = judged.why_none or "no grounded finding names what stands out as its cause"
    others += attempt(facts.broken, _ALTERNATIVES, partial(_rest, facts, None, judged)) or []
    return _with(_abstain(because, facts, judged), others, facts, judged)


def _refused(
    finding: Mapping[str, Any], one: Candidate | None, judged: Judgement, facts: Facts
) -> str:
    """Why a proposal is not believed; empty when it is."""
    if judged.harm.over or not judged.harm.signs:
        return judged.why_none
    if one is not None and one.suspect and judged.best is None and judged.skews:
        return judged.why_none
    if one is None:
        if finding.get("change"):
            return "no change of that name came before the onset and touches what moved"
        if not _mechanism(facts):
            return "neither a change nor an error in the logs precedes what moved"
        if judged.best is not None:
            return f"{judged.best.statement} explains what moved"
        return ""
    if one is judged.best:
        return ""
    return against(one, judged, judged.best)


def _with(
    cause: dict[str, Any], alternatives: list[dict[str, Any]], facts: Facts, judged: Judgement
) -> dict[str, Any]:
    named = [] if cause["abstained"] else [cause["service"], cause["first_failing"] or ""]
    ranking = partial(rank, facts, judged, named)
    ranked = [one.to_json() for one in attempt(facts.broken, "ranking the services", ranking) or []]
    if judged.skews:
        said = "; ".join(f"{one.said} ({one.by})" for one in judged.skews[:3])
        cause = cause | {"caution": f"clocks differ: {said}; {NOT_CORRECTED}"}
    if facts.broken:
        cause = cause | {"because": f"{cause['because']}; {_PART_FAILED}"}
    return {
        **cause,
        "alternatives": alternatives[:_MOST_ALTERNATIVES],
        "services": ranked,
        "broken": [*as_unseen(facts.broken), *(_as_unseen(one) for one in judged.skews)],
    }


def _as_unseen(skew: Skew) -> dict[str, Any]:
    what = f"one clock for {skew.of} and {skew.against}"
    return {"what": what, "why": f"{skew.said}: {skew.by}; {NOT_CORRECTED}", "count": 1}


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
    facts: Facts, finding: Mapping[str, Any], one: Candidate | None, judged: Judgement
) -> dict[str, Any]:
    change = one.suspect.change if one and one.suspect else None
    symptoms = facts.symptoms() if change is None else facts.followed(change)
    onset = symptoms[0].at
    since = parse_time(finding.get("since"))
    before = change is not None and since is not None and since < change.at - CLOCK
    if since is None or before or abs(since - onset) > LOOK_BACK:
        since = onset
    first_error = min(facts.bad_logs, key=lambda one: one.at, default=None)
    service, kind = str(finding.get("service") or ""), str(finding.get("kind") or "mechanism")
    confidence, because = (
        "low",
        "errors in the logs came before what moved, but no change explains them",
    )
    if one is not None:
        confidence, because = judged.confidence(one, facts), _because(one, judged)
    if change is not None:
        service = change.service or service
        kind = "config_change" if change.diff else str(change.row.get("kind"))
    elif one is not None and one.condition:
        service, kind = one.condition.service, one.condition.kind
    service = service or symptoms[0].service
    return {
        "service": service,
        "change": say_change(change, one.suspect.keys if one and one.suspect else ())
        if change
        else None,
        "kind": kind,
        "confidence": confidence,
        "abstained": False,
        "because": because,
        "since": iso(since),
        "statement": str(finding.get("statement")),
        "first_failing": _first_failing(facts, judged, service),
        "affected": _affected(facts, service),
        "mechanism": say_moved(first_error or symptoms[0]),
        "next_action": next_action(one, service, confidence),
    }


def _first_failing(facts: Facts, judged: Judgement, service: str) -> str | None:
    """The service in which users first felt it: the cause's own when it suffered, else the deepest."""
    place = judged.place
    if service.lower() in place.began | place.suffered.keys():
        return service
    ranked = sorted(place.began & place.suffered.keys(), key=lambda name: place.suffered[name])
    name = next(iter(ranked), place.first)
    return facts.spelled(name) if name else None


def _rest(facts: Facts, chosen: Candidate | None, judged: Judgement) -> list[dict[str, Any]]:
    """Every other cause that was weighed, and what speaks for and against it."""
    onset = facts.onset()
    out = []
    for one in judged.candidates:
        if one is chosen:
            continue
        why = against(one, judged, chosen)
        if chosen is not None and why.startswith(LESS):
            grounds = f": {one.speaks_for[0]}" if one.speaks_for else ""
            more = ahead_by(one, chosen)
            ahead = f"{chosen.score:g}: {more}" if more else f"{chosen.score:g}"
            why = f"{LESS} ({one.score:g}{grounds}) than for the cause ({ahead})"
        out.append(
            {
                "statement": one.statement,
                "why_not": why,
                "speaks_for": list(one.speaks_for),
                "speaks_against": list(one.speaks_against),
            }
        )
    weighed = {id(one.suspect.change) for one in judged.candidates if one.suspect}
    for change in facts.changes:
        if id(change) in weighed or onset is None:
            continue
        late = came_after(change.at, judged, onset)
        why = "came after the first movement" if late else "touches nothing that moved"
        out.append({"statement": say_change(change), "why_not": why})
    return out
