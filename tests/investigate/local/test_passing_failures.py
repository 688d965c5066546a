"""A server that fails for a moment ends no investigation: it is asked again, and each request is a step."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import Body, Raw, answer, model_server, reply, step
from test_local_models import run

from roundsman.errors import ModelServerError
from roundsman.investigate import local_model, model_errors
from roundsman.investigate.model_errors import PAUSES, pause_after
from roundsman.ledger import Store

DOWN = Raw(b'{"error": {"message": "out of memory"}}', 500)
PIECES = ("query_metrics", "query_logs", "list_deploys")


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_errors, "PAUSES", (0.0, 0.0, 0.0))


def asks(report: dict[str, Any], store: Store) -> tuple[int, int, int]:
    """(intents, outcomes, outcomes that are errors) of model calls."""
    records = store.records(report["run_id"])
    ends = [r.body for r in records if r.kind == "step_ends"]
    begun = sum(r.kind == "step_begins" for r in records)
    return begun, len(ends), sum(bool(one.get("error")) for one in ends)


def work(n: int) -> Body:
    """The n-th good reply: three looks, a finding, done."""
    if n <= len(PIECES):
        return step(PIECES[n - 1])
    return answer("storefront-api was deployed as v1.5.0", evidence="a3", done=n > 4)


def test_a_500_on_every_third_call_does_not_end_the_run(tmp_path: Path) -> None:
    good: list[int] = []

    def say(n: int, body: Body) -> Body | Raw:
        if n % 3 == 0:
            return DOWN
        good.append(n)
        return work(len(good))

    with model_server(say) as server:
        report, store = run(server, tmp_path)
    assert report["stop"]["reason"] == "done", report["stop"]
    assert report["findings"]
    assert len(server.asked) == report["usage"]["steps"] == 7
    assert asks(report, store) == (7, 7, 2)
    # what was refused by nobody and cut by nobody is told all the same
    told = [n["reason"] for n in report["notes"]]
    assert len(told) == 2
    assert "HTTP 500: the server failed (out of memory)" in told[0]


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        (Raw(b"{}", 429), 0),
        (Raw(b"{}", 429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), 0),
        (Raw(b"{}", 503, headers={"Retry-After": "soon"}), 0),
        (Raw(b"{}", 502), 1),
        (Raw(b"{}", length=500), 1),  # the connection is closed within the reply
        (Raw(b"", length=500), 1),  # or before it
    ],
    ids=["429", "429, a date long past", "503, nonsense", "502", "closed within", "closed before"],
)
def test_a_failure_that_passes_is_one_more_step_and_charged_only_when_a_model_may_have_run(
    tmp_path: Path, raw: Raw, tokens: int
) -> None:
    with model_server(lambda n, body: raw if n == 1 else work(n - 1)) as server:
        report, store = run(server, tmp_path)
    assert report["stop"]["reason"] == "done", report["stop"]
    assert len(server.asked) == report["usage"]["steps"] == 6
    first = next(r.body for r in store.records(report["run_id"]) if r.kind == "step_ends")
    assert bool(first["tokens"]) is bool(tokens)
    assert report["usage"]["tokens"] == 5 * 120 + first["tokens"]


def test_after_the_last_attempt_the_run_ends_with_what_was_found(tmp_path: Path) -> None:
    with model_server(lambda n, body: work(n) if n <= 4 else DOWN) as server:
        report, store = run(server, tmp_path)
    assert report["stop"]["reason"] == "failed"
    assert report["stop"]["detail"].endswith("asked 4 times")
    assert [f["statement"] for f in report["findings"]] == ["storefront-api was deployed as v1.5.0"]
    assert len(report["evidence"]) == 3
    assert len(server.asked) == report["usage"]["steps"] == 8
    assert asks(report, store) == (8, 8, 4)


def test_what_will_not_pass_is_asked_once(tmp_path: Path) -> None:
    late = Raw(b"{}", 429, headers={"Retry-After": "3600"})
    for number, raw in enumerate((Raw(b"{}", 401), Raw(b"{}", 404), late)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with model_server(lambda n, body, raw=raw: raw) as server:  # type: ignore[misc]
            report, _ = run(server, folder)
        assert report["stop"]["reason"] == "failed"
        assert len(server.asked) == 1
    assert "it asks to wait 3600 s" in report["stop"]["detail"]


def test_attempts_count_for_the_limit_of_steps(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("version: 1\nextends: default\nrun: {steps: 3}\n")
    with model_server(lambda n, body: DOWN) as server:
        report, _ = run(server, tmp_path, policy=str(policy))
    assert report["stop"]["reason"] == "steps"
    assert len(server.asked) == report["usage"]["steps"] == 3


@pytest.mark.parametrize(
    ("error", "attempt", "expected"),
    [
        (ModelServerError("x", 500, passing=True), 1, 1.0),
        (ModelServerError("x", 500, passing=True), 3, 15.0),
        (ModelServerError("x", 429, passing=True, wait=30.0), 1, 30.0),
        (ModelServerError("x", 400), 1, None),
        (ValueError("x"), 1, None),
    ],
)
def test_the_wait_is_what_the_server_asks_for_or_longer_each_time(
    monkeypatch: pytest.MonkeyPatch, error: Exception, attempt: int, expected: float | None
) -> None:
    monkeypatch.setattr(model_errors, "PAUSES", PAUSES)
    assert pause_after(error, attempt) == expected


def probed(first: Callable[[int], Body | Raw]) -> Callable[[int, Body], Body | Raw]:
    """A server whose probe answers `first(n)`; afterwards it works, natively or prompted."""
    probes: list[int] = []
    good: list[int] = []

    def say(n: int, body: Body) -> Body | Raw:
        if body.get("tool_choice") == "required":
            probes.append(n)
            return first(len(probes))
        good.append(n)
        if body.get("tools"):
            made = work(len(good))["choices"][0]["message"]["content"]
            one = json.loads(made)["step"]
            if "tool" in one:
                return reply(calls=[(one["tool"], one["args"])])
            return reply(json.dumps(one))
        return work(len(good))

    return say


NOTED = reply(calls=[("note", {"number": 7})])


@pytest.mark.parametrize(
    ("first", "native", "probes", "said"),
    [
        (lambda n: NOTED if n == 2 else DOWN, True, 2, ""),
        (lambda n: DOWN, False, 3, "could not tell whether native calls come"),
        (lambda n: reply("note(7)"), False, 1, "no native call came"),
        (
            lambda n: Raw(b'{"error": {"message": "tools need --jinja"}}', 500),
            False,
            1,
            "the server takes no tools",
        ),
    ],
    ids=["fails once", "fails always", "prints it", "takes no tools"],
)
def test_a_probe_that_fails_is_made_again_before_anything_is_concluded(
    tmp_path: Path, first: Any, native: bool, probes: int, said: str
) -> None:
    with model_server(probed(first)) as server:
        report, _ = run(server, tmp_path, tools="auto")
    assert report["stop"]["reason"] == "done", report["stop"]
    made = [a for a in server.asked if a.get("tool_choice") == "required"]
    assert len(made) == probes
    assert bool(server.asked[-1].get("tools")) is native
    told = [n["reason"] for n in report["notes"] if n["rule"] == "tools"]
    assert [said in one for one in told] == ([True] if said else [])
    # the probe that came to an end counts with the step that asked, each failed one is a step
    assert len(server.asked) == report["usage"]["steps"] + 1


def test_a_probe_that_hangs_is_left_and_tools_are_prompted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_model, "PROBE", 0.3)
    with model_server(probed(lambda n: Raw(lambda: hang()))) as server:

        def hang() -> Any:
            yield b" "
            server.over.wait(300)

        report, _ = run(server, tmp_path, tools="auto")
    assert report["stop"]["reason"] == "done", report["stop"]
    assert "still answering after 0.3 s" in report["notes"][-1]["reason"]
