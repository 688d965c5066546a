"""Causes in what services share, without a change: name resolution, a consumer that stands still, a
neighbour that takes the processor, a cache that lost what it held.

Each asks for the sign of its mechanism and for harm where the mechanism would bring it; one of them
alone is a movement, no cause.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

from roundsman.analysis.symptoms import is_rate, kinds_of
from roundsman.investigate.entries import Condition, Moved
from roundsman.investigate.facts import Facts
from roundsman.investigate.harm import Harm
from roundsman.investigate.wording import say_moved

_UNRESOLVED = re.compile(
    r"no such host|name resolution|nxdomain|servfail|resolve host|name or service not known|"
    r"eai_again|enotfound|getaddrinfo|lookup \S+ on \S+",
    re.IGNORECASE,
)
#: who answered a look-up, where the error says so
_ASKED = re.compile(r"\blookup \S+ on ([\w.-]+\w)", re.IGNORECASE)
_DNS = re.compile(r"servfail|nxdomain|\bdns|resolver|lookup", re.IGNORECASE)
_STOLEN = re.compile(r"steal|stolen|throttl|pressure|contention|cpu.{0,12}wait", re.IGNORECASE)
_BUSY = re.compile(r"cpu|processor|\bload", re.IGNORECASE)
_WAITING = re.compile(
    r"backlog|(?<!f)lag\b|depth|messages?.{0,14}(visible|ready|wait|unack)|queue.{0,8}(size|len|mess)|"
    r"unprocessed|outstanding",
    re.IGNORECASE,
)
_HITS = re.compile(r"hit.{0,8}(ratio|rate|pct|percent|share)|hits?.?share", re.IGNORECASE)
_LOST = re.compile(r"evict|expired_keys|removed|miss", re.IGNORECASE)
#: a throughput that fell to so much of what it was stands still; a waiting line that grew so much is long
_STILL, _LONG = 0.2, 4.0
#: how much busier a neighbour must be, and the share of hits a cache must lose
_BUSIER, _FEWER = 1.8, 0.7
#: how long before the harm its cause may be seen, and after it (sampling), in seconds
_BEFORE, _AFTER = 900.0, 150.0


def shared_conditions(facts: Facts, harm: Harm) -> list[tuple[str, Callable[[], list[Condition]]]]:
    """What is weighed here, each as a name and the work."""
    kinds = {
        "name resolution": _resolver,
        "a consumer that stands still": _stalled,
        "a busy neighbour": _neighbour,
        "a cache that lost its content": _cache,
        "space that is used up": _used_up,
    }
    return [(name, partial(_all, kind, facts, harm)) for name, kind in kinds.items()]


def _all(kind: Callable[[Facts, Harm], Iterable[Condition]], f: Facts, h: Harm) -> list[Condition]:
    return list(kind(f, h))


def _near(one: Moved, harm: Harm) -> bool:
    begun = harm.onset
    return begun is not None and -_BEFORE <= one.at - begun <= _AFTER


def _factor(one: Moved) -> float:
    before, after = one.level("before"), one.level("after")
    if after is None:
        return 0.0
    return after / before if before else float("inf") if after > 0 else 1.0


def _resolver(facts: Facts, harm: Harm) -> Iterable[Condition]:
    lines = [
        one for one in facts.logs
        if (one.bad or one.warns) and _UNRESOLVED.search(one.said) and _near(one, harm)
    ]  # fmt: skip
    failing = [
        one for one in facts.metrics
        if _DNS.search(one.name) and _near(one, harm) and _factor(one) > _LONG and
        kinds_of(one.name) & {"name", "error"}
    ]  # fmt: skip
    who = sorted({one.service for one in lines})
    if len(who) < 2 and not (
        lines and failing
    ):  # one service that looks up one name has a wrong name
        return
    known = {name.lower(): name for name in facts.known_services()}
    asked = [host for one in lines for host in _ASKED.findall(one.said)]
    named = next((known[host.lower()] for host in asked if host.lower() in known), "")
    first = min(lines, key=lambda one: one.at)
    service = failing[0].service if failing else named or first.service
    score, speaks = 3.0, [f"names are not resolved in {', '.join(who[:4])}"]
    if len(who) > 1:
        score += 0.5
    if failing:
        score += 1.0
        speaks.append(say_moved(failing[0]))
    if named:
        score += 0.5
        speaks.append(f"the look-ups that fail ask {named}")
    yield Condition(
        "dns", service, score, f"names are not resolved: {say_moved(first)}",
        (first, *failing[:1]), tuple(speaks),
    )  # fmt: skip


def _stalled(facts: Facts, harm: Harm) -> Iterable[Condition]:
    waiting = [
        one for one in [*harm.resources, *facts.metrics]
        if _WAITING.search(one.name) and _factor(one) >= _LONG
    ]  # fmt: skip
    if not waiting:
        return
    line = max(waiting, key=_factor)
    # a movement of a slow ramp is dated late: who stands still does so before the line is long
    still = [
        one for one in facts.metrics
        if "traffic" in kinds_of(one.name) and _factor(one) <= _STILL and
        -_BEFORE <= one.at - line.at <= _AFTER
    ]  # fmt: skip
    fewer = {one.service.lower() for one in still}
    entries = [one for one in still if not _callers(facts, one.service) & fewer]
    mine = [one for one in entries if one.service.lower() != line.service.lower()] or entries
    if not mine:
        return
    first = min(mine, key=lambda one: (one.at, one.service))
    silent = [
        one for one in facts.logs
        if one.row.get("moved") == "vanished" and one.service == first.service
    ]  # fmt: skip
    score = 3.0 + 0.5 * bool(silent)
    speaks = [f"what waits for it grows: {say_moved(line)}"]
    if silent:
        speaks.append(say_moved(silent[0]))
    yield Condition(
        "stalled", first.service, score, f"{first.service} stands still: {say_moved(first)}",
        (first, line), tuple(speaks),
    )  # fmt: skip


def _callers(facts: Facts, service: str) -> set[str]:
    return {a.lower() for a, b in facts.along.calls if b.lower() == service.lower()}


def _neighbour(facts: Facts, harm: Harm) -> Iterable[Condition]:
    suffer = harm.services()
    taken = [
        one for one in facts.metrics
        if _STOLEN.search(one.name) and _factor(one) >= _BUSIER and _near(one, harm)
    ]  # fmt: skip
    short_of = [one for one in taken if one.service.lower() in suffer] or taken
    if not short_of:
        return
    victims = {one.service.lower() for one in short_of}
    busy = [
        one for one in facts.metrics
        if _BUSY.search(one.name) and not _STOLEN.search(one.name) and _near(one, harm)
        and _factor(one) >= _BUSIER
        and one.service.lower() not in suffer.keys() | victims
    ]  # fmt: skip
    if not busy:
        return
    taker = max(busy, key=_factor)
    first = short_of[0]
    more = [one for one in facts.metrics if one.service == taker.service and is_rate(one.name)]
    yield Condition(
        "neighbour", taker.service, 3.0 + 0.5 * bool(more),
        f"{taker.service} takes the processor of {first.service}: {say_moved(taker)}; "
        f"{say_moved(first)}",
        (taker, first), (f"{first.service} waits for a processor", f"{taker.service} is busier"),
    )  # fmt: skip


def _used_up(facts: Facts, harm: Harm) -> Iterable[Condition]:
    begun = harm.onset or 0.0
    empty = [
        one for one in facts.emptied
        if "disk" in kinds_of(one.name) and one.at <= begun + _BEFORE
        and one.service.lower() in harm.services()
    ]  # fmt: skip
    if not empty:
        return
    first = min(empty, key=lambda one: one.at)
    sign = next(one for one in harm.signs if one.service.lower() == first.service.lower())
    yield Condition(
        "disk", first.service, 4.0, f"there is no space left: {say_moved(first)}",
        (first, sign), (f"{first.service} suffers, and what it writes to is full",),
    )  # fmt: skip


def _cache(facts: Facts, harm: Harm) -> Iterable[Condition]:
    fell = [
        one for one in facts.metrics
        if _HITS.search(one.name) and _near(one, harm) and _factor(one) <= _FEWER
    ]  # fmt: skip
    if not fell:
        return
    first = min(fell, key=lambda one: one.at)
    lost = [
        one for one in facts.metrics
        if _LOST.search(one.name) and one.service == first.service and _factor(one) >= _LONG
    ]  # fmt: skip
    more = [
        one for one in facts.metrics
        if one.service != first.service and kinds_of(one.name) & {"queries", "traffic"}
        and _factor(one) >= _BUSIER and one.at >= first.at - _AFTER
    ]  # fmt: skip
    score, speaks = 2.5, ["fewer answers come from the cache"]
    if lost:
        score += 1.0
        speaks.append(say_moved(lost[0]))
    if more:
        score += 1.0
        speaks.append(f"what stands behind it is asked more: {say_moved(more[0])}")
    yield Condition(
        "cache", first.service, score, f"{first.service} lost what it held: {say_moved(first)}",
        (first, *lost[:1], *more[:1]), tuple(speaks),
    )  # fmt: skip
