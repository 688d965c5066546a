"""Fingerprints of calls and results: equal meaning, equal digest.

Arguments are compared as canonical JSON. Results are compared with volatile values masked (times,
ids, durations), since a clock or a request id hides sameness (shown on recorded runs: 62 clock calls
in a row, every answer new). Records carry the prints, so that nothing rescans a history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, TypedDict

from roundsman.guard.effects import looks_like_a_write
from roundsman.guard.faults import fault, reports_failure, text_of
from roundsman.guard.gist import FRAME, gist
from roundsman.guard.volatile import mask, shape, shape_of_masked


class CallPrints(TypedDict):
    """What a record keeps of a call: the exact `call`, a sketch of it, and whether its success
    changes something (`alters`: `declared`, `seems` or empty)."""

    call: str
    gist: str
    alters: str


class ResultPrints(TypedDict):
    """What a record keeps of a result: `print` (volatile values masked; empty for a blank one),
    `shape` (all digits masked), `fault` (the kind of failure; empty when it is none)."""

    print: str
    shape: str
    fault: str


_SORTED = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode
_AS_IT_IS = json.JSONEncoder(separators=(",", ":"), default=str).encode

DEEPEST = 100
"""Levels of nesting beyond which a value is only named."""


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces; what is not JSON becomes its `str`. Never raises."""
    return as_json(value, sort_keys=True)


def as_json(value: Any, sort_keys: bool = False) -> str:
    """JSON of any value a tool or a model can come up with: keys that are no text, numbers too
    long to print, values that hold themselves or nest without end."""
    encode = _SORTED if sort_keys else _AS_IT_IS
    try:
        return encode(value)
    except (TypeError, ValueError, RecursionError):
        return encode(_tame(value, 0))


def _tame(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        return f"... {type(value).__name__}"
    if isinstance(value, Mapping):
        return {str(k): _tame(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_tame(v, depth + 1) for v in value]
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= 4096 else hex(value)
    try:
        return str(value)
    except Exception:  # a foreign object's own code
        return f"<{type(value).__name__}>"


def digest(text: str) -> str:
    """A short stable digest (16 hex digits)."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def call_print(tool: str, args: Any) -> str:
    """Digest of a tool call: its name and canonical arguments. `40.0` is `40`: engines hand on one
    number either way."""
    written = canonical(args)
    if _WHOLE.search(written):
        written = canonical(_whole_numbers(args, 0))
    return digest(f"{tool}\x00{written}")


_WHOLE = re.compile(r"\d\.0(?!\d)|\de\+")


def _whole_numbers(value: Any, depth: int) -> Any:
    """The value with floats that are whole numbers as integers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if depth > DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {k: _whole_numbers(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_numbers(v, depth + 1) for v in value]
    return value


BLANK = frozenset({"", "[]", "{}", "()", "null", "None"})
"""Results that hold nothing, as they are written."""

_LONG = 3
"""Words from which on an argument is a text that may be rephrased; below, it names something."""


_KNOBS = re.compile(
    r"(?:^|_)(?:limit|offset|page|size|count|window|minutes|hours|seconds|timeout|top|max|min|lines"
    r"|tail|head|since|until|start|end|depth|retries|threshold|percent|percentile|quantile|interval"
    r"|tolerance)(?:$|_)",
    re.IGNORECASE,
)
"""Arguments that say how much of a thing is looked at, not at what."""
_REMARKS = re.compile(
    r"(?:^|_)(?:progress|note|reason|thought|explanation|comment|rationale)s?$", re.IGNORECASE
)
"""Arguments that are said beside the question."""
_MARKS = re.compile(
    r"^(?:(?:client_)?request_?id|correlation_?id|idempotency_?key|nonce|attempt|iteration|turn)$",
    re.IGNORECASE,
)
"""Arguments that mark the one call, where others say what is asked."""


def call_gist(args: Mapping[str, Any]) -> str:
    """What near-duplicates share: a digest of the arguments that name something, then a sketch of
    those that say something. Two services asked the same question are two calls, however many
    words the calls have in common; numbers that only say how much make no other call."""
    names: list[str] = []
    texts: list[str] = []
    for key in sorted(args, key=str):
        value = args[key]
        text = value if isinstance(value, str) else canonical(value)
        if _REMARKS.search(str(key)) or (len(args) > 1 and _MARKS.search(str(key))):
            continue
        if len(text.split(maxsplit=_LONG)) >= _LONG:
            names.append(f"{key}=")
            texts.append(text)
        else:
            names.append(f"{key}={shape(text) if _KNOBS.search(str(key)) else mask(text)}")
    return digest("\x00".join(names).lower())[:FRAME] + gist(" ".join(texts))


def call_prints(tool: str, args: Mapping[str, Any], effect: str | None) -> CallPrints:
    """The prints of a call. `effect` is the declared one, None for an undeclared tool."""
    if effect is not None:
        alters = "declared" if effect in ("write", "destructive") else ""
    else:
        alters = "seems" if looks_like_a_write(tool, args) else ""
    return {
        "call": call_print(tool, args),
        "gist": call_gist(args),
        "alters": alters,
    }


def result_prints(
    result: Any, status: str, declared: bool = False, text: str | None = None
) -> ResultPrints:
    """The prints of a result. `declared`: the tool itself said its status, so its text is not
    searched for failures. `text` is its canonical JSON, where that is known."""
    masked = mask(canonical(result) if text is None else text)
    said = text_of(result)
    failed = status == "error" or (not declared and status != "blocked" and reports_failure(said))
    return {
        "print": digest(masked) if said.strip() not in BLANK else "",
        "shape": digest(shape_of_masked(masked)),
        "fault": digest(fault(said)) if failed else "",
    }
