"""Checks that take their time: a budget each, and heavy ones beside the stream."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from tests.adk.live_stub import END, StubLive, aloud, calls, heard, text
from tests.adk.talks import (
    SAFE,
    Streaming,
    checks,
    hold,
    live_checks,
    play,
    policy,
    ruled,
    seen_by,
    streamed,
)

from roundsman.adk.timed import MOST_AT_ONCE
from roundsman.testing import ScriptedModel, call

WAITS = 300.0
"""Seconds after which a test that waits for an event has failed."""
GO, LOOKED = threading.Event(), threading.Event()
TEXTS: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    GO.clear()
    LOOKED.clear()
    TEXTS.clear()
    yield
    GO.set()  # nothing is left that waits, nor that says something to the next test
    for one in threading.enumerate():
        if one.name == "check own":
            one.join(WAITS)


def hangs(text: str) -> bool:
    return not GO.wait(WAITS)


def forbids(text: str) -> bool:
    TEXTS.append(text)
    try:
        return "forbidden" in text
    finally:
        LOOKED.set()


def raises(text: str) -> bool:
    raise RuntimeError("no dictionary")


def rule(function: str, on: str, more: str = "heavy: true, budget: 60s") -> str:
    name = f"tests.adk.test_heavy_checks:{function}"
    return f"own: {{on: [{on}], python: '{name}', reply: No., {more}}}"


def fetch() -> dict[str, Any]:
    """Fetch a page."""
    return {"page": "the page is forbidden"}


LARGE = "\nrun: {tokens: null, usd: null}"
LATE = "budget: 20ms"
KINDS = {"in line": LATE, "heavy": f"heavy: true, {LATE}"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("on", ["input", "reply", "result"])
def test_a_check_that_hangs_blocks_when_its_time_is_over(
    tmp_path: Path, kind: str, on: str
) -> None:
    rules = policy(tmp_path, checks(rule("hangs", on, KINDS[kind])))
    result, model = play([call("fetch"), "the answer"], "hi", rules, fetch)
    assert ("refuse", "own", True) in ruled(result)
    assert "said nothing within 20 ms" in str([r.body for r in result.records])
    if on == "result":
        assert "forbidden" not in seen_by(model)
    else:
        assert result.text == "No."
    assert bool(model.requests) == (on != "input")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("on", ["input", "reply", "result"])
def test_it_passes_on_record_where_the_policy_says_so(tmp_path: Path, kind: str, on: str) -> None:
    late = rule("hangs", on, KINDS[kind] + ", on_timeout: pass")
    result, model = play([call("fetch"), "the answer"], "hi", policy(tmp_path, checks(late)), fetch)
    assert result.text == "the answer"
    assert "forbidden" in seen_by(model)
    assert ("amend", "own", True) in ruled(result)
    assert "passed unchecked by own" in str([r.body for r in result.records])


@pytest.mark.parametrize(("then", "said"), [("block", SAFE), ("pass", "the answer")])
def test_a_built_in_check_is_held_to_its_budget_too(tmp_path: Path, then: str, said: str) -> None:
    rules = policy(
        tmp_path, checks(f"secrets: {{on: [input], budget: 1ms, on_timeout: {then}}}") + LARGE
    )
    result, _ = play(["the answer"], "word " * 60_000, rules)
    assert result.text == said
    assert "ms of 1" in str([r.body for r in result.records if r.kind == "ruled"])


def test_a_megabyte_passes_the_built_in_checks(tmp_path: Path) -> None:
    rules = policy(
        tmp_path,
        checks(
            ", ".join(
                f"{n}: {{on: [input], budget: 30s}}" for n in ("injection", "secrets", "personal")
            )
        )
        + LARGE,
    )
    result, model = play(["the answer"], "order 17 " * 120_000, rules)
    assert (result.text, len(model.requests)) == ("the answer", 1)


def test_looks_that_never_end_are_not_piled_up(tmp_path: Path) -> None:
    rules = policy(tmp_path, checks(rule("hangs", "reply", "budget: 1ms, on_timeout: pass")))
    text = "word " * 8 * (MOST_AT_ONCE + 60)
    before = set(threading.enumerate())  # another test's look may still be ending
    pieces, whole, _ = streamed(text, rules, 40)
    assert (pieces, whole) == (text, text)
    left = [one for one in set(threading.enumerate()) - before if one.name == "check own"]
    assert 0 < len(left) <= MOST_AT_ONCE


# --- beside the stream ------------------------------------------------------------------------


def test_a_heavy_check_holds_up_nobody_else(tmp_path: Path) -> None:
    class Model(ScriptedModel):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            # what lets the check go on runs in the loop: it would never come if the loop waited
            asyncio.get_running_loop().call_later(0.01, GO.set)
            async for response in super().generate_content_async(llm_request, stream):
                yield response

    from google.adk.agents import LlmAgent

    from roundsman.testing import run_guarded

    rules = policy(tmp_path, checks(rule("hangs", "reply")))
    agent = LlmAgent(name="clerk", model=Model(["the answer"]))
    result = asyncio.run(run_guarded(agent, "hi", rules))
    assert (result.text, ruled(result)) == ("the answer", [])


class Slow(Streaming):
    """Waits after the forbidden word until a look has seen it, then goes on for so long that what it
    has to say is heard."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        for self.sent in range(20_000):
            if self.sent == 100:
                await asyncio.to_thread(LOOKED.wait, WAITS)
            if self.sent > 1_000:
                await asyncio.sleep(0.01)
            part = types.Part(text="forbidden " if self.sent == 0 else "a word ")
            yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
            await asyncio.sleep(0)
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="x")]))


def test_a_heavy_check_stops_a_stream_at_the_next_piece(tmp_path: Path) -> None:
    rules = policy(tmp_path, checks(rule("forbids", "reply")))
    _, whole, model = streamed("", rules, 1, Slow)
    assert whole == "No."
    assert model.sent < 19_000
    assert max(map(len, TEXTS)) < 2_000  # beside it, not at its end


@pytest.mark.parametrize("size", [3, 5_000])
def test_nothing_is_final_before_a_heavy_check_has_seen_the_whole(
    tmp_path: Path, size: int
) -> None:
    text = "a word " * 20 + "forbidden"
    pieces, whole, _ = streamed(text, policy(tmp_path, checks(rule("forbids", "reply"))), size)
    assert (pieces, whole) == ("", "No.")
    assert [text] == TEXTS
    off = policy(tmp_path, checks(rule("forbids", "reply", "heavy: true, mode: off")))
    assert streamed(text, off, size)[1] == text


def test_looks_at_a_growing_text_are_few(tmp_path: Path) -> None:
    text = "a word " * 3_000
    _, whole, _ = streamed(text, policy(tmp_path, checks(rule("forbids", "reply"))), 16)
    assert whole == text
    assert len(TEXTS) <= 8
    assert TEXTS[-1] == text


@pytest.mark.parametrize("then", ["block", "pass"])
def test_a_look_that_hangs_beside_a_stream(tmp_path: Path, then: str) -> None:
    rules = policy(
        tmp_path, checks(rule("hangs", "reply", f"heavy: true, {LATE}, on_timeout: {then}"))
    )
    _, whole, _ = streamed("a word " * 200, rules, 7)
    assert whole == ("No." if then == "block" else "a word " * 200)


def test_a_heavy_check_that_raises_blocks(tmp_path: Path) -> None:
    rules = policy(tmp_path, checks(rule("raises", "reply")))
    result, _ = play(["the answer"], "hi", rules)
    assert result.text == SAFE
    assert "no dictionary" in str([r.body for r in result.records])


def test_a_shadow_heavy_check_changes_nothing(tmp_path: Path) -> None:
    rules = policy(tmp_path, checks(rule("forbids", "reply", "heavy: true, mode: shadow")))
    result, _ = play(["forbidden"], "hi", rules)
    assert (result.text, ruled(result)) == ("forbidden", [("refuse", "own", False)])


# --- live -------------------------------------------------------------------------------------


def heavy(on: str, more: str = "heavy: true, budget: 60s") -> str:
    return live_checks(rule("forbids", on, more))


SESSIONS: dict[str, tuple[str, list[Any], list[Any], str]] = {
    "typed": ("input", [[text("fine", False), END]], ["forbidden", "hi"], "text"),
    "spoken": (
        "input",
        [[heard("it is forbidden"), aloud("well "), aloud("then"), END], [aloud("fine"), END]],
        [b"end", "hi"],
        "audio",
    ),
    "text": (
        "reply",
        [[text("it is "), text("forbidden"), text("it is forbidden", False), END],
         [text("fine", False), END]],
        ["what?", "hi"],
        "text",
    ),
    "text without its whole": (
        "reply",
        [[text("it is "), text("forbidden"), END], [text("fine", False), END]],
        ["what?", "hi"],
        "text",
    ),
    "aloud": (
        "reply",
        [[aloud("it is "), aloud("forbidden"), END], [aloud("fine"), END]],
        ["what?", "hi"],
        "audio",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SESSIONS)
def test_a_heavy_check_blocks_in_a_live_session(tmp_path: Path, name: str) -> None:
    on, turns, said, mode = SESSIONS[name]
    held = hold(tmp_path, StubLive(*turns), heavy(on), said, mode)
    assert "No." in held.shown
    assert "fine" in held.shown
    assert "forbidden" not in held.sent("history")
    assert ("refuse", "own") in held.ruled()
    if name.startswith("text"):
        assert "forbidden" not in held.shown
    (tmp_path / "off").mkdir()
    off = heavy(on, "heavy: true, mode: off")
    held = hold(tmp_path / "off", StubLive(*turns), off, said, mode)
    assert "No." not in held.shown


def test_a_call_waits_for_the_heavy_checks_of_what_was_said(tmp_path: Path) -> None:
    ran: list[str] = []

    def act(what: str) -> dict[str, Any]:
        """Do it."""
        ran.append(what)
        return {}

    model = StubLive([heard("it is forbidden"), calls("act", what="it"), END], [aloud("ok"), END])
    hold(tmp_path, model, heavy("input"), [b"end", "hi"], "audio", tools=(act,))
    assert ran == []


def test_results_are_looked_at_by_heavy_checks_before_they_are_sent(tmp_path: Path) -> None:
    model = StubLive([calls("fetch"), END], [text("done", False), END])
    held = hold(tmp_path, model, heavy("result"), ["go"], tools=(fetch,))
    assert "forbidden" not in held.sent("content")
    assert "withheld" in held.sent("content")
