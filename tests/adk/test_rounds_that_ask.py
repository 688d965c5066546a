"""Rounds in which a person is asked, over several turns of one session, in one process and across
processes: each write once, each round once, each turn a run with an account of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import START, JoinNode, Workflow
from google.genai import types

from roundsman import guarded, load_policy, loop_until_done
from roundsman.adk import ScriptedModel, call, current_action_id, resume
from roundsman.ledger import Store, fold
from roundsman.ledger.answering import answer
from roundsman.ledger.asking import asked_in

WRITES = {"engine": {"effect": "write"}, "ours": {"effect": "write", "approve": "always"}}


class Desk:
    """A graph of two loops. In each the agent looks, then wipes (a person is asked), then is done;
    `start` is a new process that sees the same journal and the same sessions."""

    def __init__(self, folder: Path, who: str, beside: bool = False) -> None:
        self.store, self.who, self.beside = Store(folder / "runs.sqlite"), who, beside
        self.ran, self.asked = list[str](), list[str]()
        self.sessions = InMemorySessionService()
        self.session = ""
        self.start()

    def _loop(self, name: str, policy: Any) -> Any:
        async def look(what: str) -> dict[str, Any]:
            """Look."""
            self.ran.append(f"look {what}")
            return {"status": "ok", "saw": f"{what} is red", "evidence_id": current_action_id()}

        async def wipe(what: str) -> dict[str, Any]:
            """Wipe."""
            self.ran.append(f"wipe {what}")
            return {"status": "ok", "wiped": what}

        def script(request: Any, number: int) -> Any:
            text = " ".join(p.text or "" for p in request.contents[0].parts)
            index = int(text.split("Round: ")[1].split()[0])
            step = 1 + sum(1 for c in request.contents if c.role == "model")
            self.asked.append(f"{name} {index}.{step}")
            what = f"{name}{index}"
            if step == 1 and index <= 2:
                look = call("look", what=what)
                return look if index == 1 else [look, call("wipe", what=what)]
            shown = [p.function_response for c in request.contents for p in c.parts]
            cited = [r.response["evidence_id"] for r in shown if r and r.name == "look"]
            found = {"statement": f"{what} is red", "evidence": cited}
            return json.dumps({"findings": [found] * (index <= 2), "done": index == 3})

        tools = [look, FunctionTool(wipe, require_confirmation=self.who == "engine")]
        agent = LlmAgent(name=name, model=ScriptedModel(script), tools=tools, mode="single_turn")
        return loop_until_done(agent, policy, name=f"loop_{name}")

    def start(self) -> None:
        """A process begins."""
        tools = {"look": {"effect": "read"}, "wipe": WRITES[self.who]}
        made = load_policy("default").with_tools(tools)
        first, second = self._loop("a", made), self._loop("b", made)
        both = JoinNode(name="both")
        edges: list[Any] = [(START, first), (first, second)]
        if self.beside:
            edges = [(START, first), (START, second), (first, both), (second, both)]
        graph = Workflow(name="graph", edges=edges)
        self.app = guarded(App(name="desk", root_agent=graph), made, store=self.store)
        self.runner = Runner(app=self.app, session_service=self.sessions)

    async def say(self, part: types.Part) -> list[Any]:
        if not self.session:
            session = await self.sessions.create_session(app_name="desk", user_id="u")
            self.session = session.id
        content = types.Content(role="user", parts=[part])
        stream = self.runner.run_async(user_id="u", session_id=self.session, new_message=content)
        return [event async for event in stream]

    async def go(self, run_id: str = "") -> list[Any]:
        if run_id:
            resume(self.app, run_id, self.session)
        return await self.say(types.Part(text="go"))

    async def confirm(self, events: list[Any], yes: bool, number: int = 0) -> list[Any]:
        calls = [c for e in events for c in e.get_function_calls()]
        asked = [c for c in calls if c.name == "adk_request_confirmation"][number]
        reply = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": yes})
        return await self.say(types.Part(function_response=reply))

    def check(self, run_id: str, yes: bool) -> None:
        """The run is over as one nobody was asked in would be."""
        assert self.store.info(run_id).status == "done"
        records = self.store.records(run_id)
        self.store.verify(run_id)
        for kind in ("round_begins", "round_ends"):
            rounds = [
                (r.body["loop"].rsplit("/", 1)[-1].split("@")[0], r.body["index"])
                for r in records
                if r.kind == kind
            ]
            assert rounds == [(f"loop_{n}", i) for n in "ab" for i in (1, 2, 3)], kind
        each = [["look", "1"], ["look", "2"], *[["wipe", "2"]] * yes]
        assert self.ran == [f"{tool} {n}{index}" for n in "ab" for tool, index in each]
        ends = [r.body for r in records if r.kind == "round_ends"]
        assert [(e["new"], e["held"]) for e in ends] == [(1, 1), (1, 2), (0, 2)] * 2  # grounded
        wanted = [f"{n} {step}" for n in "ab" for step in ("1.1", "1.2", "2.1", "2.2", "3.1")]
        assert self.asked == wanted
        account = fold(records)
        assert (account.steps, account.rounds) == (10, 6)
        assert account.actions == 4 + 2 * yes
        questions = asked_in(records)
        assert list(questions) == ["q1", "q2"]
        assert {a.decision for _, a in questions.values() if a} == {"approve" if yes else "deny"}
        self.ran.clear()
        self.asked.clear()


@pytest.mark.parametrize("yes", [True, False])
async def test_confirmations_in_rounds_over_turns_of_one_session(tmp_path: Path, yes: bool) -> None:
    desk = Desk(tmp_path, "engine")
    for _ in range(3):
        events = await desk.go()
        run_id = desk.store.ids()[0]
        assert desk.store.info(run_id).status == "waiting"
        events = await desk.confirm(events, yes)
        assert desk.store.info(run_id).status == "waiting"
        await desk.confirm(events, yes)
        assert desk.store.ids()[0] == run_id
        desk.check(run_id, yes)
    assert len(desk.store.ids()) == 3


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("who", ["engine", "ours"])
@pytest.mark.parametrize("yes", [True, False])
async def test_answers_at_the_terminal_over_turns_and_processes(
    tmp_path: Path, who: str, yes: bool, anew: bool
) -> None:
    desk = Desk(tmp_path, who)
    for _ in range(3):
        await desk.go()
        run_id = desk.store.ids()[0]
        for _ in range(2):
            assert desk.store.info(run_id).status == "waiting"
            answer(desk.store, run_id, None, "approve" if yes else "deny", by="eve")
            if anew:
                desk.start()
            await desk.go(run_id)
        assert desk.store.ids()[0] == run_id
        desk.check(run_id, yes)
    assert len(desk.store.ids()) == 3


@pytest.mark.parametrize("yes", [True, False])
async def test_one_answer_at_the_terminal_and_the_next_in_the_session(
    tmp_path: Path, yes: bool
) -> None:
    desk = Desk(tmp_path, "engine")
    for _ in range(2):
        await desk.go()
        run_id = desk.store.ids()[0]
        answer(desk.store, run_id, None, "approve" if yes else "deny", by="eve")
        desk.start()
        events = await desk.go(
            run_id
        )  # given back what is on record, then asked in the second loop
        assert desk.store.info(run_id).status == "waiting"
        await desk.confirm(events, yes)
        desk.check(run_id, yes)
    assert len(desk.store.ids()) == 2


async def test_loops_side_by_side_that_both_ask_are_answered_one_after_the_other(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path, "engine", beside=True)
    for _ in range(2):
        events = await desk.go()
        run_id = desk.store.ids()[0]
        for number, status in enumerate(("waiting", "done")):
            await desk.confirm(events, True, number)
            assert desk.store.info(run_id).status == status
        assert sorted(desk.ran) == [
            "look a1",
            "look a2",
            "look b1",
            "look b2",
            "wipe a2",
            "wipe b2",
        ]
        records = desk.store.records(run_id)
        rounds = [
            (r.body["loop"][-3:], r.body["index"]) for r in records if r.kind == "round_begins"
        ]
        assert sorted(rounds) == [(f"{n}@1", i) for n in "ab" for i in (1, 2, 3)]
        assert fold(records).steps == len(desk.asked) == 10
        desk.ran.clear()
        desk.asked.clear()
