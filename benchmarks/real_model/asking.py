"""The answers and the native calls of a model, asked for without any guard: one request each."""

from __future__ import annotations

import json
from typing import Any

import httpx

from benchmarks.real_model.cases import told_of, tool_names
from benchmarks.real_model.proxy import LONGEST, Exchange, Proxy
from benchmarks.real_model.reading import read
from roundsman.investigate import prompted
from roundsman.investigate.agent import INSTRUCTION
from roundsman.loop import read_answer, round_prompt

SHOWN = 1200  # characters of one tool's result
_READS = {
    "query_metrics": ("service", "metric"),
    "query_logs": ("service", "text"),
    "list_deploys": (),
}


def answer_of(proxy: Proxy, model: str, case: str, seed: int, mode: str) -> dict[str, Any]:
    """One answer, in `free` text or with the `schema` enforced by the server, and how it was read."""
    form = {"name": "answer", "schema": prompted.ANSWER, "strict": True}
    schema = {"response_format": {"type": "json_schema", "json_schema": form}}
    more = schema if mode == "schema" else {}
    one = _asked(proxy, seed, {"model": model, "messages": _prompt(case), **more})
    row = {"case": case, "seed": seed, "mode": mode, "status": one.status}
    if one.status != 200:
        return row
    got = read(one.text, one.cut)
    return {
        **row,
        "outcome": got.outcome,
        "damage": got.damage,
        "findings": got.findings,
        "strange": list(got.strange),
        "text": one.text,
    }


def call_of(proxy: Proxy, model: str, case: str, seed: int, tool_choice: str) -> dict[str, Any]:
    """One request that offers tools: whether a call came natively, as text, or not at all."""
    question, _ = told_of(case)
    talk = [
        {"role": "system", "content": INSTRUCTION},
        {"role": "user", "content": round_prompt(question, 1, [])},
    ]
    asked = {"model": model, "messages": talk, "tools": _tools(), "tool_choice": tool_choice}
    one = _asked(proxy, seed, asked)
    row = {"case": case, "seed": seed, "tool_choice": tool_choice, "status": one.status}
    return {**row, "call": made(one), "text": one.text}


def made(one: Exchange) -> str:
    """How a reply calls a tool: `native`, `prompted`, `printed`, or `none`."""
    if one.calls:
        return "native"
    if one.constrained:
        try:
            step = json.loads(one.text)["step"]
            if step["tool"] in tool_names() and isinstance(step["args"], dict):
                return "prompted"
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
    return "printed" if read_answer(one.text, tool_names()).calls else "none"


def _prompt(case: str) -> list[dict[str, str]]:
    question, results = told_of(case)
    told = [
        f"Result of {name} (evidence_id a{number}): {json.dumps(said, default=str)[:SHOWN]}"
        for number, (name, said) in enumerate(results, start=1)
    ]
    asked = "\n".join([round_prompt(question, 1, []), *told, "Answer now."])
    return [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": asked}]


def _asked(proxy: Proxy, seed: int, body: dict[str, Any]) -> Exchange:
    proxy.restart(seed)
    with httpx.Client(trust_env=False, timeout=LONGEST) as client:
        client.post(f"{proxy.url}/chat/completions", json=body)
    return proxy.exchanges[-1]


def _tools() -> list[dict[str, Any]]:
    def one(name: str, words: tuple[str, ...]) -> dict[str, Any]:
        members: dict[str, Any] = {word: {"type": "string"} for word in words}
        members["window_minutes"] = {"type": "integer"}
        form = {"type": "object", "properties": members, "required": list(words)}
        about = {"name": name, "description": name.replace("_", " "), "parameters": form}
        return {"type": "function", "function": about}

    return [one(name, words) for name, words in _READS.items()]
