"""The keyless analyst: a thin planner over structured tool results, and the baseline for any model.

It has no data access of its own: it asks for metrics, logs and changes, piece by piece when the
window is long, then words what the results say. Every number, name and time in its statements is
copied from the results it cites.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from roundsman.investigate.causes import Candidate, Judgement, against, came_after, judge
from roundsman.investigate.collect import collect
from roundsman.investigate.facts import Facts, Moved, echoes
from roundsman.investigate.runbooks import asked_in
from roundsman.investigate.steps import attempt
from roundsman.investigate.windows import MINUTES, offsets
from roundsman.investigate.wording import literal, say_change, say_moved
from roundsman.sources.times import parse_time

_MOST_SYMPTOMS, _MOST_LOGS, _MOST_RULED_OUT = 6, 4, 4
_MOST_ORIGINS, _MOST_WAITS = 4, 2
#: pieces before the newest whose traces are asked for; more would not fit the strictest preset
_TRACE_PIECES = 4
_LITERAL = 8
#: minutes after the beginning of a trend in which what began it may be written down
_AROUND = 15

Exchange = tuple[str, Mapping[str, Any], Any]


def _look(ago: int) -> dict[str, Any]:
    return {"window_minutes": MINUTES} | ({"end_minutes_ago": ago} if ago else {})


def _calls(prompt: str) -> list[dict[str, Any]]:
    """The newest piece of the window: everything; the prompt says whether there are traces."""
    look = {"service": "", **_look(0)}
    calls: list[dict[str, Any]] = [
        {"name": "query_metrics", "args": {**look, "metric": ""}},
        {"name": "query_logs", "args": {**look, "text": ""}},
        {"name": "list_deploys", "args": _look(0)},
    ]
    if re.search(r"^Telemetry: .*\b(?:traces|call graph)\b", prompt, re.MULTILINE):
        calls.append({"name": "query_traces", "args": dict(look)})
    return [*calls, *asked_in(prompt, [call["name"] for call in calls])]


def _earlier(facts: Facts) -> list[dict[str, Any]]:
    """The pieces before it, the newest first."""
    calls = []
    for ago in offsets(facts.earlier):
        look = {"service": "", **_look(ago)}
        calls.append({"name": "query_metrics", "args": {**look, "metric": ""}})
        calls.append({"name": "query_logs", "args": {**look, "text": ""}})
    for ago in offsets(facts.earlier, overlap=0):
        calls.append({"name": "list_deploys", "args": _look(ago)})
    if "query_traces" in facts.looked:
        for ago in offsets(facts.earlier, overlap=0)[:_TRACE_PIECES]:
            calls.append({"name": "query_traces", "args": {"service": "", **_look(ago)}})
    return calls


def _closer(facts: Facts, asked: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A second look at what moved first: one series, one kind of log line, in the same piece."""

    def same_piece(moved: Moved) -> dict[str, Any]:
        return _look(int(asked.get(moved.evidence, {}).get("end_minutes_ago") or 0))

    calls = []
    first = next((one for one in facts.symptoms() if not one.log), None)
    if first:
        args = {"service": first.service, "metric": first.name, **same_piece(first)}
        calls.append({"name": "query_metrics", "args": args})
    if facts.bad_logs:
        line = min(facts.bad_logs, key=lambda moved: moved.at)
        text = literal(line.name)
        if len(text) >= _LITERAL:
            args = {"service": line.service, "text": text, **same_piece(line)}
            calls.append({"name": "query_logs", "args": args})
    calls += _when_it_began(facts)
    return calls


def _when_it_began(facts: Facts) -> list[dict[str, Any]]:
    """Changes around the beginning of what has been growing since before the pieces looked at."""
    begun = [parse_time(one.row.get("growing_since")) for one in facts.metrics]
    known = sorted(at for at in begun if at is not None)
    if not known or facts.end is None:
        return []
    ago = int((facts.end - known[0]) // 60) - _AROUND
    if ago <= facts.earlier or ago <= 0:
        return []
    return [{"name": "list_deploys", "args": _look(ago)}]


def _triples(exchanges: Sequence[Exchange]) -> list[tuple[str, str, Any]]:
    out = []
    for number, (tool, _, result) in enumerate(exchanges, start=1):
        given = result.get("evidence_id") if isinstance(result, Mapping) else None
        out.append((str(given or f"a{number}"), tool, result))
    return out


def _finding(role: str, statement: str, evidence: Sequence[str], **more: Any) -> dict[str, Any]:
    cited = list(dict.fromkeys(evidence))
    return {"statement": statement, "evidence": cited, "role": role, **more}


def _cause(facts: Facts, judged: Judgement) -> dict[str, Any] | None:
    """The cause that stands out, or else the first error of the logs when something moved after it."""
    best = judged.best
    if best is None:
        return None if judged.harm.over or not judged.harm.signs else _without_change(facts, judged)
    symptoms = facts.symptoms()
    if best.condition:
        one = best.condition
        # one sign alone would be a repetition of the finding that tells it
        more = [m for m in judged.harm.signs if m not in one.signs and not m.log]
        more = (more or [m for m in one.signs if say_moved(m) not in one.statement])[:1]
        return _finding(
            "cause",
            "; then ".join([one.statement, *(say_moved(sign) for sign in more)]),
            [sign.evidence for sign in (*one.signs, *more)],
            service=one.service,
            kind=one.kind,
            change=None,
            since=str(one.signs[0].row.get("onset") or symptoms[0].row["onset"]),
        )
    assert best.suspect is not None
    change = best.suspect.change
    symptoms = facts.followed(change)
    parts = [best.statement]
    chosen = [next((m for m in symptoms if not m.log), None)]
    chosen.append(min(facts.bad_logs, key=lambda m: m.at) if facts.bad_logs else None)
    used = [one for one in chosen if one]
    parts += [say_moved(one) for one in sorted(used, key=lambda one: one.at)]
    return _finding(
        "cause",
        "; then ".join(parts),
        [change.evidence, *(one.evidence for one in used)],
        service=change.service or symptoms[0].service,
        kind="config_change" if change.diff else str(change.row.get("kind") or "change"),
        change=change.name,
        since=str(symptoms[0].row["onset"]),
    )


def _without_change(facts: Facts, judged: Judgement) -> dict[str, Any] | None:
    """The first error of the one service in which requests began to fail, when something moved with it.

    Failed requests must show that: the first error in the logs alone is no cause.
    """
    lines = [one for one in facts.bad_logs if one.service.lower() in judged.place.apart]
    if not lines or len(judged.place.apart) != 1:
        return None
    first = min(lines, key=lambda moved: moved.at)
    after = next((m for m in facts.symptoms() if not m.log and m.at >= first.at - 60), None)
    if after is None:
        return None
    return _finding(
        "cause",
        f"{say_moved(first)}; then {say_moved(after)}; no change before it touches what moved",
        [first.evidence, after.evidence],
        service=first.service,
        kind="mechanism",
        change=None,
        since=str(first.row["onset"]),
    )


def _ruled_out(facts: Facts, judged: Judgement) -> list[dict[str, Any]]:
    onset = facts.onset()
    out = []
    for one in facts.settings:
        owner = next((c for c in facts.changes if echoes(one, c)), None)
        if owner:
            text = f"{say_moved(one)}, which only repeats a setting: {say_change(owner)}"
            out.append(_finding("ruled_out", text, [one.evidence, owner.evidence]))
    for one in facts.transients:
        out.append(_finding("ruled_out", say_moved(one), [one.evidence], service=one.service))
    weighed: dict[int, Candidate] = {
        id(one.suspect.change): one for one in judged.candidates if one.suspect
    }
    for change in reversed(facts.changes):
        candidate = weighed.get(id(change))
        if onset is None or (candidate is not None and candidate is judged.best):
            continue
        if came_after(change.at, judged, onset):
            why = "came after the first movement"
        elif candidate is None:
            why = "touches nothing that moved"
        else:
            why = against(candidate, judged, judged.best)
        out.append(_finding("ruled_out", f"{say_change(change)}: {why}", [change.evidence]))
    return out[:_MOST_RULED_OUT]


def _along_the_calls(facts: Facts) -> list[dict[str, Any]]:
    """Where failures of requests began, and who only passed them on."""
    out = []
    for one in facts.along.origins[:_MOST_ORIGINS]:
        row = one.row
        message = f': "{row.get("message")}"' if row.get("message") else ""
        text = f"{row.get('errors')} failed requests began in {one.service} from {row.get('first')}"
        if row.get("errors") == 1:
            text = f"1 failed request began in {one.service} at {row.get('first')}"
        more = {"service": one.service, "kind": "trace", "since": str(row.get("first"))}
        out.append(_finding("symptom", text + message, [one.evidence], **more))
    if facts.along.victims and facts.along.origins:
        names = ", ".join(list(facts.along.victims)[:_MOST_ORIGINS])
        text = f"{names} only passed on failures of services behind them"
        out.append(_finding("symptom", text, list(facts.along.victims.values()), kind="trace"))
    for evidence, row in facts.along.waits[:_MOST_WAITS]:
        text = (
            f"calls of {row.get('caller')} to {row.get('callee')} wait from {row.get('onset')}: "
            f"{row.get('what')} from {row.get('before')} to {row.get('after')}"
        )
        out.append(
            _finding("symptom", text, [evidence], service=str(row.get("callee")), kind="trace")
        )
    return out


def _answer(facts: Facts) -> dict[str, Any]:
    findings: list[dict[str, Any]] = []
    judged = judge(facts)
    symptoms = facts.symptoms()
    lost = facts.broken  # the verdict goes the same way, and says what failed there
    cause = attempt(lost, "wording the cause", partial(_cause, facts, judged)) if symptoms else None
    metrics = [one for one in symptoms if not one.log]
    for one in [*metrics[:_MOST_SYMPTOMS], *facts.bad_logs[:_MOST_LOGS]]:
        findings.append(
            _finding(
                "symptom",
                say_moved(one),
                [one.evidence],
                service=one.service,
                kind="log" if one.log else "metric",
                since=str(one.row["onset"]),
            )
        )
    named = [one.suspect for one in judged.candidates[:1] if one.suspect and judged.harm.signs]
    for suspect in named:
        findings.append(
            _finding(
                "change",
                say_change(suspect.change, suspect.keys),
                [suspect.change.evidence],
                service=suspect.change.service,
                change=str(suspect.change.row.get("name") or ""),
                since=str(suspect.change.row.get("at")),
            )
        )
    if cause:  # after its parts: said first, it would make each of them a repetition
        findings.append(cause)
    findings += attempt(lost, "along the calls", partial(_along_the_calls, facts)) or []
    findings += attempt(lost, "what is ruled out", partial(_ruled_out, facts, judged)) or []
    if not findings and facts.looked:
        found_counts = facts.counts.items()
        looked = ", ".join(f"{count} {name}" for name, count in found_counts if name != "moved")
        text = f"nothing moved beyond its noise in what was looked at ({looked or 'no data'})"
        cited = [*facts.looked.values(), *facts.counted_in.values()]
        findings.append(_finding("ruled_out", text, cited))
    return {"findings": findings, "done": True}


def plan(prompt: str, exchanges: Sequence[Exchange]) -> list[dict[str, Any]] | dict[str, Any]:
    """The next tool calls of a round, or its answer.

    `exchanges` are this round's (tool, arguments, result) so far. Calls are `{"name", "args"}`; an
    answer is `{"findings", "done"}`. Of the prompt only the kinds of telemetry are read.
    """
    newest = _calls(prompt)
    if not exchanges:
        return newest
    triples = _triples(exchanges)
    overview = len(newest)
    earlier = _earlier(collect(triples[:overview]))
    if len(exchanges) == overview and earlier:
        return earlier
    overview += len(earlier)
    asked = {triple[0]: args for triple, (_, args, _) in zip(triples, exchanges, strict=True)}
    if len(exchanges) == overview:
        facts = collect(triples)
        if closer := attempt(facts.broken, "a closer look", partial(_closer, facts, asked)):
            return closer
    # the narrow results first: a movement is cited from the result that shows it best
    return _answer(collect([*triples[overview:], *triples[:overview]]))
