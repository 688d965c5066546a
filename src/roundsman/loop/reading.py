"""The object a model meant, out of everything it wrote around it.

`read_object` looks at every object in a text outside its thinking, and takes the last complete one
that has the wanted keys; only when there is none, one that was cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roundsman.loop.printed_calls import ARGUMENTS, PrintedCall, as_call, calls_in_text
from roundsman.loop.scan import TAGS, values
from roundsman.loop.tokens import unescape
from roundsman.loop.tolerant import DEEPEST, Parsed

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
        "step",
    ]
)
_SMART = str.maketrans("“”„‟‘’", '""""\'\'')
_BLANKS = " \r\n\t`"
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
    if best is None and _ENCODED.search(text):
        best = _choose(_search(unescape(text), keys).objects, keys)
    if best is None and _SMART_QUOTES.search(text):
        best = _choose(_search(text.translate(_SMART), keys).objects, keys)
    calls = tuple([*found.calls, *calls_in_text(text, tools)] if best is None else found.calls)
    if best is None:
        return Reading(None, "truncated" if _BEGUN.search(text) else "nothing", calls=calls)
    parsed = best.parsed
    value, whole = clean(best.value)
    open_at = tuple(map(_whole, parsed.open_at))
    lost = parsed.lost or ("" if whole else "values")
    return Reading(value, lost, tuple(sorted(parsed.slips)), open_at, calls)


#: an object that ends with the text before its first value does
_BEGUN = re.compile(
    r"""\{\s*+(?:"[^"\\{}]*+|'[^'\\{}]*+)(?:["']\s*+(?::\s*+("(?:[^"\\]|\\.)*+\\?|'(?:[^'\\]|\\.)*+\\?"""
    r"""|[\w.+-]*+))?)?\Z""",
    re.DOTALL,
)
#: an object inside a JSON string
_ENCODED = re.compile(r'\{(?:\s|\\[nrt])*+\\"')
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
    objects = [_Candidate(_named(dict(row), keys), Parsed(None, 0)) for row in rows]
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
    found, thoughts = _Found(), 0
    for parsed, thought, called in values(text, keys):
        if thought is None:  # everything until here was thinking
            drafts = [one for one in found.objects[thoughts:] if _alone(text, one.parsed)]
            for one in drafts:
                one.thought = True
            found.objects[thoughts:] = drafts
            thoughts = len(found.objects)
            found.calls.clear()
            continue
        rows = parsed.value if isinstance(parsed.value, list) else [parsed.value]
        for row in rows:
            if not isinstance(row, dict):
                continue
            call = None if _has(_named(row, keys), keys) else as_call(row)
            if call is not None and not thought and not _cut_in_arguments(parsed):
                found.calls.append(call)
            elif called or (call is not None and keys):
                continue
            if thought and not _alone(text, parsed):
                continue
            candidate = _Candidate(_named(row, keys), parsed, thought)
            if row is parsed.value:
                found.objects += _unwrapped(candidate, keys)
            elif keys:  # an item of a list is the answer only when it looks like one
                found.objects.append(candidate)
    return found


def _cut_in_arguments(parsed: Parsed) -> bool:
    """Whether a call lost some of its arguments: with the rest of them it would be another call."""
    return parsed.lost == "values" or any(name in ARGUMENTS for name in parsed.open_at)


def _alone(text: str, parsed: Parsed) -> bool:
    """Whether a draft in thinking that has no end, or no beginning, may be the answer.

    Only when nothing follows it, or it is all there is: else it is a draft, and no answer was given.
    """
    tail = text[parsed.end : parsed.end + 200].strip(_BLANKS)
    if tail and parsed.start < 200 and not text[: parsed.start].strip(_BLANKS):
        tail = TAGS.sub("", tail).strip(_BLANKS)
    return not tail


def _named(row: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The object with wanted names that differ in case or blanks only under the wanted name."""
    if all(key in row for key in keys):
        return row
    plain = {str(key).strip().casefold(): key for key in row}
    other = {plain[key]: key for key in keys if key not in row and key in plain}
    return {other.get(key, key): value for key, value in row.items()} if other else row


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
