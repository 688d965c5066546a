"""Causes that are no change: an expired certificate, more traffic, a provider that fails, a full disk,
a node, damaged data. Each is named only when results show it itself, not only what it would bring about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

from roundsman.analysis.symptoms import is_rate
from roundsman.investigate.entries import Condition as Condition
from roundsman.investigate.facts import Facts, Moved
from roundsman.investigate.harm import Harm
from roundsman.investigate.outside import failing_providers
from roundsman.investigate.place import Place, calls_of
from roundsman.investigate.shared_conditions import shared_conditions
from roundsman.investigate.steps import attempt
from roundsman.investigate.wording import say_moved
from roundsman.sources.times import iso

_EXPIRED = re.compile(
    r"certificate.{0,60}(expired|not yet valid|verify failed)|x509|notAfter|cert.{0,20}expir",
    re.IGNORECASE,
)
_EXPIRY = re.compile(
    r"(cert|tls|ssl).{0,40}(expir|seconds_until|not_?after|days_left|remaining)|"
    r"(expir|not_?after).{0,40}(cert|tls|ssl)",
    re.IGNORECASE,
)
_FULL = re.compile(
    r"no space left|enospc|disk (is )?full|quota exceeded|read-only file system", re.IGNORECASE
)
_NODE = re.compile(
    r"node\S* .{0,40}not.?ready|nodenotready|kubelet stopped|evict\w* .{0,40}\bpods?\b|"
    r"\bpods?\b.{0,60}evict|host .{0,20}(down|unreachable)|"
    r"kernel panic|hardware error|machine check|spot (termination|interruption)|preempt",
    re.IGNORECASE,
)
_DATA = re.compile(
    r"(malformed|corrupt|invalid|poison|unparsable|bad) "
    r"(record|row|message|payload|data|input|event|file|document)|schema violation|"
    r"could not parse (record|row|message|payload)|invalid byte sequence|checksum mismatch",
    re.IGNORECASE,
)
#: how many times the requests before count as more traffic
_MORE = 1.8
#: seconds by which traffic may seem to rise after the first harm (sampling)
_LATE = 90.0
#: the same moment, in seconds
_SAME = 180.0


def conditions(facts: Facts, harm: Harm, place: Place) -> list[Condition]:
    """What results show of such causes, the likeliest first."""
    if not harm.signs or harm.onset is None:
        return []
    found: list[Condition] = []
    kinds: list[tuple[str, Callable[[], Iterable[Condition]]]] = [
        ("an expired certificate", partial(_certificate, facts, harm, place)),
        ("more traffic", partial(_traffic, facts, harm, place)),
        ("a failing provider", partial(failing_providers, facts, harm)),
        ("what lines say outright", partial(_said, facts, harm, place)),
        *shared_conditions(facts, harm),
    ]
    for what, kind in kinds:
        found += attempt(facts.broken, f"weighing {what}", partial(_all, kind)) or []
    return sorted(found, key=lambda one: -one.score)


def _all(kind: Callable[[], Iterable[Condition]]) -> list[Condition]:
    return list(kind())


def _troubled(facts: Facts) -> list[Moved]:
    return [one for one in facts.logs if one.bad or one.warns]


def _certificate(facts: Facts, harm: Harm, place: Place) -> Iterable[Condition]:
    lines = [one for one in _troubled(facts) if _EXPIRED.search(one.said)]
    if not lines:
        return
    first = min(lines, key=lambda one: one.at)
    owner = next((one.service for one in facts.expiries if _EXPIRY.search(one.name)), "")
    speaks = ["errors say that a certificate is not valid any more"]
    score = 4.0
    signs = [first]
    gauge = next((one for one in facts.expiries), None)
    if gauge is not None and abs(gauge.at - (harm.onset or gauge.at)) <= _SAME:
        score += 1.5
        signs.append(gauge)
        speaks.append(f"its remaining time reached zero at {gauge.row.get('ran_out')}")
    named = sorted(callee for caller, callee in calls_of(facts) if caller == first.service.lower())
    who = owner or next((facts.spelled(name) for name in named), "") or first.service
    yield Condition(
        "certificate", who, score,
        f"the certificate of {who} expired: {say_moved(first)}", tuple(signs), tuple(speaks),
    )  # fmt: skip


def _risen(facts: Facts, harm: Harm) -> list[Moved]:
    """Rates of requests that grew before or with the harm, the largest factor a service."""
    begun = harm.onset or 0.0
    best: dict[str, Moved] = {}
    for one in facts.metrics:
        before, after = one.level("before"), one.level("after")
        if not is_rate(one.name):
            continue
        if not before or after is None or after < _MORE * before or one.at > begun + _LATE:
            continue
        known = best.get(one.service)
        if known is None or _factor(one) > _factor(known):
            best[one.service] = one
    return sorted(best.values(), key=lambda one: (one.at, -_factor(one)))


def _factor(one: Moved) -> float:
    return (one.level("after") or 0.0) / (one.level("before") or 1.0)


def _traffic(facts: Facts, harm: Harm, place: Place) -> Iterable[Condition]:
    risen = _risen(facts, harm)
    if not risen:
        return
    grown = {one.service.lower() for one in risen}
    calls = calls_of(facts)
    # a service whose callers did not get more is asked more often by them: that is no traffic
    entries = [
        one
        for one in risen
        if not {caller for caller, callee in calls if callee == one.service.lower()} - grown
    ]
    if not entries:
        return
    first = entries[0]
    callers = {caller for caller, _ in calls}
    top = [one for one in entries if one.service.lower() in callers] or entries
    first = min(top, key=lambda one: (one.at, -_factor(one)))
    score, speaks = 3.0, [f"requests of {first.service} grew {_factor(first):.1f} times"]
    # more requests come in at the front: where the front is asked as before, a caller asks more often
    fronts = {facts.alerted.lower(), *(a for a, b in calls if b in grown)} & facts.steady
    if fronts - grown:
        return
    if len(risen) > 1:
        score += 1.0
        speaks.append(f"they grew in {len(risen)} services together")
    full = sorted(harm.kinds.keys() & {"queue", "cpu", "pool"})
    if full:
        score += 0.5
        speaks.append("what serves them filled up: " + ", ".join(full))
    if len(grown) == 1 and len(place.suffered) > 1 and first.service.lower() not in callers:
        score -= 1.5  # one service alone, and nobody knows who asks it
    yield Condition(
        "traffic", first.service, score,
        f"more requests than before and no change: {say_moved(first)}",
        (first, *[one for one in risen if one is not first][:2]), tuple(speaks),
    )  # fmt: skip


def _said(facts: Facts, harm: Harm, place: Place) -> Iterable[Condition]:
    """What lines say outright: a full disk, a node that is gone, damaged data."""
    del place
    for kind, pattern, score, what in (
        ("disk", _FULL, 3.0, "there is no space left"),
        ("node", _NODE, 3.0, "a node failed"),
        ("data", _DATA, 2.8, "data cannot be read"),
    ):
        lines = [one for one in _troubled(facts) if pattern.search(one.said)]
        if not lines:
            continue
        first = min(lines, key=lambda one: one.at)
        early = first.at <= (harm.onset or first.at) + _LATE
        if early:
            yield Condition(
                kind, first.service, score, f"{what}: {say_moved(first)}", (first,),
                (f"errors say so from {iso(first.at)} on",),
            )  # fmt: skip
