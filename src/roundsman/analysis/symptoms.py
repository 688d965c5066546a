"""Kinds of trouble told by the names of metrics and the words of log lines."""

from __future__ import annotations

import re

#: kinds that tell a mechanism from others; the rest say only that something suffers
TELLING = frozenset(
    (
        "memory",
        "disk",
        "pool",
        "panic",
        "race",
        "missing",
        "rejected",
        "certificate",
        "queries",
        "cpu",
        "parse",
        "name",
        "timeout",
    )
)

_KINDS = {
    "memory": r"memory|\brss\b|heap|\boom|out.of.memory|memcg|gc.pause|swap",
    "disk": r"no space left|enospc|disk.{0,12}(full|usage|free|space|used)|filesystem|"
    r"storage.{0,12}(full|space)|free_?storage|inode|quota exceeded",
    "pool": r"pool|too many (clients|connections)|connection.?slots|get a connection|"
    r"idle in transaction|acquir|connections?_(active|used|in_use|waiting)|in_use|semaphore",
    "timeout": r"time[ds]?.?out|deadline|took too long|\b504\b|context cancel",
    "panic": r"nil pointer|null.?pointer|nonetype|undefined is not|of undefined|of null|\bpanic|"
    r"segfault|segmentation|sigsegv|dereferenc|attributeerror|index out of|out of range|"
    r"typeerror|unwrap\(\)|assertion",
    "race": r"concurrent (map|modif|access)|data race|deadlock|lock wait|could not serialize",
    "missing": r"does not exist|doesn't exist|no such (table|column|file|key|field|index)|"
    r"unknown (field|column|key|table|method)|undefined (column|table|function)|no mapping|"
    r"keyerror|missing (field|column|table|key|index|property)|not defined|unresolved|"
    r"cannot resolve symbol|undefinedtable|undefinedcolumn|unrecognized (field|option|name)",
    "rejected": r"\b401\b|\b403\b|unauthori[sz]ed|forbidden|access denied|permission denied|"
    r"(token|signature|credential|jwt|session).{0,30}(expired|invalid|reject)|"
    r"(expired|invalid|reject).{0,30}(token|signature|credential|jwt|session)|"
    r"\b429\b|rate.?limit|too many requests|throttl",
    "certificate": r"x509|certificate|\btls\b|\bssl\b|handshake",
    "queries": r"quer(y|ies).{0,14}(count|rate|per|total)|(per|count).{0,14}quer|"
    r"seq.{0,6}(scan|rows|read)|rows_read|statements|\bselect\b.*\bfrom\b|n\+1|fan.?out|commits_rate",
    "cpu": r"cpu|\bload(1|5|15|avg)?\b|throttled_seconds",
    "traffic": r"(requests?|calls?|hits|messages?|queries|commands?)[ ._-]?(per|/|rate|total|count|number)|"
    r"\brps\b|\bqps\b|workload|throughput|requests?_sum|\brequests?$|\bhits\b|consumed|processed|"
    r"(number|count)_?of_?(requests?|messages?|calls)|visits|(delivered|acked|published|produced)\b",
    "cache": r"cache|evict|hit.?(ratio|rate|pct|share)|miss(es)?(?![a-z])",
    "queue": r"queue|backlog|in_flight|inflight|saturat|overload|shed|pending|"
    r"(?<!cpu)(?<!cpu.)(?<!memory)(?<!memory.)utili[sz]ation|\blag\b|_lag|lag_|"
    r"messages?_?(visible|ready|waiting|unacked)",
    "restart": r"killed|exit code|exited|restart|crashloop|back.?off|\bup\b|uptime|oomkill",
    "connection": r"connection.{0,12}(refused|reset|closed|failure)|refused|unavailable|\b50[23]\b|"
    r"broken pipe|\beof\b|unreachable|upstream.{0,20}(fail|error)|no route",
    "name": r"no such host|name resolution|nxdomain|servfail|\bdns\b|resolve host|"
    r"name or service not|eai_again|lookup \S+.{0,40}(fail|misbehav|timeout|no such)",
    "parse": r"parse|unmarshal|decode|malformed|unexpected token|invalid json|schema violation|"
    r"validation (failed|error)|serializ|corrupt",
    "latency": r"latency|duration|(?<![a-z])p(50|75|90|95|99|999)(?![0-9])|slow|elapsed|"
    r"response.?time|wait|self time|longest_transaction",
    "error": r"error|5xx|fail|exception|availability|success|abort|rollback|code=.5\d\d",
}
_PATTERNS = {kind: re.compile(text, re.IGNORECASE) for kind, text in _KINDS.items()}
#: a level that goes down is bad where the name says that more is better
_GOOD = re.compile(
    r"success|availab|\bup\b|free|ready|healthy|expires?_in|seconds_until|remaining|headroom",
    re.IGNORECASE,
)
#: what users feel, and what runs out under them
_FELT = frozenset(["error", "latency", "timeout", "rejected", "connection", "restart"])
_SHORT = frozenset(["queue", "pool"])
_RESOURCES = frozenset(["memory", "disk", "cpu", "queries"])
FILLS = _SHORT | _RESOURCES
#: a latency counts from this factor on
_SLOWER = 1.5


def kinds_of(text: str) -> set[str]:
    """The kinds of trouble a name or a line speaks of."""
    return {kind for kind, pattern in _PATTERNS.items() if pattern.search(text)}


def more_is_better(name: str) -> bool:
    """Whether a metric with this name is good when it is high."""
    return bool(_GOOD.search(name))


#: a rate of requests, and what only looks like one
_RATE = re.compile(
    r"request|\brps\b|\bqps\b|workload|throughput|visits|\bhits\b|sessions_started|calls_per",
    re.IGNORECASE,
)
_NOT_A_RATE = re.compile(
    r"duration|latency|error|5xx|4xx|fail|in_flight|inflight|queue|wait|size|bytes|code=.?[45]|timeout|"
    r"reject|memory|cpu|per_request|db_|sql|quer|ratio|cache|miss",
    re.IGNORECASE,
)


def is_rate(name: str) -> bool:
    """Whether a metric counts requests that come in."""
    return bool(_RATE.search(name)) and not _NOT_A_RATE.search(name)


def worse(name: str, before: float | None, after: float | None) -> bool:
    """Whether a movement goes the bad way: up, or down where the name says that more is better. A series
    that begins is worse when it counts something, one that ends when it was good."""
    good = more_is_better(name)
    if before is None:
        return after is not None and after > 0 and not good
    if after is None:
        return good and before > 0
    if kinds_of(name) & _FELT == {"latency"}:
        return after >= _SLOWER * before and after > before
    return after < before if good else after > before


def hurts(name: str, before: float | None, after: float | None) -> bool:
    """Whether users feel this movement: errors, latency, refusals, restarts go up, success goes down.
    A request rate, a version or a setting that moves hurts nobody by itself."""
    kinds = kinds_of(name)
    return bool(kinds & _FELT) and worse(name, before, after)


def runs_short(name: str, before: float | None, after: float | None) -> bool:
    """Whether something fills up: a queue, a pool, memory, a disk, a processor."""
    kinds = kinds_of(name)
    return bool(kinds & FILLS) and worse(name, before, after)


def eased(name: str, before: float | None, after: float | None) -> bool:
    """Whether times or errors became less: who got faster does not suffer."""
    fell = before is not None and after is not None and after < before
    return fell and bool(kinds_of(name) & {"latency", "error"}) and not hurts(name, before, after)
