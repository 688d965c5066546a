"""The report as the renderers show it: cleaned, ordered, with the words chosen once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from roundsman.report.evidence import Evidence, Finding, pick_top, read_evidence, read_findings
from roundsman.report.stops import by_the_guard, how_it_ended
from roundsman.report.text import (
    as_dict,
    as_dicts,
    as_list,
    as_number,
    as_time,
    clean,
    compact,
    joined,
    plural,
    short_times,
    show_number,
    show_time,
)

NO_CAUSE = "No cause found"


@dataclass(frozen=True)
class Moment:
    """One line of the timeline; `iso` is empty when the time could not be read."""

    iso: str
    at: str
    what: str
    kind: str
    service: str


@dataclass(frozen=True)
class View:
    """Everything shown, as clean text; "" and empty tuples mean: nothing to show.

    `day` is the date of the whole timeline, whose moments then show the clock alone.
    """

    found: bool
    headline: str
    story: str
    because: str
    caution: str
    confidence: str
    mechanism: str
    since: str
    affected: str
    next_action: str
    runbook: str
    top: tuple[Evidence, ...]
    evidence: tuple[Evidence, ...]
    findings: tuple[Finding, ...]
    alternatives: tuple[tuple[str, str], ...]
    guard: tuple[str, ...]
    unseen: tuple[str, ...]
    timeline: tuple[Moment, ...]
    day: str
    run_id: str
    question: str
    model: str
    policy: str
    stop: str
    cost: str
    times: str

    @property
    def affected_label(self) -> str:
        """What stands before those affected: beside a cause there is one that they are besides."""
        return "Also affected" if self.found else "Affected"


def _runbook(given: Mapping[str, Any]) -> str:
    """Its title and where it lies."""
    title, path = clean(given.get("title"), 120), clean(given.get("path"), 300)
    return f"{title} ({path})" if title and path else title or path


def build(report: Mapping[str, Any]) -> View:
    """Read a report of any completeness; never raises on missing or misshapen keys."""
    report = as_dict(report)
    cause = as_dict(report.get("cause"))
    full = clean(cause.get("statement"))
    # A statement that tells the whole story is no headline when the change can stand for it.
    story = full if len(full) > 140 and cause.get("change") else ""
    named = _name_of(cause) if story else full or _name_of(cause)
    found = bool(named) and not cause.get("abstained")
    day = _day(cause.get("since"), report)
    # the clock alone is clear only under a verdict that begins with the date
    said = day if cause.get("since") else ""
    findings = tuple(
        replace(one, statement=short_times(one.statement, said)) for one in read_findings(report)
    )
    evidence = tuple(read_evidence(report, findings, said))
    moments = _timeline(report)
    one_day = bool(moments) and all(one.iso.startswith(day) for one in moments) and bool(day)
    because = clean(cause.get("because"), 900)
    if not found and not because:
        because = _why_none(report)
    affected = ", ".join(filter(None, (_thing(item) for item in as_list(cause.get("affected")))))
    policy = as_dict(report.get("policy"))
    started, finished = show_time(report.get("started")), show_time(report.get("finished"))
    return View(
        found=found,
        headline=short_times(named, said) if found else clean(cause.get("instead")) or NO_CAUSE,
        story=short_times(story, said) if found else "",
        because=short_times(because, said),
        caution=clean(cause.get("caution"), 900),
        confidence=_confidence(cause.get("confidence")) if found else "",
        mechanism=short_times(clean(cause.get("mechanism"), 900), said),
        since=show_time(cause.get("since")),
        affected=affected or clean(cause.get("affected") or ""),
        next_action=short_times(clean(cause.get("next_action"), 900), said),
        runbook=_runbook(as_dict(report.get("runbook"))),
        top=tuple(pick_top(cause, findings, evidence)),
        evidence=evidence,
        findings=findings,
        alternatives=tuple(
            (short_times(_thing(item), said), short_times(clean(item.get("why_not")), said))
            for item in as_dicts(report.get("alternatives"))
        ),
        guard=tuple(_guard(report)),
        unseen=tuple(
            joined(
                _thing(item), clean(item.get("why")), item.get("count"), clean(item.get("unit"), 60)
            )
            for item in as_dicts(report.get("unseen"))
        ),
        timeline=tuple(
            replace(one, at=one.at.removeprefix(f"{day} ").removesuffix(" UTC")) if one_day else one
            for one in moments
        ),
        day=day if one_day else "",
        run_id=clean(report.get("run_id"), 100),
        question=clean(report.get("question")),
        model=clean(report.get("model"), 120),
        policy=" ".join(
            filter(None, (clean(policy.get("name"), 120), clean(policy.get("digest"), 200)[:12]))
        ),
        stop=how_it_ended(report),
        cost=_cost(report),
        times=" to ".join(filter(None, (started, finished))),
    )


def _day(since: object, report: Mapping[str, Any]) -> str:
    """The date most of the report is about: that of the onset, else of the first moment."""
    times = [since, *(item.get("at") for item in as_dicts(report.get("timeline")))]
    known = next((at for at in map(as_time, times) if at is not None), None)
    return known.strftime("%Y-%m-%d") if known else ""


def _name_of(cause: Mapping[str, Any]) -> str:
    service, what = clean(cause.get("service"), 120), clean(cause.get("change"), 300)
    if service and service in what:
        return what
    return ": ".join(filter(None, (service, what or clean(cause.get("kind"), 120))))


def _thing(item: object) -> str:
    """A list's item may be a text or a mapping that names the thing under one of a few keys."""
    if isinstance(item, Mapping):
        for key in ("what", "statement", "service", "name"):
            if item.get(key):
                return clean(item[key])
        return clean(compact(item))
    return clean(item)


def _confidence(value: object) -> str:
    number = as_number(value)
    if number is not None:
        return f"{number:.0%}" if 0 <= number <= 1 else ""
    return "" if isinstance(value, float) else clean(value, 40)


def _why_none(report: Mapping[str, Any]) -> str:
    if not as_list(report.get("findings")):
        return "the run ended before it held any finding"
    return "the findings held do not settle on one cause"


def _question(item: Mapping[str, Any]) -> str:
    """What a person was asked, and what they said."""
    asked = f"asked {clean(item.get('question'), 20)}: {clean(item.get('reason'), 300)}"
    answer = item.get("answer")
    if not isinstance(answer, Mapping):
        return f"{asked}; not answered yet"
    granted = answer.get("granted")
    more = granted.items() if isinstance(granted, Mapping) else ()
    added = "".join(f" +{show_number(n)} {clean(name, 20)}" for name, n in more)
    said = clean(answer.get("decision"), 20) or "answered"
    by, at = clean(answer.get("by"), 80), clean(answer.get("at"), 40)
    note = f" ({clean(answer.get('note'))})" if answer.get("note") else ""
    return f"{asked}; {said}{added} by {by} at {at}{note}"


def _guard(report: Mapping[str, Any]) -> Iterator[str]:
    ended = by_the_guard(report)
    if ended:
        yield f"stopped the run: {ended}"
    elif report.get("usage") and not any(
        report.get(k) for k in ("refused", "amended", "cuts", "blocks", "asked")
    ):
        yield "nothing refused, changed or cut"
    for item in as_dicts(report.get("refused")):
        what = clean(item.get("tool"), 120) or _thing(item)
        yield "refused " + joined(what, clean(item.get("reason")), item.get("count"))
    for item in as_dicts(report.get("amended")):
        where = f"{clean(item.get('tool'), 120)} {clean(item.get('arg'), 120)}".strip()
        yield f"amended {where}: {clean(item.get('from'), 80) or 'none'} → {clean(item.get('to'), 80)}"
    for item in as_dicts(report.get("cuts")):
        where = clean(item.get("round"), 20)
        why = clean(item.get("reason") or item.get("statement"))
        yield (f"cut round {where}" if where else "cut") + (f": {why}" if why else "")
    for item in as_dicts(report.get("asked")):
        yield _question(item)
    for item in as_dicts(report.get("overruns")):
        model = clean(item.get("model"), 80) or "a model"
        made, allowed = as_number(item.get("produced")), as_number(item.get("allowed"))
        if made is not None and allowed is not None:
            yield (
                f"overrun {model} made a reply of {show_number(made)} tokens where "
                f"{show_number(allowed)} were allowed"
            )
    for item in as_dicts(report.get("notes")):
        where = clean(item.get("round"), 20)
        yield (f"round {where}: " if where else "") + clean(item.get("reason"))
    for item in as_dicts(report.get("blocks")):
        why = clean(item.get("reason"))
        yield ("text " if item.get("where") else "blocked ") + joined(
            clean(item.get("tool"), 120) or _thing(item), why, None
        )


def _timeline(report: Mapping[str, Any]) -> list[Moment]:
    moments = []
    for item in as_dicts(report.get("timeline")):
        at = as_time(item.get("at"))
        moments.append(
            Moment(
                iso=at.isoformat() if at else "",
                at=show_time(item.get("at")),
                what=clean(item.get("what") or item.get("statement")),
                kind=clean(item.get("kind"), 30) or "event",
                service=clean(item.get("service"), 120),
            )
        )
    return sorted(moments, key=lambda one: (not one.iso, one.iso))


def _cost(report: Mapping[str, Any]) -> str:
    usage = as_dict(report.get("usage"))
    parts = [
        plural(report.get("rounds"), "round"),
        plural(usage.get("steps"), "step"),
        plural(usage.get("actions"), "action"),
        plural(usage.get("tokens"), "token"),
    ]
    estimated = usage.get("tokens_estimated")
    if estimated is True:
        parts[-1] += " (estimated)"
    elif as_number(estimated):
        parts[-1] += f" ({show_number(estimated)} estimated)"
    usd = as_number(usage.get("usd"))
    # An unknown price switches a preset's dollar ceiling off, and the reader must learn of it.
    if usd is not None:
        parts.append(f"${usd:.2f}" if usd == 0 or usd >= 0.1 else f"${usd:.4f}")
    elif usage:
        parts.append("price unknown: no dollar limit held")
    return " · ".join(parts)
