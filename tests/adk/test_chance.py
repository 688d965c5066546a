"""Clock and dice of code that steers agents: on record, and others refused."""

from __future__ import annotations

import asyncio
import datetime
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.adk.workflow import START, Workflow, node
from google.genai import types

from roundsman import guarded, load_policy
from roundsman.adk import ScriptedModel, draw, now, resume
from roundsman.adk.chance import calls_of_chance
from roundsman.errors import RefusedToStart, UsageError
from roundsman.ledger import fold, open_store

SELF = Path(__file__).name


async def by_time(ctx: Any, node_input: Any) -> Any:
    return await ctx.run_node("a" if time.time() > 5 else "b")


async def by_what_it_was(ctx: Any, node_input: Any) -> Any:
    before = time.time()
    return await ctx.run_node("a" if before > 5 else before)


async def by_date(ctx: Any, node_input: Any) -> Any:
    return await ctx.run_node(str(datetime.datetime.now()))


async def by_dice(ctx: Any, node_input: Any) -> Any:
    return await ctx.run_node(random.choice(["a", "b"]))


async def by_imported_dice(ctx: Any, node_input: Any) -> Any:
    from random import randint

    return await ctx.run_node(randint(1, 2))


async def by_an_inner_clock(ctx: Any, node_input: Any) -> Any:
    def late() -> bool:
        return time.monotonic() > 5

    return await ctx.run_node(late())


async def steady(ctx: Any, node_input: Any) -> Any:
    fixed = datetime.datetime(2026, 11, 30).isoformat()
    return await ctx.run_node(f"{fixed} {now()} {draw()} {time.strftime('%Y', (2026,) * 9)}")


async def no_orchestrator(node_input: Any) -> Any:
    return time.time()


@pytest.mark.parametrize(
    ("function", "call", "better"),
    [
        (by_time, "time.time", "now()"),
        (by_what_it_was, "time.time", "now()"),
        (by_date, "datetime.datetime.now", "now()"),
        (by_dice, "random.choice", "draw()"),
        (by_imported_dice, "random.randint", "draw()"),
        (by_an_inner_clock, "time.monotonic", "now()"),
    ],
)
def test_a_clock_of_its_own_is_found_with_the_right_call(
    function: Callable[..., Any], call: str, better: str
) -> None:
    found = calls_of_chance(function)
    assert {(Path(file).name, what) for file, _, what, _ in found} == {(SELF, call)}
    assert len(found) == 1
    assert all(line > function.__code__.co_firstlineno for _, line, _, _ in found)
    assert all(instead.endswith(better) for *_, instead in found)


@pytest.mark.parametrize("function", [steady, no_orchestrator])
def test_what_steers_nothing_by_chance_is_left_alone(function: Callable[..., Any]) -> None:
    assert calls_of_chance(function) == []


def _app(steer: Callable[..., Any]) -> App:
    flow = Workflow(name="flow", edges=[(START, node(steer, name="steer", rerun_on_resume=True))])
    return App(name="steered", root_agent=flow)


def test_an_app_steered_by_chance_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(RefusedToStart, match=rf"steer: .*{SELF}:\d+ calls time\.time; call .*now"):
        guarded(_app(by_time), "default", home=tmp_path)
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\nextends: default\nexceptions: [{path: steer, why: the time is only logged}]\n"
    )
    guarded(_app(by_time), load_policy(policy), home=tmp_path)


def test_outside_of_a_run_it_is_told() -> None:
    with pytest.raises(UsageError, match=r"roundsman\.adk\.now\(\) was called outside"):
        now()


def test_a_resumed_run_is_told_the_same_time_and_number(tmp_path: Path) -> None:
    log = tmp_path / "seen.txt"

    async def steer(ctx: Any, node_input: Any) -> Any:
        with log.open("a") as out:
            out.write(f"{now()!r} {draw()!r} {draw('other')!r}\n")
        if len(log.read_text().splitlines()) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        worker = LlmAgent(name="worker", model=ScriptedModel(["done"]))
        answer = await ctx.run_node(worker, node_input="go", run_id="r-1")
        return f"{answer} {draw()}"

    async def once(run_id: str = "") -> None:
        app = guarded(_app(steer), "default", home=tmp_path)
        runner = InMemoryRunner(app=app)
        session = await runner.session_service.create_session(app_name=app.name, user_id="u")
        if run_id:
            resume(app, run_id, session.id)
        message = types.Content(role="user", parts=[types.Part(text="go")])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            pass

    child = os.fork()
    if child == 0:  # pragma: no cover - it is killed
        try:
            asyncio.run(once())
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    store = open_store(tmp_path)
    (info,) = store.runs()
    asyncio.run(once(info.run_id))
    first, second = log.read_text().splitlines()
    assert first == second
    assert first.split()[1] != first.split()[2]
    records = store.records(info.run_id)
    assert [r.kind for r in records].count("chance") == 4  # three, and one after the worker
    assert fold(records).ended
    store.close()
