"""A write that was cut off: its key stays the same, and its own check is asked before a person is."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types

from roundsman import guarded, load_policy
from roundsman.adk import ScriptedModel, call, resume, verified_by
from roundsman.errors import WaitsForPerson
from roundsman.ledger import Store, settle_unknown
from roundsman.testing import run_guarded


def script(request: Any, number: int) -> Any:
    asked_before = any(c.role == "model" for c in request.contents)
    return "paid" if asked_before else [call("pay", amount=5, idempotency_key="made up")]


class Shop:
    """A tool that dies in the middle, and what it did in a file."""

    def __init__(self, folder: Path, dies: str, check: Callable[..., Any] | None = None) -> None:
        self.folder, self.dies, self.check = folder, dies, check
        self.store = Store(folder / "runs.sqlite")

    @property
    def paid(self) -> list[str]:
        file = self.folder / "paid"
        return file.read_text().split() if file.exists() else []

    async def work(self, run_id: str = "") -> dict[str, Any]:
        def pay(amount: int, idempotency_key: str) -> dict[str, Any]:
            """Pay."""
            first = not (self.folder / "died").exists()
            if first:
                (self.folder / "died").write_text("")
            if first and self.dies == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            with (self.folder / "paid").open("a") as out:
                out.write(idempotency_key + "\n")
            if first and self.dies == "after":
                os.kill(os.getpid(), signal.SIGKILL)
            return {"status": "ok"}

        tool = pay if self.check is None else verified_by(self.check)(pay)
        agent = LlmAgent(name="till", model=ScriptedModel(script), tools=[tool])
        policy = load_policy("default").with_tools({"pay": {"effect": "write"}})
        app = guarded(App(name="shop", root_agent=agent), policy, store=self.store)
        runner = InMemoryRunner(app=app)
        session = await runner.session_service.create_session(app_name="shop", user_id="u")
        if run_id:
            resume(app, run_id, session.id)
        message = types.Content(role="user", parts=[types.Part(text="pay")])
        told = {}
        async for event in runner.run_async(
            user_id="u", session_id=session.id, new_message=message
        ):
            for response in event.get_function_responses():
                told = dict(response.response)
        return told

    def dies_once(self) -> str:
        """The run of a process that died."""
        self.store.close()
        child = os.fork()
        if child == 0:  # pragma: no cover - the child is killed
            self.store = Store(self.folder / "runs.sqlite")
            asyncio.run(self.work())
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
        self.store = Store(self.folder / "runs.sqlite")
        return self.store.ids()[0]


def test_a_key_is_the_runs_own_and_the_same_for_every_attempt(tmp_path: Path) -> None:
    shop = Shop(tmp_path, "after")
    run_id = shop.dies_once()
    with pytest.raises(WaitsForPerson, match=r'a1 pay\(\{"amount":5\}\)'):
        asyncio.run(shop.work(run_id))
    settle_unknown(shop.store, run_id, "a1", "again", by="eve")
    asyncio.run(shop.work(run_id))
    assert len(shop.paid) == 2  # the shop knows by the key that it is one payment
    assert len(set(shop.paid)) == 1
    assert shop.paid[0].startswith("roundsman-")


@pytest.mark.parametrize("dies", ["before", "after"])
@pytest.mark.parametrize("slow", [False, True])
def test_a_tools_own_check_settles_what_is_unknown(tmp_path: Path, dies: str, slow: bool) -> None:
    seen: list[Any] = []

    def was_paid(amount: int, idempotency_key: str) -> bool:
        seen.append((amount, idempotency_key))
        return idempotency_key in shop.paid

    async def was_paid_slowly(amount: int, idempotency_key: str) -> bool:
        await asyncio.sleep(0)
        return was_paid(amount, idempotency_key)

    shop = Shop(tmp_path, dies, was_paid_slowly if slow else was_paid)
    run_id = shop.dies_once()
    told = asyncio.run(shop.work(run_id))
    assert told["status"] == "ok"
    assert shop.paid == [seen[0][1]]  # once, whenever it died
    said = [r.body for r in shop.store.records(run_id) if r.kind == "action_settled"]
    decision = "done" if dies == "after" else "again"
    assert [(s["decision"], s["by"]) for s in said] == [(decision, "pay.verify")]
    assert shop.store.info(run_id).status == "done"


@pytest.mark.parametrize("answer", [None, "yes", 1 / 3, OSError("gone")])
def test_a_check_that_cannot_say_leaves_it_to_a_person(tmp_path: Path, answer: Any) -> None:
    def check(amount: int) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    shop = Shop(tmp_path, "after", check)
    run_id = shop.dies_once()
    with pytest.raises(WaitsForPerson):
        asyncio.run(shop.work(run_id))
    assert json.dumps(shop.paid)
    assert len(shop.paid) == 1


@pytest.mark.parametrize("effect", ["write", "read"])
async def test_a_policy_may_name_the_parameter_and_a_read_gets_no_key(
    tmp_path: Path, effect: str
) -> None:
    seen: list[Any] = []

    def move(to: str, token: str = "none") -> dict[str, Any]:
        """Move."""
        seen.append((to, token))
        return {"status": "ok"}

    def twice(request: Any, number: int) -> Any:
        asked = [call("move", to="a"), call("move", to="b", token="made up")]
        return "moved" if any(c.role == "model" for c in request.contents) else asked

    policy = load_policy("default").with_tools({"move": {"effect": effect, "idempotency": "token"}})
    agent = LlmAgent(name="mover", model=ScriptedModel(twice), tools=[move])
    result = await run_guarded(agent, "go", policy)
    keys = [token for _, token in sorted(seen)]
    if effect == "read":
        assert keys == ["none", "made up"]
        return
    assert len(set(keys)) == 2  # two calls, two keys, neither the model's
    assert all(key.startswith("roundsman-") for key in keys)
    begun = [r.body for r in result.records if r.kind == "action_begins"]
    assert [b["idempotency"]["token"] for b in begun] == [key for _, key in sorted(seen)]
    assert all("token" not in b["args"] for b in begun)
