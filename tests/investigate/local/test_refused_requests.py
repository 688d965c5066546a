"""A request that is refused for what it asks is made again with less, as a step of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from model_server import Body, Raw, answer, model_server, reply, step
from test_local_models import looks_then_answers, run

from roundsman.investigate import model_errors


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_errors, "PAUSES", (0.0, 0.0, 0.0))


REFUSALS = [
    Raw(b'{"error": {"message": "response_format json_schema is not supported"}}', 400),
    Raw(b"Bad Request", 400, kind="text/plain"),
    Raw(b'{"detail": [{"loc": ["body", "response_format"]}]}', 422),
    Raw(b'{"error": {"message": "failed to parse grammar"}}', 500),
]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_server_that_takes_no_schema_is_asked_without_and_read_tolerantly(
    tmp_path: Path, refusal: Raw
) -> None:
    def say(n: int, body: Body) -> Body | Raw:
        if body.get("response_format"):
            return refusal
        said = looks_then_answers(n - 1, body)["choices"][0]["message"]["content"]
        return reply(f"Here it is:\n```json\n{said}\n```\nAnything else?")

    with model_server(say) as server:
        report, _ = run(server, tmp_path)
    assert [f["statement"] for f in report["findings"]] == ["storefront-api was deployed as v1.5.0"]
    assert [e["tool"] for e in report["evidence"]] == ["list_deploys"]
    assert [bool(a.get("response_format")) for a in server.asked] == [True, False, False, False]
    assert len(server.asked) == report["usage"]["steps"]
    told = [n["reason"] for n in report["notes"] if n["rule"] == "tools"]
    assert any("without the schema" in reason for reason in told)


def test_a_refusal_of_something_else_is_told_at_the_second_time(tmp_path: Path) -> None:
    with model_server(lambda n, body: Raw(b'{"error": "no such sampler"}', 400)) as server:
        report, _ = run(server, tmp_path)
    assert report["stop"]["reason"] == "failed"
    assert "no such sampler" in report["stop"]["detail"]
    assert len(server.asked) == report["usage"]["steps"] == 2


def test_a_schema_that_was_taken_once_is_kept(tmp_path: Path) -> None:
    def say(n: int, body: Body) -> Body | Raw:
        return step("list_deploys") if n == 1 else Raw(b'{"error": "no such sampler"}', 400)

    with model_server(say) as server:
        report, _ = run(server, tmp_path)
    assert report["stop"]["reason"] == "failed"
    assert all(asked.get("response_format") for asked in server.asked)
    assert len(server.asked) == report["usage"]["steps"] == 2


@pytest.mark.parametrize(("said", "has"), [(8192, 4096), (6144, 3600)])
def test_a_context_smaller_than_the_server_says_is_come_down_to(
    tmp_path: Path, said: int, has: int
) -> None:
    tools = ("query_metrics", "query_logs", "list_deploys")
    sent: list[int] = []

    def say(n: int, body: Body) -> Body | Raw:
        tokens = sum(len(m["content"]) for m in body["messages"]) // 2
        sent.append(tokens + body["max_tokens"])
        if sent[-1] > has:
            return Raw(b'{"error": {"message": "exceeds the available context size"}}', 400)
        made = sum(m["role"] == "assistant" for m in body["messages"])
        if made < len(tools):
            return step(tools[made])
        return answer("storefront-api was deployed as v1.5.0", evidence="a3", done=True)

    with model_server(say, [{"id": "m", "max_model_len": said}]) as server:
        report, _ = run(server, tmp_path)
    assert max(sent) > has, "it did not fit at first"
    assert report["findings"], report["stop"]
    assert len(server.asked) == report["usage"]["steps"]


def test_a_prompt_that_never_fits_ends_the_run_in_one_line(tmp_path: Path) -> None:
    no = Raw(json.dumps({"error": {"message": "maximum context length is 99"}}).encode(), 400)
    with model_server(lambda n, body: no, [{"id": "m", "max_model_len": 8192}]) as server:
        report, _ = run(server, tmp_path)
    assert report["stop"]["reason"] == "failed"
    assert "--context TOKENS" in report["stop"]["detail"]
    assert len(server.asked) == report["usage"]["steps"] <= 4
    assert report["usage"]["tokens"] == 0, "no model has run"
