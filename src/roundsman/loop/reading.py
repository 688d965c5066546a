"""The object a model meant, out of everything it wrote around it.

`read_object` looks at every object in a text outside its thinking, and takes the last complete one
that has the wanted keys; only when there is none, one that was cut. Strict JSON is tried first at
every place, then `roundsman.loop.tolerant`. The work is bounded by a multiple of the text's length.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roundsman.loop.printed_calls import PrintedCall, as_call, calls_in_text
from roundsman.loop.tokens import unescape
from roundsman.loop.tolerant import DEEPEST, Parsed, parse_at

#: characters looked at, in all attempts together, as a multiple of the text's length
_WORK = 12
_THINK = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_CALL = "tool_call|function_call|tool_calls"
_TAGS = re.compile(
    rf"[<◁](?P<open>(?i:{_THINK}|{_CALL}))[>▷]|[<◁]/(?P<close>(?i:{_THINK}|{_CALL}))[>▷]"
    r"|\[(?P<opened>THINK)\]|\[/(?P<closed>THINK)\]|<\|channel\|>(?P<channel>\w+)"
)
_WRAPPERS = frozenset(
    [
        "answer",
        "response",
        "result",
        "output",
        "final",
        "final_answer",
        "json",
        "data",
        "content",
        "report",
        "round",
    ]
)
_SMART = str.maketrans("“”„‟‘’", '""""\'\'')
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read.

    Attributes:
        value: the object, None when there is none.
        lost: empty when nothing was lost; else `truncated`, `broken`, `values` (single values were
            left out) or `nothing`.
        slips: kinds of slips that were forgiven, sorted.
        open_at: names of the members that were open where the text was cut.
        calls: tool calls the model printed as text instead of making them.
    """

    value: dict[str, Any] | None
    lost: str = ""
    slips: tuple[str, ...] = ()
    open_at: tuple[str, ...] = ()
    calls: tuple[PrintedCall, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everything the model wrote into the object was read."""
        return self.value is not None and not self.lost


@dataclass(slots=True)
class _Candidate:
    value: dict[str, Any]
    parsed: Parsed
    thought: bool = False

    @property
    def closed(self) -> bool:
        return self.parsed.lost in ("", "values")


@dataclass(slots=True)
class _Found:
    objects: list[_Candidate] = field(default_factory=list)
    calls: list[PrintedCall] = field(default_factory=list)


def read_object(raw: Any, keys: Sequence[str] = (), tools: Sequence[str] = ()) -> Reading:
    """The last complete object in a model's text that has the wanted keys.

    Args:
        raw: text, bytes, or what the engine parsed already (a mapping, or a list holding one).
        keys: names the object must have, the most telling first; one that has all is preferred to
            one that has the first only. Without any, the last complete object is taken.
        tools: names of the tools on offer; `name(arg=...)` anywhere in the text counts as a printed
            call only for these.

    Returns:
        The reading; never raises, whatever `raw` is.
    """
    if isinstance(raw, Mapping | list):
        return _from_parsed(raw, keys)
    text = as_text(raw)
    if not text:
        return Reading(None, "nothing")
    found = _search(text, keys)
    best = _choose(found.objects, keys)
    if best is None and '{\\"' in text:
        best = _choose(_search(unescape(text), keys).objects, keys)
    if best is None and _SMART_QUOTES.search(text):
        best = _choose(_search(text.translate(_SMART), keys).objects, keys)
    calls = tuple([*found.calls, *calls_in_text(text, tools)] if best is None else found.calls)
    if best is None:
        return Reading(None, "nothing", calls=calls)
    parsed = best.parsed
    value, whole = clean(best.value)
    lost = parsed.lost or ("" if whole else "values")
    return Reading(value, lost, tuple(sorted(parsed.slips)), parsed.open_at, calls)


_SMART_QUOTES = re.compile("[“”„‟‘’]")


def as_text(raw: Any) -> str:
    """Text of what a model gave; empty for what is no text. Halves of characters are repaired."""
    if isinstance(raw, bytes | bytearray):
        wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
        raw = bytes(raw).decode("utf-16" if wide else "utf-8-sig", "replace")
    if not isinstance(raw, str):
        return ""
    return str(_whole(raw)).removeprefix("\ufeff")


def _whole(text: str) -> str:
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean(value: Any, deepest: int = DEEPEST) -> tuple[Any, bool]:
    """(a copy that any JSON store takes, whether nothing was left out).

    NaN and infinities become None (they are not numbers), halves of characters are replaced, what is
    nested deeper than `deepest` is left out.
    """
    if not isinstance(value, Mapping | list | tuple):
        return _scalar(value), True
    root: Any = {} if isinstance(value, Mapping) else []
    todo, whole = [(value, root, 1)], True
    while todo:
        source, copy, depth = todo.pop()
        pairs = source.items() if isinstance(source, Mapping) else enumerate(source)
        for key, item in pairs:
            if isinstance(item, Mapping | list | tuple):
                if depth >= deepest:
                    whole = False
                    continue
                child: Any = {} if isinstance(item, Mapping) else []
                todo.append((item, child, depth + 1))
                item = child
            else:
                item = _scalar(item)
            if isinstance(copy, dict):
                copy[_whole(str(key))] = item
            else:
                copy.append(item)
    return root, whole


def _scalar(value: Any) -> Any:
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return _whole(value) if isinstance(value, str) else value


def _from_parsed(raw: Mapping[Any, Any] | list[Any], keys: Sequence[str]) -> Reading:
    rows = [raw] if isinstance(raw, Mapping) else [row for row in raw if isinstance(row, Mapping)]
    objects = [_Candidate(dict(row), Parsed(dict(row), 0)) for row in rows]
    best = _choose([inner for one in objects for inner in _unwrapped(one, keys)], keys)
    if best is None and isinstance(raw, Mapping):
        best = objects[0]
    if best is None:
        return Reading(None, "nothing")
    value, whole = clean(best.value)
    call = as_call(value)
    return Reading(value, "" if whole else "values", calls=(call,) if call else ())


def _search(text: str, keys: Sequence[str]) -> _Found:
    """Every top-level object of a text, in order, with those in thinking marked."""
    found = _Found()
    for parsed, thought, called in _values(text, keys):
        if thought is None:  # everything until here was thinking
            for one in found.objects:
                one.thought = True
            found.calls.clear()
            continue
        rows = parsed.value if isinstance(parsed.value, list) else [parsed.value]
        for row in rows:
            if not isinstance(row, dict):
                continue
            call = None if any(key in row for key in keys) else as_call(row)
            if call is not None and not thought:
                found.calls.append(call)
            elif called or (call is not None and keys):
                continue
            candidate = _Candidate(row, parsed, thought)
            if row is parsed.value:
                found.objects += _unwrapped(candidate, keys)
            elif keys:  # an item of a list is the answer only when it looks like one
                found.objects.append(candidate)
    return found


def _unwrapped(candidate: _Candidate, keys: Sequence[str]) -> Iterator[_Candidate]:
    """The candidate, or what stands in its only member when that alone has the wanted keys."""
    value = candidate.value
    if keys and len(value) == 1:
        (name, inner), parsed = next(iter(value.items())), candidate.parsed
        if isinstance(inner, dict) and _has(inner, keys) and str(name).casefold() in _WRAPPERS:
            open_at = parsed.open_at[1:]
            shifted = Parsed(inner, parsed.end, parsed.slips, parsed.lost, open_at)
            yield _Candidate(inner, shifted, candidate.thought)
            return
    yield candidate


_NOTHING = Parsed(None, 0)
_STARTS = re.compile(r"[{\[<◁]")
_PLAIN = re.compile(r'\{\s*["}]|\[\s*["{\[\]\dtfn-]')
#: an error of the strict reader costs time in proportion to its place, so they are few
_STRICT_TRIES = 40


def _values(text: str, keys: Sequence[str]) -> Iterator[tuple[Parsed, bool | None, bool]]:
    """(value, whether it is thinking, whether it stands in a tool call) for each value in the text.

    A lone closing tag gives a value of nothing with None: what came before it was thinking.
    """
    at, thinking, called, left = 0, False, False, _WORK * len(text) + 1000
    strict, endless = _STRICT_TRIES, set[str]()
    while (start := _STARTS.search(text, at)) is not None:
        at = start.start()
        if (tag := _TAGS.match(text, at)) is not None:
            thinking, called, lone = _state(tag, thinking, called)
            if lone:
                yield _NOTHING, None, False
            at = tag.end()
            name = (tag["open"] or tag["opened"] or "").casefold()
            if thinking and name and name not in endless:
                close = re.compile(rf"[<\[◁]/{name}[>\]▷]", re.IGNORECASE).search(text, at)
                if close is None:
                    endless.add(name)
                else:
                    thinking, at = False, close.end()
            continue
        if text[at] in "<◁":
            at += 1
            continue
        parsed, spent = _at(text, at, strict > 0)
        if parsed and not keys and (parsed.slips or parsed.lost) and _in_code(text, at):
            parsed = None
        left -= spent
        strict -= parsed is None or bool(parsed.slips or parsed.lost)
        if parsed is None or (parsed.lost and not parsed.value):
            at += 1 if left > 0 else max(1, spent)
            continue
        yield parsed, thinking, called
        at = max(parsed.end, at + 1)


def _in_code(text: str, at: int) -> bool:
    """Whether a value is assigned or passed: code, not an answer, unless it is JSON as it stands."""
    return text[max(0, at - 20) : at].rstrip()[-1:] in ("=", "(")


def _state(tag: re.Match[str], thinking: bool, called: bool) -> tuple[bool, bool, bool]:
    """(thinking, in a tool call, everything before was thinking) after a tag."""
    if tag["channel"]:
        return tag["channel"].casefold() in ("analysis", "commentary"), False, False
    opened = tag["open"] or tag["opened"]
    if "call" in (opened or tag["close"] or "").casefold():
        return thinking, opened is not None, False
    return (True, called, False) if opened else (False, called, True)


_STRICT = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


def _at(text: str, at: int, strict: bool) -> tuple[Parsed | None, int]:
    """The value at a place and the number of characters it took to see."""
    spent = 0
    if strict and _PLAIN.match(text, at):
        try:
            value, end = _STRICT.raw_decode(text, at)
        except json.JSONDecodeError as error:
            spent = max(0, error.pos - at)
        except (ValueError, RecursionError):
            pass  # a number with thousands of digits, or too deep
        else:
            return Parsed(value, end), end - at
    parsed = parse_at(text, at)
    return parsed, spent + (1 if parsed is None else parsed.end - at)


def _has(value: Mapping[str, Any], keys: Sequence[str]) -> bool:
    return any(key in value for key in keys)


def _choose(objects: Sequence[_Candidate], keys: Sequence[str]) -> _Candidate | None:
    """The last closed one with all keys, then with the first of them, then any; then cut ones.

    Thinking that never ends comes last: the answer may stand in it, a draft as well.
    """
    for thought in (False, True):
        here = [one for one in objects if one.thought is thought]
        for closed in (True, False):
            those = [one for one in reversed(here) if one.closed is closed]
            if not keys:
                full = [one for one in those if one.value]
                if full or those:
                    return (full or those)[0]
            for wanted in (keys, keys[:1], *((key,) for key in keys[1:])):
                for one in those:
                    if wanted and all(key in one.value for key in wanted):
                        return one
    return None
