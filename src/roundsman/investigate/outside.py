"""Providers that fail: hosts that are none of our services, in spans and in the words of error lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from roundsman.investigate.entries import Condition, Moved
from roundsman.investigate.facts import LOOK_BACK, Facts
from roundsman.investigate.harm import Harm
from roundsman.investigate.wording import say_moved, text_of

_LABELS = r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)"
#: in an address the scheme says that it is a host; a bare name needs three parts to look like one
_IN_ADDRESS = re.compile(
    rf"(?<![\w+.-])[a-z][a-z0-9+.-]{{1,12}}://(?:[^\s/@\"']{{1,80}}@)?({_LABELS}+[a-z]{{2,}})(?![\w.-]*\w)",
    re.IGNORECASE,
)
_BARE = re.compile(rf"(?<![\w@/.-])({_LABELS}{{2,}}[a-z]{{2,}})(?![\w(-])", re.IGNORECASE)
#: names that only a network of one's own knows
_INTERNAL = re.compile(
    r"\.(local|localhost|localdomain|internal|intranet|lan|corp|home|svc|cluster|private)$", re.I
)
#: three parts with dots that are a module or a file
_CODE = re.compile(
    r"^(com|org|net|io|java|javax|jakarta|kotlin|scala|sun|system|microsoft)\.|"
    r"\.(py|pyc|java|kt|js|mjs|ts|go|rb|php|cs|cpp|rs|sh|sql|json|ya?ml|toml|xml|html?|log|txt|"
    r"conf|cfg|ini|csv|gz|zip|jar|dll|so|exe|exception|error)$",
    re.IGNORECASE,
)
#: a host that is mentioned only, as a page to read or where a visitor came from
_MENTIONED = re.compile(
    r"(\bsee|visit|read|check|follow|open|go to|\bdocs?|documentation|background.{0,30}at|"
    r"refer(red)? to|referr?er|origin|\bhost|more info\w*|details|help|according to)\b"
    r"[\s\"':=(<]*(at|on|under)?[\s\"':=(<]*$",
    re.IGNORECASE,
)
#: what stands before a host that is called
_CALLING = re.compile(
    r"(\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|requests?|call(s|ed|ing)?|connect\w*|fetch\w*|"
    r"url|host|to|from|with|by|via|against|reach\w*|contact\w*|dial|upstream|provider|api)\b"
    r"[\s\"':=(<]*|(fail\w*|error|tcp):\s*)$",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    r"\b(return\w*|respon\w+|answer\w*|status\w*|code|http\S*|got|gave|with|error)\b\W{0,4}"
    r"(\w+\W{1,2}){0,2}?5\d\d\b|\b5(?:0[0-8]|2\d)\b.{0,3}(server|bad|service|gateway|internal)|"
    r"bad gateway|service (temporarily )?unavailable|gateway time-?out|internal server error",
    re.IGNORECASE,
)
_SILENT = re.compile(
    r"tim(ed?|ing)[ -]?out|timeout|deadline exceeded|refused|reset by peer|connection reset|"
    r"unreachable|no route|(no|not|n't) (answer|respon)\w*|no response|socket hang up|"
    r"econn\w+|etimedout|overloaded|too many requests",
    re.IGNORECASE,
)
_AROUND = 40
#: the share of new errors from which on they are said to be about one host
_MOST = 0.8
#: seconds by which the errors may seem to come after the first harm (sampling)
_LATE = 180.0


def failing_providers(facts: Facts, harm: Harm) -> Iterable[Condition]:
    """Calls to something that is none of our services fail.

    Spans say so outright. In words, a host that errors of several services name is one; in a single
    service a host must be called there and answer with an error of its own, or not at all.
    """
    known = {name.lower() for name in facts.known_services()}
    failing: dict[str, set[str]] = {}
    for (caller, callee), errors in facts.along.failing.items():
        if errors and callee.lower() not in known and callee.lower() not in facts.along.callers():
            failing.setdefault(callee, set()).add(caller)
    if failing:
        yield _in_spans(facts, harm, failing)
        return
    lines = [one for one in facts.logs if one.bad or one.warns]
    named: dict[str, list[Moved]] = {}
    for one in lines:
        for host in _hosts(text_of(one), known):
            named.setdefault(host, []).append(one)
    for host in sorted(named, key=lambda host: (-_services(named[host]), -_count(named[host]))):
        found = _in_words(facts, harm, host, named[host])
        if found is not None:
            yield found
            return


def _hosts(said: str, known: set[str]) -> set[str]:
    """Hosts a line names, lower case, that are none of ours."""
    found = {host.lower() for host in _IN_ADDRESS.findall(said)}
    found |= {host.lower() for host in _BARE.findall(said) if not _CODE.search(host)}
    return {
        host for host in found if not _INTERNAL.search(host) and not known & set(host.split("."))
    }


def _services(lines: list[Moved]) -> int:
    return len({one.service for one in lines})


def _count(lines: Iterable[Moved]) -> int:
    return sum(int(one.level("after") or 0) for one in lines)


def _called(said: str, host: str, sure: bool = True) -> bool:
    """Whether a line speaks of a call to the host (when not `sure`: or may), not of a page to read there."""
    for found in re.finditer(re.escape(host), said, re.IGNORECASE):
        start = re.sub(r"[a-z][a-z0-9+.-]*://\S*$", "", said[: found.start()], flags=re.IGNORECASE)
        before = start[-_AROUND:]
        if _MENTIONED.search(before) and not re.search(r"\bhost=[\"']?$", before):
            continue
        rest = re.sub(r"^\S*", "", said[found.end() :])[:_AROUND]
        if not sure or _CALLING.search(before) or _ANSWERED.search(rest) or _SILENT.search(rest):
            return True
    return False


def _in_words(facts: Facts, harm: Harm, host: str, lines: list[Moved]) -> Condition | None:
    lines = [one for one in lines if _called(text_of(one), host, sure=False)]
    if not lines:
        return None
    callers = sorted({one.service for one in lines})
    first = min(lines, key=lambda one: one.at)
    score, speaks = 3.0, [f"errors of {len(callers)} services name {host}"]
    if len(callers) < 2:
        called = [one for one in lines if one.bad and _called(text_of(one), host)]
        answered = [one for one in called if _ANSWERED.search(text_of(one))]
        silent = [one for one in called if _SILENT.search(text_of(one))]
        if not (answered or silent) or first.at > (harm.onset or first.at) + _LATE:
            return None
        how = "answers with errors of its own" if answered else "does not answer"
        score, speaks = 3.0 if answered else 2.75, [f"{host} {how}"]
        first = min(answered or silent, key=lambda one: one.at)
    errors = _count(one for one in facts.bad_logs if one.service in callers)
    about = _count(one for one in lines if one.bad)
    if errors and about >= _MOST * errors:
        score += 0.5
        speaks.append(f"{about} of {errors} new errors are about it")
    begun = harm.onset or first.at
    if not any(begun - LOOK_BACK <= one.at <= begun for one in facts.changes):
        score += 0.5
        speaks.append("no change is known in the hour before")
    return _condition(host, callers, first, score, speaks)


def _in_spans(facts: Facts, harm: Harm, failing: dict[str, set[str]]) -> Condition:
    callee = max(failing, key=lambda name: len(failing[name]))
    callers = sorted(failing[callee])
    speaks = [f"calls to {callee}, which is none of the services seen, fail"]
    mine = [one for one in facts.bad_logs if one.service in callers] or list(harm.signs)
    first = min(mine, key=lambda one: one.at)
    return _condition(callee, callers, first, 3.5 + 1.0 * (len(callers) > 1), speaks)


def _condition(
    callee: str, callers: list[str], first: Moved, score: float, speaks: list[str]
) -> Condition:
    if len(callers) > 1:
        speaks.append(f"{len(callers)} services suffer from it: " + ", ".join(callers[:4]))
    return Condition(
        "upstream", first.service, score,
        f"{callee}, which is outside, fails: {say_moved(first)}", (first,), tuple(speaks),
    )  # fmt: skip
