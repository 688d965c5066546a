"""The next safe action for a cause, in words; nothing here acts."""

from __future__ import annotations

from roundsman.analysis.symptoms import kinds_of
from roundsman.investigate.causes import Candidate, Judgement
from roundsman.investigate.facts import Facts
from roundsman.investigate.wording import say_moved, text_of
from roundsman.sources.times import iso

_ACT = {
    "certificate": "have the certificate renewed by whoever owns it, and watch the errors stop",
    "traffic": "add capacity or shed load where requests enter; no change is to be rolled back",
    "upstream": "ask the provider, and fail over or degrade where that is prepared",
    "disk": "free or add space, and find what filled it",
    "node": "move the work off that node, and have it looked at",
    "dns": "ask the resolver directly, and fail over to another where one is prepared",
    "stalled": "look at what it waits for (threads, locks, the message it holds) before it is restarted",
    "neighbour": "have its work limited, moved or put off, and watch the others recover",
    "cache": "shed load from what stands behind it while it fills, and find what emptied it",
    "data": "set the damaged data aside, and find where it came from",
}


def next_action(one: Candidate | None, service: str, confidence: str = "") -> str:
    """What whoever is on call does next; of low confidence, what they look at first."""
    if one is None:
        return f"read the first errors of {service or 'the service'} in full before acting"
    if one.condition:
        act = _ACT.get(one.condition.kind, f"look at {service} before acting")
        return (
            f"check it first, since confidence is low; then {act}" if confidence == "low" else act
        )
    assert one.suspect is not None
    row = one.suspect.change.row
    keys = ", ".join(one.suspect.keys[:2])
    what = f"{row.get('kind')} {row.get('name')}" + (f" of {service}" if service else "")
    check = f"confirm that {keys} is in effect" if keys else f"confirm that {what} is live"
    if confidence == "low":
        return (
            f"check {what} first, since confidence is low: {check} and fits the first errors; only "
            "then have it rolled back by whoever owns it and watch the errors stop"
        )
    return f"{check}, then have {what} rolled back by whoever owns it and watch the errors stop"


#: what is done when nothing that users feel has moved
WATCH = (
    "change nothing on this evidence; keep watching, and look again with a longer window or the "
    "telemetry that is missing"
)
_MOST, _LINE = 4, 160


def without_cause(facts: Facts, judged: Judgement) -> str:
    """What to do when no cause stands out: users who suffer still are no reason to wait."""
    harm = judged.harm
    felt = [one for one in harm.signs if one.log or kinds_of(one.name)]
    if not felt or harm.onset is None:
        return WATCH
    if harm.over:
        return "change nothing, since it is over; keep watching, and escalate if it comes back"
    where = list(dict.fromkeys(facts.spelled(name) for name in harm.services()))
    line = max(facts.bad_logs, key=lambda one: one.level("after") or 0.0, default=None)
    if line is not None:
        says = f'{line.service or "the"} errors say "{text_of(line)[:_LINE]}"'
    else:
        says = say_moved(next((one for one in felt if not one.log), felt[0]))
    within = f", in {', '.join(where[:_MOST])}" if where else ""
    more = f" and {len(where) - _MOST} more" if len(where) > _MOST else ""
    return (
        f"escalate, do not wait: failing since {iso(harm.onset)}{within}{more}; {says}; roll nothing "
        "back on this evidence alone"
    )
