"""The engine asks a person by itself: on record, and answered in its session or at the terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import Context, LlmAgent
from google.adk.apps import App
from google.adk.events import RequestInput
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import START, Workflow, node
from google.genai import types

from roundsman import guarded, load_policy
from roundsman.adk import ScriptedModel, call, resume
from roundsman.errors import UsageError, WaitsForPerson
from roundsman.ledger import Store, stop_run
from roundsman.ledger.answering import answer
from roundsman.ledger.asking import asked_in


def script(request: Any, number: int) -> Any:
    asked_before = any(c.role == "model" for c in request.contents)
    return "done" if asked_before else [call("wipe", what="b")]


class Desk:
    """An app whose one tool the engine asks about, as each process would make it."""

    def __init__(self, folder: Path) -> None:
        self.store, self.ran = Store(folder / "runs.sqlite"), list[str]()
        self.start()

    def start(self) -> None:
        """A process begins."""

        async def wipe(what: str) -> dict[str, Any]:
            """Wipe."""
            self.ran.append(what)
            return {"status": "ok"}

        tool = FunctionTool(wipe, require_confirmation=True)
        agent = LlmAgent(name="desk", model=ScriptedModel(script), tools=[tool])
        policy = load_policy("default").with_tools({"wipe": {"effect": "write"}})
        self.app = guarded(App(name="desk", root_agent=agent), policy, store=self.store)
        self.runner = InMemoryRunner(app=self.app)
        self.session = ""

    async def say(self, part: types.Part, run_id: str = "") -> list[Any]:
        if not self.session:
            service = self.runner.session_service
            made = await service.create_session(app_name="desk", user_id="u")
            self.session = made.id
        if run_id:
            resume(self.app, run_id, self.session)
        content = types.Content(role="user", parts=[part])
        stream = self.runner.run_async(user_id="u", session_id=self.session, new_message=content)
        return [event async for event in stream]

    async def go(self, run_id: str = "") -> list[Any]:
        return await self.say(types.Part(text="go"), run_id)

    async def confirm(self, events: list[Any], yes: bool) -> list[Any]:
        calls = [c for e in events for c in e.get_function_calls()]
        asked = next(c for c in calls if c.name == "adk_request_confirmation")
        reply = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": yes})
        return await self.say(types.Part(function_response=reply))

    @property
    def run_id(self) -> str:
        return self.store.ids()[0]

    @property
    def status(self) -> str:
        return self.store.info(self.run_id).status

    def questions(self) -> dict[str, Any]:
        return asked_in(self.store.records(self.run_id))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("yes", [True, False])
async def test_a_confirmation_in_the_session_is_on_record(desk: Desk, yes: bool) -> None:
    events = await desk.go()
    assert desk.status == "waiting"
    asked, answered = desk.questions()["q1"]
    assert (asked.tool, dict(asked.args), answered) == ("wipe", {"what": "b"}, None)
    await desk.confirm(events, yes)
    assert desk.status == "done"
    assert desk.ran == (["b"] if yes else [])
    _, answered = desk.questions()["q1"]
    assert (answered.decision, answered.by) == ("approve" if yes else "deny", "its session")
    desk.store.verify(desk.run_id)


@pytest.mark.parametrize("decision", ["approve", "deny"])
async def test_it_may_be_answered_at_the_terminal_and_go_on_elsewhere(
    desk: Desk, decision: str
) -> None:
    await desk.go()
    answer(desk.store, desk.run_id, None, decision, by="eve", note="not now")
    desk.start()
    events = await desk.go(desk.run_id)
    assert desk.status == "done"
    assert desk.ran == (["b"] if decision == "approve" else [])
    told = [r.response for e in events for r in e.get_function_responses()]
    assert [t["status"] for t in told] == ["ok" if decision == "approve" else "blocked"]
    assert list(desk.questions()) == ["q1"]  # the engine asks no second time


async def test_without_an_answer_nothing_goes_on_elsewhere(desk: Desk) -> None:
    await desk.go()
    desk.start()
    with pytest.raises(WaitsForPerson, match="the engine asks for a confirmation of wipe"):
        await desk.go(desk.run_id)


async def test_of_two_who_answer_the_first_counts(desk: Desk) -> None:
    events = await desk.go()
    answer(desk.store, desk.run_id, "q1", "deny", by="eve")
    await desk.confirm(events, yes=True)
    assert desk.ran == []
    assert desk.status == "done"
    with pytest.raises(UsageError, match=r"is over \(done\)"):
        answer(desk.store, desk.run_id, "q1", "approve", by="adam")


async def test_an_answer_to_a_run_that_was_stopped_meanwhile_runs_nothing(desk: Desk) -> None:
    events = await desk.go()
    assert stop_run(desk.store, desk.run_id, "eve") == "stopped"
    with pytest.raises(RuntimeError, match=f"run {desk.run_id} is over"):
        await desk.confirm(events, yes=True)
    assert desk.ran == []
    assert desk.status == "stopped"


async def test_a_request_for_input_is_shown_and_answered_in_its_session(tmp_path: Path) -> None:
    @node(rerun_on_resume=True)
    async def ask(ctx: Context, node_input: Any) -> AsyncIterator[Any]:
        given = ctx.resume_inputs.get("which")
        if given is None:
            yield RequestInput(interrupt_id="which", message="which cluster?")
            return
        yield "thanks"

    store = Store(tmp_path / "runs.sqlite")
    flow = Workflow(name="flow", edges=[(START, ask)])
    policy = load_policy("default").with_tools({"ask": {"effect": "read"}})
    app = guarded(App(name="desk", root_agent=flow), policy, store=store)
    runner = InMemoryRunner(app=app)
    session = await runner.session_service.create_session(app_name="desk", user_id="u")

    async def say(part: types.Part) -> list[Any]:
        content = types.Content(role="user", parts=[part])
        stream = runner.run_async(user_id="u", session_id=session.id, new_message=content)
        return [event async for event in stream]

    events = await say(types.Part(text="go"))
    run_id = store.ids()[0]
    asked, answered = asked_in(store.records(run_id))["q1"]
    assert (asked.about, asked.reason, answered) == ("input", "which cluster?", None)
    assert store.info(run_id).status == "waiting"
    with pytest.raises(UsageError, match="no question to approve"):
        answer(store, run_id, None, "approve", by="eve")
    wanted = next(c for e in events for c in e.get_function_calls())
    reply = types.FunctionResponse(id=wanted.id, name=wanted.name, response={"result": "b"})
    await say(types.Part(function_response=reply))
    _, answered = asked_in(store.records(run_id))["q1"]
    assert answered is not None
    assert store.info(run_id).status == "done"


@pytest.mark.parametrize("yes", [True, False])
async def test_an_answer_to_a_run_of_another_process_begins_no_new_one(
    desk: Desk, yes: bool
) -> None:
    events = await desk.go()
    service, session = desk.runner.session_service, desk.session
    desk.start()
    desk.runner.session_service, desk.session = service, session  # a database both processes see
    last = (await desk.confirm(events, yes))[-1]
    assert f"roundsman approve {desk.run_id} q1" in last.content.parts[0].text
    assert desk.store.ids() == [desk.run_id]
    assert (desk.status, desk.ran) == ("waiting", [])
    answer(desk.store, desk.run_id, None, "approve" if yes else "deny", by="eve")
    assert desk.status == "answered"
    last = (await desk.confirm(events, yes))[-1]  # late, and still no new run
    assert f"answered by eve ({'approve' if yes else 'deny'})" in last.content.parts[0].text
    assert desk.store.ids() == [desk.run_id]
    desk.session = ""
    await desk.go(desk.run_id)
    assert (desk.status, desk.ran) == ("done", ["b"] if yes else [])
