"""Whatever a model's server does, a run ends within its limits, in one line, with a whole journal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import Body, Raw, answer, model_server, reply, step
from test_local_models import run

from roundsman.investigate import model_errors, model_traffic

LOOK = {"step": {"tool": "list_deploys", "args": {}}}


def for_ever() -> Iterator[bytes]:
    yield b'{"choices": [{"message": {"role": "assistant", "content": "'
    while True:
        yield b"again and " * 4096


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_errors, "PAUSES", (0.0, 0.0, 0.0))


def half() -> Raw:
    whole = json.dumps(reply(json.dumps(LOOK))).encode()
    return Raw(whole[: len(whole) // 2], length=len(whole))


def two(n: int, body: Body) -> Body:
    said = reply(json.dumps(LOOK)) if n == 1 else answer(done=True)
    other = reply(json.dumps({"step": {"tool": "restart_pod", "args": {"pod": "x"}}}))
    return {**said, "choices": [*said["choices"], *other["choices"]]}


def with_usage(usage: object) -> Callable[[int, Body], Body]:
    def say(n: int, body: Body) -> Body:
        made = step("list_deploys", window_minutes=60 - n)
        made["usage"] = usage
        if usage == "missing":
            del made["usage"]
        return made

    return say


def cumulative(n: int, body: Body) -> Body:
    used = {"prompt_tokens": 3000 * n, "completion_tokens": 20 * n, "total_tokens": 3020 * n}
    return {**step("list_deploys", window_minutes=60 - n), "usage": used}


def deep(levels: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


FAILS: list[tuple[str, Callable[[int, Body], Body | Raw], str]] = [
    ("streams for ever", lambda n, b: Raw(for_ever), "does not end"),
    ("HTML", lambda n, b: Raw(b"<html>502 Bad Gateway</html>", kind="text/html"), "a web page"),
    ("half a JSON", lambda n, b: half(), "broke off"),
    ("half a JSON, no length", lambda n, b: Raw(half().pieces), "breaks off"),
    ("10 MB of text", lambda n, b: reply("word " * 2_000_000), "over 2 MB"),
    ("a login", lambda n, b: Raw(b"{}", 401), "a login is needed"),
    ("a stream of events", lambda n, b: Raw(b'data:{"choices": []}\r\n\r\n'), "a stream of events"),
    ("nothing, with status 204", lambda n, b: Raw(b"", 204), "an empty reply"),
    ("an error with status 201", lambda n, b: Raw(b'{"error": "no slot"}', 201), "no slot"),
    ("a redirect", lambda n, b: Raw(b"", 307, headers={"Location": "/x"}), "is not followed"),
    ("an error with status 200", lambda n, b: {"error": {"message": "no slot"}}, "no slot"),
    (
        "a prompt too long",
        lambda n, b: Raw(b'{"error": {"message": "exceeds the available context size"}}', 400),
        "--context TOKENS",
    ),
]


@pytest.mark.parametrize(("say", "told"), [f[1:] for f in FAILS], ids=[f[0] for f in FAILS])
def test_a_server_that_fails_ends_the_run_with_one_line(
    tmp_path: Path, say: Callable[[int, Body], Body | Raw], told: str
) -> None:
    with model_server(say) as server:
        report, store = run(server, tmp_path)
    assert report["stop"]["reason"] == "failed"
    assert told in report["stop"]["detail"]
    assert "\n" not in report["stop"]["detail"]
    assert len(report["stop"]["detail"]) < 400
    assert len(server.asked) == report["usage"]["steps"]
    kinds = [r.kind for r in store.records(report["run_id"])]
    assert kinds.count("step_begins") == kinds.count("step_ends") == len(server.asked)
    assert kinds[-1] == "run_ends"


BOUNDED: list[tuple[str, Callable[[int, Body], Body | Raw]]] = [
    ("null content", lambda n, b: reply(None)),
    ("no choices", lambda n, b: {**reply(), "choices": []}),
    ("choices of another kind", lambda n, b: {**reply(), "choices": "none"}),
    ("content of another kind", lambda n, b: reply([{"type": "text"}])),
    ("usage missing", with_usage("missing")),
    ("usage negative", with_usage({"prompt_tokens": -5, "completion_tokens": -1})),
    ("usage of another kind", with_usage({"prompt_tokens": "many", "total_tokens": None})),
    ("usage cumulative", cumulative),
    ("usage of zeros", with_usage({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})),
    ("usage of infinity", with_usage({"prompt_tokens": float("inf"), "completion_tokens": 1})),
    ("choices without a message", lambda n, b: {**reply(), "choices": [{"text": "x"}, 5]}),
    ("a text of half characters", lambda n, b: reply("half \ud800 \x00")),
    ("100,000 words", lambda n, b: reply("word " * 100_000)),
    ("thinking only", lambda n, b: reply("<think>maybe " + json.dumps(LOOK))),
    ("a name of half a character", lambda n, b: reply(calls=[("\ud800", {"n": n})])),
    ("a name without an end", lambda n, b: reply(calls=[("x" * 100_000, {"n": n})])),
    ("arguments without a bottom", lambda n, b: reply(calls=[("query_logs", {"text": deep(300)})])),
    ("a step without a bottom", lambda n, b: step("query_logs", text=deep(300))),
    ("garbage", lambda n, b: reply("the the the " * 50)),
    ("arguments of another kind", lambda n, b: reply(calls=[("list_deploys", [1, 2])])),
    ("the identical call for ever", lambda n, b: step("list_deploys")),
]


@pytest.mark.parametrize("say", [b[1] for b in BOUNDED], ids=[b[0] for b in BOUNDED])
def test_a_server_that_says_nonsense_is_bounded(
    tmp_path: Path, say: Callable[[int, Body], Body | Raw]
) -> None:
    with model_server(say) as server:
        report, store = run(server, tmp_path)
    assert report["stop"]["reason"] not in ("failed", "done", "aborted"), report["stop"]
    assert len(server.asked) == report["usage"]["steps"] <= 48
    assert report["usage"]["tokens"] > 0
    assert not report["findings"]
    kinds = [r.kind for r in store.records(report["run_id"])]
    assert kinds.count("step_begins") == kinds.count("step_ends") == len(server.asked)
    assert kinds[-1] == "run_ends"


def test_the_identical_call_for_ever_ends_by_repetition(tmp_path: Path) -> None:
    with model_server(lambda n, b: step("list_deploys")) as server:
        report, _ = run(server, tmp_path)
    assert report["stop"]["reason"] == "repetition"
    assert len(server.asked) <= 16


def test_the_first_of_two_choices_counts(tmp_path: Path) -> None:
    with model_server(two) as server:
        report, _ = run(server, tmp_path)
    assert [e["tool"] for e in report["evidence"]] == ["list_deploys"]
    assert not report["refused"]


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": 10**40, "completion_tokens": 20, "total_tokens": 10**40},
        {"prompt_tokens": 900, "completion_tokens": -40, "total_tokens": 860},
        {"completion_tokens": 20},
        {"prompt_tokens": 900, "completion_tokens": 1, "total_tokens": 901},
    ],
)
def test_a_part_that_cannot_be_makes_the_whole_an_estimate(tmp_path: Path, usage: Any) -> None:
    def say(n: int, body: Body) -> Body:
        return {**answer("it is so", "and so it was before", done=True), "usage": usage}

    with model_server(say) as server:
        report, _ = run(server, tmp_path)
    assert report["usage"]["tokens"] == report["usage"]["tokens_estimated"]
    assert report["usage"]["tokens"] > 500 * len(server.asked), "the prompts alone are that long"


def test_an_answer_in_parts_is_read_as_one(tmp_path: Path) -> None:
    def say(n: int, body: Body) -> Body:
        said = json.dumps(LOOK) if n == 1 else json.dumps({"step": {"findings": [], "done": True}})
        parts = [{"type": "text", "text": said[:12]}, {"type": "text", "text": said[12:]}]
        return reply(parts)

    with model_server(say) as server:
        report, _ = run(server, tmp_path)
    assert [e["tool"] for e in report["evidence"]] == ["list_deploys"]


@pytest.mark.parametrize("given", ['{"text": "pool \\u00', '["pool"]', "pool", [1], 5])
def test_arguments_that_cannot_be_read_are_refused_and_not_left_out(
    tmp_path: Path, given: Any
) -> None:
    def say(n: int, body: Body) -> Body:
        if body.get("tool_choice") == "required":
            return reply(calls=[("note", {"number": 7})])
        made = reply(calls=[("query_logs", {})])
        made["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = given
        return made if n == 2 else answer(done=True)

    with model_server(say) as server:
        report, _ = run(server, tmp_path, tools="native")
    assert [r["reason"] for r in report["refused"]] == ["query_logs: takes no argument 'arguments'"]
    assert not [e for e in report["evidence"] if e["status"] in ("ok", "empty")]
    assert len(server.asked) == report["usage"]["steps"] + 1


def test_reasoning_tokens_are_charged_once(tmp_path: Path) -> None:
    used = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "total_tokens": 150,
        "completion_tokens_details": {"reasoning_tokens": 40},
    }
    with model_server(lambda n, b: {**answer(done=True), "usage": used}) as server:
        report, _ = run(server, tmp_path)
    assert report["usage"]["tokens"] == 150 * len(server.asked)


def test_a_server_that_never_answers_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never() -> Iterator[bytes]:
        yield b" "
        server.over.wait(300)

    monkeypatch.setattr(model_traffic, "WHOLE", 0.5)
    with model_server(lambda n, b: Raw(never)) as server:
        report, _ = run(server, tmp_path)
    assert report["stop"]["reason"] == "failed"
    assert "0.5 s" in report["stop"]["detail"] or "timed out" in report["stop"]["detail"].lower()
