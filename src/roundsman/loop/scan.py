"""Every object and list in a text, one after the other, and whether it stands in thinking.

Strict JSON is tried first at every place, then `roundsman.loop.tolerant`. The work is bounded by a
multiple of the text's length: when it is spent, what failed is no longer looked at twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from roundsman.loop.tokens import LONGEST_NUMBER, QUOTES
from roundsman.loop.tolerant import Parsed, parse_at

#: characters looked at, in all attempts together, as a multiple of the text's length
_WORK = 4
_THINK = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_CALL = "tool_call|function_call|tool_calls"
TAGS = re.compile(
    rf"[<◁](?P<open>(?i:{_THINK}|{_CALL}))[>▷]|[<◁]/(?P<close>(?i:{_THINK}|{_CALL}))[>▷]"
    r"|\[(?P<opened>THINK)\]|\[/(?P<closed>THINK)\]|<\|channel\|>(?P<channel>\w+)"
)
_NOTHING = Parsed(None, 0)
#: where a value or a tag may start; a brace that no name follows starts nothing
_STARTS = re.compile(rf"\{{(?=[\s\x00-\x1f\u200b-\u200f\ufeff]*+[{QUOTES}\w}}/#,])|[\[<◁]")
_PLAIN = re.compile(r'\{\s*["}]|\[\s*["{\[\]\dtfn-]')
#: what is this long and holds nothing is brackets in brackets, not prose around an object
_DEEP = 400
#: what stands before a value that is a member or an item
_INSIDE = re.compile(r"""(?:["'“”‘’]\s*:|["'“”‘’}\]\d]\s*,|\[)\s*\Z""")
#: an error of the strict reader costs time in proportion to its place, so they are few
_STRICT_TRIES = 40


def values(text: str, keys: Sequence[str]) -> Iterator[tuple[Parsed, bool | None, bool]]:
    """(value, whether it is thinking, whether it stands in a tool call) for each value in the text.

    Without keys, a value that is assigned or passed in code and is no strict JSON is left out, and so is
    what stands inside an object that broke before it; with keys, only if it lacks the first.
    A lone closing tag gives a value of nothing with None: what came before it was thinking.
    """
    at, thinking, called, left = 0, False, -1, _WORK * len(text) + 1000
    strict, endless, broken = _STRICT_TRIES, set[str](), False
    while (start := _STARTS.search(text, at)) is not None:
        at = start.start()
        if (tag := TAGS.match(text, at)) is not None:
            thinking, lone = _state(tag, thinking)
            if lone:
                yield _NOTHING, None, False
            at = tag.end()
            called = at if "call" in (tag["open"] or "").casefold() else -1
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
        left -= spent
        strict -= parsed is None or bool(parsed.slips or parsed.lost)
        inside = broken and _INSIDE.search(text, max(0, at - 40), at) is not None
        broken = broken or (parsed is not None and bool(parsed.open_at))
        if parsed is None or (parsed.lost and not parsed.value):
            far = 1 if parsed is None else parsed.end - at
            at += 1 if left > 0 and far < _DEEP else max(1, far)
            continue
        if _counts(text, parsed, inside, keys):
            yield parsed, thinking, called >= 0 and not text[called:at].strip()
        called = -1
        at = max(parsed.end, at + 1)


def _counts(text: str, parsed: Parsed, inside: bool, keys: Sequence[str]) -> bool:
    if keys:
        return not inside or (isinstance(parsed.value, dict) and keys[0] in parsed.value)
    return not inside and not ((parsed.slips or parsed.lost) and _in_code(text, parsed.start))


def _in_code(text: str, at: int) -> bool:
    """Whether a value is assigned or passed: code, not an answer, unless it is JSON as it stands."""
    return text[max(0, at - 20) : at].rstrip()[-1:] in ("=", "(")


def _state(tag: re.Match[str], thinking: bool) -> tuple[bool, bool]:
    """(thinking, everything before was thinking) after a tag."""
    if tag["channel"]:
        return tag["channel"].casefold() in ("analysis", "commentary"), False
    opened = tag["open"] or tag["opened"]
    if "call" in (opened or tag["close"] or "").casefold():
        return thinking, False
    return (True, False) if opened else (False, True)


_STRICT = json.JSONDecoder(
    strict=False,
    parse_constant=lambda _: None,
    parse_int=lambda digits: int(digits) if len(digits) <= LONGEST_NUMBER else digits,
)


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
            return Parsed(value, end, start=at), end - at
    parsed = parse_at(text, at)
    return parsed, spent + (1 if parsed is None else parsed.end - at)
