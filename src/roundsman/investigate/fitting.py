"""Tool answers in a model's view made to fit what is left of its context. The journal keeps the whole."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from roundsman.investigate.gauge import Gauge
from roundsman.investigate.prompted import arguments_of, declared_in

_PER_MESSAGE = 12  # tokens of a chat template around one message
#: characters below which an answer says nothing any more
LEAST = 240
_KEPT = ("status", "evidence_id", "error", "reason", "tool", "rule")


class TooSmall(Exception):
    """What is no tool answer does not fit into the context by itself; `tokens` of it, about."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.tokens = tokens


def fitted(request: LlmRequest, context: int, reply: int, gauge: Gauge) -> list[types.Content]:
    """The request's contents with tool answers cut to what the context leaves beside a reply.

    Raises TooSmall.
    """
    contents = list(request.contents or [])
    sizes = result_sizes(contents)
    others = chars(request) - sum(sizes)
    room = gauge.room(context - reply - _PER_MESSAGE * (len(contents) + 2), others)
    if room < 0:
        raise TooSmall(gauge.tokens(others))
    most = iter(shares(sizes, room))
    return [_shrunk(content, most) for content in contents]


def result_sizes(contents: Sequence[types.Content]) -> list[int]:
    """Characters of each tool answer, the newest last."""
    parts = [part for content in contents for part in content.parts or []]
    return [size(p.function_response.response) for p in parts if p.function_response is not None]


def _shrunk(content: types.Content, most: Iterator[int]) -> types.Content:
    parts = []
    for part in content.parts or []:
        answer = part.function_response
        if answer is not None:
            less = shrink(answer.response, next(most))
            part = part.model_copy(
                update={"function_response": answer.model_copy(update={"response": less})}
            )
        parts.append(part)
    return content.model_copy(update={"parts": parts})


def size(value: Any) -> int:
    """Characters of a value as JSON."""
    return len(json.dumps(value, default=str))


def shares(sizes: Sequence[int], room: int) -> list[int]:
    """How many characters each answer may have so that all fit into `room`.

    Short ones keep all of theirs; the rest share what is left equally, and the newest (the last) gets
    a double share, as it is the one the model has not read yet. None gets less than `LEAST`.
    """
    given, left, open_at = list(sizes), room, set(range(len(sizes)))
    last = len(sizes) - 1
    while open_at:
        parts = len(open_at) + (last in open_at)
        share = max(0, left) // parts
        small = {i for i in open_at if sizes[i] <= share * (2 if i == last else 1)}
        if not small:
            for i in open_at:
                given[i] = max(LEAST, share * (2 if i == last else 1))
            break
        left -= sum(sizes[i] for i in small)
        open_at -= small
    return given


def shrink(result: Any, most: int) -> Any:
    """The result in at most about `most` characters: list entries go from the end (tools put the
    most telling first), then texts are cut. `left_out` says how many entries went."""
    if not isinstance(result, dict) or size(result) <= most:
        return result
    result = copy.deepcopy(result)
    gone: dict[str, int] = {}
    while size(result) > most:
        found = _longest_list(result)
        if found is None:
            break
        name, rows = found
        cut = max(1, len(rows) // 4)
        del rows[-cut:]
        gone[name] = gone.get(name, 0) + cut
    if gone:
        before = result.get("left_out")
        told = dict(before) if isinstance(before, dict) else {}
        for name, count in gone.items():
            now = told.get(name, 0)
            told[name] = (now if isinstance(now, int) else 0) + count
        result["left_out"] = told
    for limit in (400, 200, 100, 50):
        if size(result) <= most:
            return result
        result = _cut(result, limit)
    if size(result) <= most:
        return result
    kept = {name: result[name] for name in _KEPT if name in result}
    return kept | {"note": "left out: no room in the model's context; ask a narrower question"}


def _longest_list(value: Any, name: str = "rows") -> tuple[str, list[Any]] | None:
    best: tuple[str, list[Any]] | None = None
    todo = [(name, value)]
    while todo:
        at, one = todo.pop()
        if isinstance(one, dict):
            todo += [(str(key), inner) for key, inner in one.items()]
        elif isinstance(one, list):
            todo += [(at, inner) for inner in one]
            if len(one) > 1 and (best is None or size(one) > size(best[1])):
                best = (at, one)
    return best


def _cut(value: Any, limit: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= limit else value[: limit - 1] + "…"
    if isinstance(value, dict):
        return {key: _cut(inner, limit) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cut(inner, limit) for inner in value]
    return value


def chars(request: LlmRequest) -> int:
    """Characters the server's template turns into a prompt, roughly."""
    config, total = request.config, 0
    if config is not None:
        total += len(str(config.system_instruction or ""))
        for one in declared_in(config.tools):
            total += len(one.description or "") + len(json.dumps(arguments_of(one))) + 80
    for content in request.contents or []:
        for part in content.parts or []:
            total += len(part.text or "")
            if part.function_call is not None:
                total += len(part.function_call.name or "") + size(part.function_call.args) + 20
            if part.function_response is not None:
                total += len(part.function_response.name or "") + 20
                total += size(part.function_response.response)
    return total
