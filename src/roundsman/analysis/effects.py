"""What a change could bring about, read from its diff and its changed settings.

Method: signs in changed lines that hold in most languages (a lock that is gone, a container that only
grows, a query inside a loop, a lowered limit), each with the kinds of trouble it can produce. A sign
accuses nobody by itself: the verdict asks whether what was observed is among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from roundsman.analysis.patches import Altered, Patch, altered, is_comment, net, quoted
from roundsman.analysis.settings import setting_effects

METHOD = "signs in changed lines (lock gone, only grows, query in a loop, limit lowered ...)"


@dataclass(frozen=True)
class Effect:
    """kind: what was seen in the change. explains: kinds of trouble (see symptoms) it can produce.
    line: the changed line that shows it. names: what a message of that trouble would name."""

    kind: str
    explains: tuple[str, ...]
    line: str
    names: tuple[str, ...] = ()


_CONTAINER = re.compile(
    r"^(?:export\s+|static\s+|private\s+|public\s+|protected\s+|final\s+|var\s+|let\s+|const\s+|self\.|this\.|\s{0,4}(?=\w+\s*=\s*new\b))*"
    r"(?P<name>[A-Za-z_]\w*)\b(?:\s*:\s*[\w\[\], .<>|]+?|\s+[\w\[\]*<>., ]+?)?\s*"
    r"(?:(?::?=)\s*(?:\[\]|\{\}|dict\(|list\(|set\(|defaultdict\(|deque\(\)|make\(|map\[|new\s+"
    r"(?:Map|Set|Array|List|HashMap|ArrayList|Concurrent\w*|Dictionary)|\[\]\w+\{|Vec::new|HashMap::new)"
    r"|\s\[\]\w+\s*$|\smap\[.+\S\s*$)"
)
_BOUNDED = re.compile(
    r"evict|\bpop|\bdel(ete)?\b|remove|maxlen|\blru|max_?(size|entries|items|len)|clear\(|expire|\bttl|"
    r"trim|truncate|\[-?\d+:\]|capacity|%\s*\w+\]|weakref|bounded|\bring",
    re.IGNORECASE,
)
_ACQUIRE = re.compile(
    r"getconn|acquire|borrow|check_?out\(|\bopen\w*\(|\bconnect\(|begin\(|\.Lock\(|subscribe|"
    r"add_?listener|addEventListener|NewTicker|go func|create_task|spawn|Query(Context)?\(",
    re.IGNORECASE,
)
_RELEASE = re.compile(
    r"putconn|release|\.close\(|\.Close\(|rollback|commit\(|\bfinally\b|defer |\bwith\b|unlock|"
    r"dispose|unsubscribe|remove_?listener|\bStop\(|cancel\(|free\(",
    re.IGNORECASE,
)
_HANDLE = re.compile(r"conn|session|cursor|client|socket|handle|transaction|lock\b", re.IGNORECASE)
_LOOP = re.compile(r"^\s*(?:async\s+)?(?:for|while|foreach)\b|\.(?:map|forEach|each)\(|\bdo\s*\{")
_CALL = re.compile(
    r"await\s+\w|\.(?:get|fetch|find|query|exec|select|load|request|call|post|send|lookup|read)\w*\(|"
    r"\bSELECT\s.+\bFROM\b|\brequests\.|http\.|fetch\(|\bask\(",
    re.IGNORECASE,
)
_BLOCK = re.compile(
    r"(?<![\w.])(?:time\.|Thread\.|thread::|asyncio\.)?[sS]leep\(|usleep|\.wait\(\d|delay\(\d|busy_wait|"
    r"pg_sleep|\bSLEEP\("
)
_LOCK = re.compile(
    r"\bmutex|\bmu\b|\.?R?(?:Un)?[lL]ock\(|synchronized|\batomic\b|Atomic\w+|semaphore|with \w*lock|"
    r"FOR UPDATE|ReentrantLock",
)
_GUARD = re.compile(
    r"(?:is (?:not )?None|[!=]==? ?(?:nil|null|None|undefined|nullptr)|\?\.|isPresent|Optional|"
    r"hasattr|isNull|is_some|\blen\(\w+\)\s*[<>=!]|\.length\b\s*[<>=!]|isEmpty|\?\?)"
)
_ERRS = re.compile(r"\berr(?:or)?\s*!=\s*nil")
_SLACK = re.compile(
    r"leeway|skew|tolerance|grace|slack|backoff|fallback|circuit|breaker|retr(?:y|ies)|jitter|"
    r"default(?=\()|\bor_else|catch|except\b|rescue\b|recover\(",
    re.IGNORECASE,
)
_CHECK = re.compile(
    r"verif|valid|expire|allow|permit|authori[sz]|reject|deny|forbid|require", re.IGNORECASE
)
_RAISE = re.compile(
    r"\braise\b|\bthrow\b|\bpanic\(|\babort\(|os\.Exit|sys\.exit|status\(5\d\d|unwrap\(\)"
)
_TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+[\"`]?([A-Za-z_][\w.]*)", re.IGNORECASE)
_DDL = re.compile(
    r"\b(?:CREATE|DROP|ALTER|RENAME)\s+(?:UNIQUE\s+)?(?:TABLE|INDEX|COLUMN|VIEW)\b|\bRENAME\s+(?:TO|COLUMN)\b",
    re.IGNORECASE,
)
_CREATE = re.compile(r"\bCREATE\s+TABLE\s+(?:IF NOT EXISTS\s+)?[\"`]?([\w.]+)", re.IGNORECASE)
_SPIN = re.compile(r"while\s*\(?\s*(?:true|True|1)\b|for\s*(?:\(;;\)|\{)|loop\s*\{")
_CACHE = re.compile(r"cache|memo", re.IGNORECASE)
_WHERE = re.compile(r"https?://|\bhost\b|\bport\b|\burl\b|endpoint|dsn|addr", re.IGNORECASE)


def effects(patch: Patch, diff: Mapping[str, tuple[Any, Any]] | None = None) -> list[Effect]:
    """Signs of a change, the most telling first; each kind once."""
    found = [
        *_held(patch), *_grows(patch), *_loops(patch), *_gone(patch), *_schema(patch),
        *_added(patch), *_values(altered(patch)),
    ]  # fmt: skip
    for key, (before, after) in (diff or {}).items():
        found += _setting(str(key), before, after, f"{key} from {before} to {after}")
    once: dict[str, Effect] = {}
    for one in found:
        once.setdefault(one.kind, one)
    return list(once.values())


def _setting(subject: str, before: Any, after: Any, line: str) -> list[Effect]:
    kinds = setting_effects(subject, before, after)
    return [Effect(kind, explains, _short(line)) for kind, explains in kinds]


def _short(line: str) -> str:
    return " ".join(line.split())[:120]


def _held(patch: Patch) -> list[Effect]:
    explains = ("pool", "memory", "connection", "timeout", "latency", "queue")
    released = net(patch.removed, patch.added, _RELEASE)
    taken = net(patch.added, patch.removed, _ACQUIRE)
    kept = [
        line
        for line in patch.added
        if re.search(r"\[[^\]]+\]\s*=\s*\w*|append\(|\.add\(|\.put\(", line)
        and _HANDLE.search(line.split("=", 1)[-1])
    ]
    if kept and not any(_BOUNDED.search(line) for line in patch.added):
        return [Effect("keeps a connection or handle", explains, _short(kept[0]))]
    if released:
        return [Effect("no longer gives back", explains, _short(released[0]))]
    if taken and not any(_RELEASE.search(line) for line in patch.added):
        handles = [line for line in taken if _HANDLE.search(line)]
        if handles:
            return [Effect("takes and does not give back", explains, _short(handles[0]))]
    return []


def _grows(patch: Patch) -> list[Effect]:
    if any(_BOUNDED.search(line) for line in patch.added):
        return []
    for hunk in patch.hunks:
        for sign, line in hunk.lines:
            made = _CONTAINER.match(line) if sign != "-" else None
            if not made:
                continue
            name = re.escape(made["name"])
            into = re.compile(
                rf"\b{name}\s*\[[^\]]+\]\s*=(?!=)|\b{name}\s*=\s*append\(|"
                rf"\b{name}\.(?:append|add|push|put|set|insert|extend|setdefault|store)\w*\("
            )
            grown = next((one for one in patch.added if into.search(one)), None)
            if grown:
                return [Effect("only ever grows", ("memory", "restart"), _short(grown))]
    return []


def _loops(patch: Patch) -> list[Effect]:
    explains = ("queries", "latency", "timeout", "pool", "cpu", "traffic")
    for hunk in patch.hunks:
        depth: int | None = None
        for sign, line in hunk.lines:
            if is_comment(line) or sign == "-":
                continue
            indent = len(line) - len(line.lstrip())
            if depth is not None and indent <= depth and not _LOOP.search(line):
                depth = None
            inside = depth is not None and indent > depth
            if sign == "+" and inside and _CALL.search(line):
                return [Effect("a call for each item of a loop", explains, _short(line))]
            if _LOOP.search(line):
                depth = indent
                if sign == "+" and re.search(r"map\(|forEach\(", line) and "await" in line:
                    return [Effect("a call for each item of a loop", explains, _short(line))]
    return []


def _gone(patch: Patch) -> list[Effect]:
    out: list[Effect] = []
    kinds: tuple[str, ...]
    if locks := net(patch.removed, patch.added, _LOCK):
        kinds = ("race", "panic", "error")
        out.append(Effect("a lock is gone", kinds, _short(locks[0])))
    guards = [
        line
        for line in net(patch.removed, patch.added, _GUARD)
        if not _ERRS.search(line) and "import" not in line
    ]
    if guards:
        out.append(Effect("a check for nothing is gone", ("panic", "error"), _short(guards[0])))
    if slack := net(patch.removed, patch.added, _SLACK):
        kinds = ("rejected", "error", "timeout", "connection", "traffic", "panic")
        out.append(Effect("tolerance is gone", kinds, _short(slack[0])))
    if caches := net(patch.removed, patch.added, _CACHE):
        kinds = ("latency", "queries", "traffic", "cpu", "timeout", "pool")
        out.append(Effect("a cache is gone", kinds, _short(caches[0])))
    if limits := net(patch.removed, patch.added, re.compile(r"\bLIMIT\b|\bWHERE\b|paginat")):
        kinds = ("queries", "latency", "memory", "timeout")
        out.append(Effect("a query reads more", kinds, _short(limits[0])))
    return out


def _schema(patch: Patch) -> list[Effect]:
    out: list[Effect] = []
    kinds: tuple[str, ...]
    ddl = [line for line in patch.added if _DDL.search(line)]
    made = {name.lower() for line in patch.added for name in _CREATE.findall(line)}
    if ddl:
        kinds = ("queries", "latency", "missing", "timeout", "pool", "race", "error")
        tables = tuple(sorted({name for line in ddl for name in _TABLE.findall(line)} | made))
        out.append(Effect("the schema changes", kinds, _short(ddl[0]), tables))
    old = {name.lower() for line in patch.removed for name in _TABLE.findall(line)}
    new = [
        (name, line)
        for line in patch.added
        if re.search(r"\b(?:SELECT|INSERT|UPDATE|DELETE)\b", line)
        for name in _TABLE.findall(line)
        if name.lower() not in old | made
    ]
    if new and not ddl:
        kinds = ("missing", "queries", "latency", "error")
        names = tuple(dict.fromkeys(name for name, _ in new))
        out.append(Effect("reads a table it did not", kinds, _short(new[0][1]), names))
    return out


def _added(patch: Patch) -> list[Effect]:
    out: list[Effect] = []
    kinds: tuple[str, ...]
    if waits := net(patch.added, patch.removed, _BLOCK):
        kinds = ("latency", "timeout", "queue", "pool")
        out.append(Effect("waits", kinds, _short(waits[0])))
    spins = net(patch.added, patch.removed, _SPIN)
    if spins and not any(re.search(r"sleep|select|await|<-|recv|accept", x) for x in patch.added):
        out.append(Effect("a loop without end", ("cpu", "latency"), _short(spins[0])))
    if raises := net(patch.added, patch.removed, _RAISE):
        kinds = ("error", "panic", "rejected", "parse")
        out.append(Effect("fails where it did not", kinds, _short(raises[0])))
    checks = [line for line in patch.removed if _CHECK.search(line)]
    tighter = [line for line in patch.added if _CHECK.search(line)]
    if tighter and not (checks and _same_words(checks, tighter)):
        kinds = ("rejected", "parse", "error")
        conditions = [line for line in tighter if re.search(r"\bif\b|assert|require", line)]
        if conditions:
            out.append(Effect("a check is other than it was", kinds, _short(conditions[0])))
    return out


def _same_words(left: Iterable[str], right: Iterable[str]) -> bool:
    old = {word for line in left for word in re.findall(r"\w+", line)}
    new = {word for line in right for word in re.findall(r"\w+", line)}
    return len(old ^ new) <= 1


def _values(pairs: Iterable[Altered]) -> list[Effect]:
    out: list[Effect] = []
    for pair in pairs:
        line = f"{_short(pair.before)[:56]} -> {_short(pair.after)[:56]}"
        if pair.low is not None:
            out += _setting(pair.after, pair.low, pair.high, line)
            continue
        if _WHERE.search(pair.before) or _WHERE.search(pair.was):
            kinds: tuple[str, ...] = ("connection", "name", "timeout", "error")
            out.append(Effect("another address", kinds, line, (pair.now,)))
        elif found := setting_effects(pair.after, pair.was, pair.now):
            out += [Effect(kind, explains, line) for kind, explains in found]
        elif re.fullmatch(r"[A-Za-z_][\w.-]*", pair.was) and re.fullmatch(
            r"[A-Za-z_][\w.-]*", pair.now
        ):
            kinds = ("missing", "parse", "error", "rejected")
            out.append(Effect("a name is another", kinds, line, (pair.was, pair.now)))
    return out


def named_in(patch: Patch) -> set[str]:
    """Identifiers, files and quoted words of the changed lines: what a message or a stack would name."""
    out: set[str] = set()
    for line in patch.changed:
        out |= set(re.findall(r"[A-Za-z_][A-Za-z0-9_]{3,}", line))
        out |= {text for text in quoted(line) if 2 < len(text) < 40 and " " not in text}
    return out | {file.rpartition("/")[2] for file in patch.files}
