"""A person is asked: the run waits, in no process; what is answered holds for exactly that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import InMemoryRunner
from google.adk.tools._node_tool import NodeTool
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.exit_loop_tool import exit_loop
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import START, Workflow
from google.genai import types

from roundsman import guarded, load_policy, loop_until_done
from roundsman.adk import ScriptedModel, call, resume
from roundsman.adk.model import guard_model
from roundsman.adk.waiting import WAIT_CODE
from roundsman.errors import UsageError, WaitsForPerson
from roundsman.ledger import Store, fold
from roundsman.ledger.answering import answer
from roundsman.policy import Policy
from roundsman.policy.model import Repetition


class Lab:
    """Tools that count, a journal, and an app made anew for each process there would be."""

    def __init__(self, folder: Path, policy: Policy, agent: Callable[[Lab], Any]) -> None:
        self.store = Store(folder / "runs.sqlite")
        self.policy, self.agent, self.ran = policy, agent, list[str]()

    def tool(self, name: str) -> Callable[..., Any]:
        async def run(what: str) -> dict[str, Any]:
            self.ran.append(f"{name} {what}")
            return {"status": "ok", "did": what}

        run.__name__, run.__doc__ = name, name
        return run

    async def run(self, run_id: str = "") -> list[Any]:
        app = guarded(App(name="lab", root_agent=self.agent(self)), self.policy, store=self.store)
        runner = InMemoryRunner(app=app)
        session = await runner.session_service.create_session(app_name="lab", user_id="u")
        if run_id:
            resume(app, run_id, session.id)
        message = types.Content(role="user", parts=[types.Part(text="go")])
        return [
            e
            async for e in runner.run_async(user_id="u", session_id=session.id, new_message=message)
        ]

    @property
    def run_id(self) -> str:
        return self.store.ids()[0]

    @property
    def status(self) -> str:
        return self.store.info(self.run_id).status

    @property
    def account(self) -> Any:
        return fold(self.store.records(self.run_id))

    def says(self, decision: str, question: str | None = None, **more: Any) -> Any:
        return answer(self.store, self.run_id, question, decision, by="eve", **more)


def policy(**run: Any) -> Policy:
    tools = {
        "look": {"effect": "read"},
        "wipe": {"effect": "write", "approve": "always"},
        "paint": {"effect": "write"},
    }
    made = load_policy("default").with_tools(tools)
    return made.model_copy(update={"run": made.run.model_copy(update={"on_limit": "ask", **run})})


def by_turn(*replies: Any) -> Any:
    """What a model says depends on what was said, not on how often this process asked."""

    def script(request: Any, number: int) -> Any:
        return replies[sum(1 for c in request.contents if c.role == "model")]

    return script


def painter(replies: Sequence[Any]) -> Callable[[Lab], Any]:
    def make(lab: Lab) -> Any:
        tools = [lab.tool(name) for name in ("look", "wipe", "paint")]
        return LlmAgent(name="painter", model=ScriptedModel(by_turn(*replies)), tools=tools)

    return make


BATCH = [
    call("look", what="a"),
    call("wipe", what="b"),
    call("paint", what="c"),
    call("look", what="d"),
]


async def test_a_call_that_needs_approval_waits_and_no_later_write_overtakes(
    tmp_path: Path,
) -> None:
    lab = Lab(tmp_path, policy(), painter([BATCH, "done"]))
    last = (await lab.run())[-1]
    assert last.error_code == WAIT_CODE
    assert f"roundsman approve {lab.run_id} q1" in last.error_message
    assert sorted(lab.ran) == ["look a", "look d"]
    assert lab.status == "waiting"
    with pytest.raises(WaitsForPerson, match="q1: wipe needs a person's approval"):
        await lab.run(lab.run_id)
    lab.says("approve")
    await lab.run(lab.run_id)
    assert lab.ran[2:] == ["wipe b", "paint c"]  # in the model's order, and no read again
    assert lab.status == "done"
    assert lab.account.steps == 2


async def test_what_is_denied_does_not_run_and_the_model_reads_why(tmp_path: Path) -> None:
    again = [call("wipe", what="b")]
    lab = Lab(tmp_path, policy(), painter([BATCH, again, "done"]))
    await lab.run()
    lab.says("deny", note="not on a Friday")
    events = await lab.run(lab.run_id)
    told = [r.response for e in events for r in e.get_function_responses() if r.name == "wipe"]
    assert ["not on a Friday" in t["reason"] for t in told] == [True, True]  # nobody is asked twice
    assert "wipe b" not in lab.ran
    assert lab.ran[-1] == "paint c"
    assert lab.status == "done"


async def test_an_approval_serves_once(tmp_path: Path) -> None:
    once = [call("wipe", what="b")]
    busy = policy().model_copy(update={"repetition": Repetition()})
    lab = Lab(tmp_path, busy, painter([once, once, "done"]))
    await lab.run()
    lab.says("approve", "q1")
    await lab.run(lab.run_id)
    assert lab.ran == ["wipe b"]
    assert lab.status == "waiting"
    with pytest.raises(UsageError, match=r"q1 was answered by eve at .*: approve; nothing"):
        lab.says("approve", "q1")
    lab.says("approve", "q2")
    await lab.run(lab.run_id)
    assert lab.ran == ["wipe b", "wipe b"]
    with pytest.raises(UsageError, match=r"is over \(done\)"):
        lab.says("approve", "q2")


async def test_what_a_person_said_yes_to_is_not_withheld_as_a_repetition(tmp_path: Path) -> None:
    def both_at_once(lab: Lab) -> Any:
        async def wipe(what: str) -> dict[str, Any]:
            """Wipe."""
            await asyncio.sleep(0)  # the second call is judged before this one is over
            lab.ran.append(f"wipe {what}")
            return {"status": "ok"}

        twice = [call("wipe", what="b"), call("wipe", what="b")]
        model = ScriptedModel(by_turn(twice, "done"))
        return LlmAgent(name="painter", model=model, tools=[wipe])

    lab = Lab(tmp_path, policy(), both_at_once)
    await lab.run()
    for question in ("q1", "q2"):
        assert lab.status == "waiting"
        lab.says("approve", question)
        await lab.run(lab.run_id)
    assert lab.ran == ["wipe b", "wipe b"]
    assert lab.status == "done"


async def test_nobody_is_asked_about_a_tool_the_agent_does_not_have(tmp_path: Path) -> None:
    def without(lab: Lab) -> Any:
        model = ScriptedModel(by_turn([call("wipe", what="b")], "done"))
        return LlmAgent(name="painter", model=model, tools=[lab.tool("look")])

    lab = Lab(tmp_path, policy(), without)
    events = await lab.run()
    (told,) = [r.response for e in events for r in e.get_function_responses()]
    assert told["reason"] == "painter has no tool 'wipe'"
    assert lab.status == "done"


async def test_an_approval_is_for_these_arguments(tmp_path: Path) -> None:
    lab = Lab(tmp_path, policy(), painter([[call("wipe", what="b")], "done"]))
    await lab.run()
    lab.says("approve")
    lab.agent = painter([[call("wipe", what="all")], "done"])  # recorded replies are given back
    await lab.run(lab.run_id)
    assert lab.ran == ["wipe b"]


@pytest.mark.parametrize("late", ["question", "approval"])
async def test_what_has_expired_is_asked_anew(tmp_path: Path, late: str) -> None:
    lab = Lab(tmp_path, policy(), painter([[call("wipe", what="b")], "done"]))
    await lab.run()
    asked = lab.account.asks.open["q1"]
    assert asked.expires == pytest.approx(asked.at + 86_400)
    if late == "approval":
        lab.says("approve", now=asked.at - 90_000)
    else:
        with pytest.raises(UsageError, match=r"q1 of run .* expired at .*; to be asked anew"):
            lab.says("approve", now=asked.expires)
        lab.store.db.execute("update records set at=at-90000")
        _age(lab, 90_000)
    await lab.run(lab.run_id)
    assert lab.ran == []
    assert list(lab.account.asks.open) == ["q2"]


def _age(lab: Lab, seconds: float) -> None:
    """Make a journal older, chain and all."""
    from roundsman.guard.prints import as_json
    from roundsman.ledger.records import chain

    before = ""
    for record in lab.store.records(lab.run_id):
        body = {k: v - seconds if k == "expires" and v else v for k, v in record.body.items()}
        text = as_json(body)
        before = chain(before, record.kind, record.at, text)
        lab.store.db.execute(
            "update records set body=?, hash=? where seq=?", (text, before, record.seq)
        )


@pytest.mark.parametrize(
    ("limit", "grant"),
    [
        ({"steps": 1}, {"steps": 5}),
        ({"tokens": 40}, {"tokens": 5_000}),
        ({"actions": 1}, {"actions": 5}),
    ],
)
async def test_at_a_limit_more_can_be_granted(
    tmp_path: Path, limit: dict[str, Any], grant: dict[str, float]
) -> None:
    look = [call("look", what="a")]
    replies = [look, [call("look", what="b")], "done"]
    lab = Lab(tmp_path, policy(accounting="settle", **limit), painter(replies))
    await lab.run()
    assert lab.status == "waiting"
    before = lab.account
    with pytest.raises(UsageError, match="is about "):
        lab.says("grant", granted={"usd": 1.0})
    lab.says("grant", granted=grant)
    await lab.run(lab.run_id)
    assert lab.status == "done"
    assert lab.ran == ["look a", "look b"]
    assert lab.account.steps == 3
    assert lab.account.tokens > before.tokens  # counters went on


async def test_finish_ends_it_as_the_limit_would_have(tmp_path: Path) -> None:
    lab = Lab(tmp_path, policy(steps=1), painter([[call("look", what="a")], "done"]))
    await lab.run()
    lab.says("finish")
    await lab.run(lab.run_id)
    assert lab.status == "stopped"
    assert lab.account.stopped.reason == "steps"


class Slow(ScriptedModel):
    """Answers when it is let."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        await asyncio.sleep(0.05)
        async for reply in super().generate_content_async(llm_request, stream):
            yield reply


async def test_what_is_under_way_beside_a_question_comes_to_its_end(tmp_path: Path) -> None:
    def make(lab: Lab) -> Any:
        first = LlmAgent(
            name="first",
            model=ScriptedModel(by_turn([call("wipe", what="b")], "done")),
            tools=[lab.tool("wipe")],
        )
        second = LlmAgent(name="second", model=Slow(["slow"]))
        third = LlmAgent(name="third", model=ScriptedModel(["after"]))
        both = ParallelAgent(name="both", sub_agents=[first, second])
        return SequentialAgent(name="all", sub_agents=[both, third])

    lab = Lab(tmp_path, policy(), make)
    await lab.run()
    ended = [r.body["agent"] for r in lab.store.records(lab.run_id) if r.kind == "step_ends"]
    assert sorted(ended) == ["first", "second"]
    lab.says("approve")
    await lab.run(lab.run_id)
    ended = [r.body["agent"] for r in lab.store.records(lab.run_id) if r.kind == "step_ends"]
    assert sorted(ended) == ["first", "first", "second", "third"]  # nothing was asked again
    assert lab.status == "done"


async def test_a_question_inside_of_an_agent_used_as_a_tool(tmp_path: Path) -> None:
    def make(lab: Lab) -> Any:
        inner = LlmAgent(
            name="inner",
            model=ScriptedModel(by_turn([call("wipe", what="b")], "wiped")),
            tools=[lab.tool("wipe")],
        )
        replies = by_turn([call("inner", request="wipe b")], "done")
        return LlmAgent(name="outer", model=ScriptedModel(replies), tools=[AgentTool(inner)])

    tools = {"wipe": {"effect": "write", "approve": "always"}, "inner": {"effect": "read"}}
    lab = Lab(tmp_path, load_policy("default").with_tools(tools), make)
    await lab.run()
    assert lab.status == "waiting"
    lab.says("approve")
    events = await lab.run(lab.run_id)
    told = [r.response for e in events for r in e.get_function_responses() if r.name == "inner"]
    assert told == [{"result": "wiped"}]
    assert lab.ran == ["wipe b"]
    assert lab.status == "done"


@pytest.mark.parametrize("second", ["is it up", "is it up now"])
@pytest.mark.parametrize("kind", ["tool", "single_turn"])
@pytest.mark.parametrize("effect", ["read", "write"])
async def test_an_agent_asked_again_after_a_question_does_its_work_anew(
    tmp_path: Path, kind: str, second: str, effect: str
) -> None:
    """What it did for the call before the question belongs to that call, asked the same or not."""

    def make(lab: Lab) -> Any:
        inner = LlmAgent(
            name="inner",
            description="looks",
            model=ScriptedModel(by_turn([call("look", what="web")], "looked")),
            tools=[lab.tool("look")],
        )
        replies = by_turn(
            [call("inner", request="is it up")],
            [call("wipe", what="a")],
            [call("inner", request=second)],
            "done",
        )
        below: dict[str, Any] = {"tools": [lab.tool("wipe"), AgentTool(inner)]}
        if kind == "single_turn":
            inner.mode = "single_turn"
            below = {"tools": [lab.tool("wipe")], "sub_agents": [inner]}
        return LlmAgent(name="outer", model=ScriptedModel(replies), **below)

    tools = {
        "wipe": {"effect": "write", "approve": "always"},
        "look": {"effect": effect},
        "inner": {"effect": "read"},
    }
    lab = Lab(tmp_path, policy().with_tools(tools), make)
    await lab.run()
    assert lab.ran == ["look web"]
    lab.says("approve")
    await lab.run(lab.run_id)
    assert lab.ran == ["look web", "wipe a", "look web"]
    assert lab.status == "done"


async def test_nothing_after_a_waiting_loop_runs_in_its_graph(tmp_path: Path) -> None:
    reported: list[Any] = []

    def report(node_input: Any) -> str:
        reported.append(node_input)
        return "reported"

    def make(lab: Lab) -> Any:
        answer = '{"findings": ["it is red"], "done": true}'
        agent = LlmAgent(
            name="seeker",
            model=ScriptedModel(by_turn([call("look", what="a")], answer)),
            tools=[lab.tool("look")],
        )
        loop = loop_until_done(agent, lab.policy)
        return Workflow(name="graph", edges=[(START, loop, report)])

    made = policy(steps=1).with_tools({"look": {"effect": "read"}, "report": {"effect": "read"}})
    made = made.model_copy(update={"loop": made.loop.model_copy(update={"progress": "reference"})})
    lab = Lab(tmp_path, made, make)
    await lab.run()
    assert (lab.status, reported) == ("waiting", [])
    lab.says("grant", granted={"steps": 3})
    await lab.run(lab.run_id)
    assert lab.status == "done"
    assert [one["stop"]["reason"] for one in reported] == ["done"]
    assert lab.account.rounds == 1


async def test_a_question_in_a_tool_that_a_tool_runs_ends_both_without_an_outcome(
    tmp_path: Path,
) -> None:
    def make(lab: Lab) -> Any:
        model = guard_model(ScriptedModel(["thought"]))

        async def think(what: str) -> dict[str, Any]:
            lab.ran.append("think")
            async for reply in model.generate_content_async(LlmRequest()):
                lab.ran.append(reply.content.parts[0].text)
            return {"status": "ok"}

        inner = FunctionTool(think)

        async def survey(what: str, tool_context: Any) -> Any:
            return await inner.run_async(args={"what": what}, tool_context=tool_context)

        replies = by_turn([call("survey", what="a")], "done")
        return LlmAgent(name="painter", model=ScriptedModel(replies), tools=[survey])

    made = policy(steps=1).with_tools({"survey": {"effect": "read"}, "think": {"effect": "read"}})
    lab = Lab(tmp_path, made, make)
    await lab.run()
    assert lab.status == "waiting"
    assert not [r for r in lab.store.records(lab.run_id) if r.kind == "action_ends"]
    lab.says("grant", granted={"steps": 5})
    await lab.run(lab.run_id)
    assert lab.status == "done"
    assert lab.ran == ["think", "think", "thought"]


async def test_a_transfer_that_is_given_back_hands_over_again(tmp_path: Path) -> None:
    """Its result alone moves nothing: the agent that handed over went on by itself."""

    def make(lab: Lab) -> Any:
        def go(to: str) -> Any:
            return call("transfer_to_agent", agent_name=to)

        second = LlmAgent(
            name="second",
            description="wipes",
            model=ScriptedModel(by_turn([call("wipe", what="b")], go("first"))),
            tools=[lab.tool("wipe")],
        )
        replies = by_turn(go("second"), call("paint", what="c"), "done")
        return LlmAgent(
            name="first",
            model=ScriptedModel(replies),
            tools=[lab.tool("paint")],
            sub_agents=[second],
        )

    lab = Lab(tmp_path, policy(), make)
    await lab.run()
    assert lab.ran == []
    lab.says("approve")
    await lab.run(lab.run_id)
    assert lab.ran == ["wipe b", "paint c"]
    assert lab.status == "done"
    begun = [r.body["agent"] for r in lab.store.records(lab.run_id) if r.kind == "step_begins"]
    assert begun == ["first", "second", "second", "first", "first"]


async def test_exit_loop_that_is_given_back_ends_its_loop_again(tmp_path: Path) -> None:
    def make(lab: Lab) -> Any:
        turner = LlmAgent(
            name="turner",
            model=ScriptedModel(by_turn([call("paint", what="a")], call("exit_loop"), "again")),
            tools=[lab.tool("paint"), exit_loop],
        )
        wiper = LlmAgent(
            name="wiper",
            model=ScriptedModel(by_turn([call("wipe", what="b")], "done")),
            tools=[lab.tool("wipe")],
        )
        loop = LoopAgent(name="loop", sub_agents=[turner], max_iterations=3)
        return SequentialAgent(name="all", sub_agents=[loop, wiper])

    lab = Lab(tmp_path, policy(), make)
    await lab.run()
    lab.says("approve")
    await lab.run(lab.run_id)
    assert lab.ran == ["paint a", "wipe b"]
    assert lab.status == "done"
    begun = [r.body["agent"] for r in lab.store.records(lab.run_id) if r.kind == "step_begins"]
    assert begun == ["turner", "turner", "wiper", "wiper"]


async def test_finished_rounds_of_a_loop_in_a_tool_stay_finished(tmp_path: Path) -> None:
    """The loop is known by its path, and that has the id of the call in it."""

    def make(lab: Lab) -> Any:
        def search(request: LlmRequest, number: int) -> Any:
            said = sum(1 for c in request.contents if c.role == "model")
            if "Round: 1" in str(request.contents[0]):
                return [call("paint", what="one"), '{"findings": ["it is red"], "done": false}'][
                    said
                ]
            return [call("wipe", what="two"), '{"findings": [], "done": true}'][said]

        tools = [lab.tool("paint"), lab.tool("wipe")]
        seeker = LlmAgent(
            name="seeker", model=ScriptedModel(search), tools=tools, mode="single_turn"
        )
        rounds = loop_until_done(seeker, lab.policy, name="rounds")
        graph = Workflow(name="search", edges=[(START, rounds)], input_schema=str)
        replies = by_turn(call("search", request="what is wrong"), "done")
        return LlmAgent(
            name="outer", model=ScriptedModel(replies), tools=[NodeTool(graph, name="search")]
        )

    tools = {"search": {"effect": "read"}}
    lab = Lab(tmp_path, policy().with_tools(tools), make)
    await lab.run()
    assert lab.ran == ["paint one"]
    lab.says("approve")
    await lab.run(lab.run_id)
    assert lab.ran == ["paint one", "wipe two"]
    assert (lab.status, lab.account.rounds) == ("done", 2)
