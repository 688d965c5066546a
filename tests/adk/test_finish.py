"""Finish lines, on an agent alone and in a guarded app. Model calls and tool runs are counted
inside the model and the tool."""

from __future__ import annotations

from typing import Any

import pytest
from engine_runs import answers, events_of, last_text, unguarded
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.tools import AgentTool
from google.adk.workflow import START, Workflow
from pydantic import BaseModel

from roundsman.adk import FinishLine, loop_until_done
from roundsman.policy import Policy, load_policy
from roundsman.testing import ScriptedModel, call, run_guarded

CRITERIA = ["the cause is named", "two sources agree"]


def roomy(preset: str = "default", **finish: Any) -> Policy:
    base = load_policy(preset)
    run = base.run.model_copy(update={"tokens": None, "steps": 60})
    rep = base.repetition.model_copy(update={"mode": "off"})
    update = {"run": run, "repetition": rep, "finish": base.finish.model_copy(update=finish)}
    return base.model_copy(update=update)


ALONE_AND_GUARDED = pytest.mark.parametrize("policy", [None, roomy()], ids=["alone", "guarded"])


class Desk:
    def __init__(self) -> None:
        self.looked = 0
        self.prompts: list[str] = []

    def look(self, n: int = 0) -> dict[str, Any]:
        """Look."""
        self.looked += 1
        return {"status": "ok", "n": self.looked}

    def script(self, *steps: Any) -> Any:
        def said(request: LlmRequest, n: int) -> Any:
            self.prompts.append(str(request.config.system_instruction))
            return steps[min(n, len(steps) - 1)]

        return said

    def agent(self, *steps: Any, name: str = "digger", **more: Any) -> LlmAgent:
        model = ScriptedModel(self.script(*steps))
        return LlmAgent(name=name, model=model, tools=[self.look], description=name, **more)


def steps_of(agent: LlmAgent) -> int:
    assert isinstance(agent.model, ScriptedModel)
    return agent.model.calls


@ALONE_AND_GUARDED
async def test_the_prompt_lists_the_criteria_and_complete_ends_the_agent(policy: Any) -> None:
    desk = Desk()
    agent = desk.agent(call("look"), call("report_complete", summary="The pool.", met=[1, 2]), "?")
    events = await events_of(FinishLine(CRITERIA).on(agent), policy)
    assert "1. the cause is named\n2. two sources agree" in desk.prompts[0]
    assert (steps_of(agent), last_text(events)) == (2, "The pool.")


@ALONE_AND_GUARDED
async def test_complete_is_refused_while_a_criterion_is_missing(policy: Any) -> None:
    reports = [call("report_complete", summary="x", met=m) for m in ([1], ["1", 2])]
    agent = Desk().agent(*reports, "?")
    events = await events_of(FinishLine(CRITERIA).on(agent), policy)
    first, second = answers(events, "report_complete")
    assert first["missing"] == ["2. two sources agree"]
    assert (second["reported"], last_text(events)) == ("complete", "x")


@ALONE_AND_GUARDED
async def test_partial_names_what_is_not_done(policy: Any) -> None:
    agent = Desk().agent(call("report_partial", summary="Half.", not_done=["the cause"]), "?")
    events = await events_of(FinishLine(CRITERIA).on(agent), policy)
    assert last_text(events) == "Half.\n\nNot done:\n- the cause"


@ALONE_AND_GUARDED
async def test_after_fifteen_steps_only_a_partial_report_is_left(policy: Any) -> None:
    desk = Desk()
    late = [call("look"), call("report_complete", summary="All.", met=[1, 2])]
    report = call("report_partial", summary="Some.", not_done=["the rest"])
    agent = desk.agent(*[call("look", n=n) for n in range(15)], [*late, report], "?")
    events = await events_of(FinishLine(CRITERIA).on(agent), policy)
    assert (desk.looked, steps_of(agent)) == (15, 16)
    assert "You have used 15 steps" in desk.prompts[15]
    assert "You have used" not in desk.prompts[14]
    assert answers(events, "report_complete")[0]["status"] == "blocked"
    assert "call report_partial now" in answers(events, "look")[15]["reason"]
    assert last_text(events).startswith("Some.")


@ALONE_AND_GUARDED
async def test_an_agent_that_never_reports_is_ended_as_partial(policy: Any) -> None:
    desk = Desk()
    agent = desk.agent(call("look"))
    events = await events_of(FinishLine(CRITERIA, steps=4).on(agent), policy)
    assert (desk.looked, steps_of(agent)) == (4, 5)
    assert last_text(events) == (
        "did not report within 4 steps\n\nNot done:\n- the cause is named\n- two sources agree"
    )


async def test_without_the_line_nothing_ends_it() -> None:
    desk = Desk()
    agent = desk.agent(call("look"))
    with pytest.raises(Exception, match="Max number of llm calls"):
        await unguarded(agent, most_calls=40)
    assert desk.looked == 40


@pytest.mark.parametrize(
    ("steps", "reason", "detail"),
    [
        ([call("report_complete", summary="The pool.", met=[1, 2])], "done", "The pool."),
        (
            [call("report_partial", summary="Half.", not_done=["a", "b"])],
            "partial",
            "Half. (not done: a; b)",
        ),
        (
            ["I think it is fine."],
            "partial",
            "ended without a report (not done: the cause is named; two sources agree)",
        ),
    ],
)
async def test_the_report_is_the_runs_stop_reason(
    steps: list[Any], reason: str, detail: str
) -> None:
    result = await run_guarded(FinishLine(CRITERIA).on(Desk().agent(*steps)), "go", roomy())
    assert result.account.stopped is not None
    assert (result.account.stopped.reason, result.account.stopped.detail) == (reason, detail)
    assert (result.status, result.records[-1].body["reason"]) == ("done", reason)


async def test_the_tighter_of_the_policys_and_the_lines_steps_holds() -> None:
    for preset, own, most in (("default", 6, 6), ("default", 40, 15), ("baseline", 6, 6)):
        desk = Desk()
        agent = FinishLine(CRITERIA, steps=own).on(desk.agent(call("look")))
        result = await run_guarded(agent, "go", roomy(preset))
        assert desk.looked == most
        assert f"After {most} steps you must report partial" in desk.prompts[0]
        assert f"You have used {most} steps" in desk.prompts[-1]
        assert result.account.stopped is not None
        assert result.account.stopped.reason == "partial"


async def test_an_agent_without_a_line_has_no_fifteen_steps() -> None:
    desk = Desk()
    agent = desk.agent(*[call("look")] * 20, "done")
    result = await run_guarded(agent, "go", roomy())
    assert (desk.looked, result.records[-1].body["reason"]) == (20, "done")


async def test_a_closed_allowlist_leaves_the_report_tools() -> None:
    policy = roomy().with_tools({"other": {"effect": "read"}})
    agent = Desk().agent(call("look"), call("report_complete", summary="ok", met=[1, 2]), "?")
    result = await run_guarded(FinishLine(CRITERIA).on(agent), "go", policy)
    assert result.results("look")[0]["rule"] == "allowlist"
    assert result.text == "ok"


@ALONE_AND_GUARDED
async def test_an_agent_used_as_a_tool_ends_itself_and_not_its_caller(policy: Any) -> None:
    inner = Desk().agent(
        *[call("report_complete", summary=f"answer {n}", met=[1, 2]) for n in (1, 2)],
        name="inner",
    )
    FinishLine(CRITERIA).on(inner)
    asks = [call("inner", request="go")] * 2
    outer = LlmAgent(name="outer", model=ScriptedModel([*asks, "both"]), tools=[AgentTool(inner)])
    events = await events_of(outer, policy)
    assert [a["result"] for a in answers(events, "inner")] == ["answer 1", "answer 2"]
    assert (last_text(events), steps_of(inner)) == ("both", 2)


@ALONE_AND_GUARDED
async def test_two_activations_at_the_same_time_have_a_line_each(policy: Any) -> None:
    inner = Desk().agent(call("look"), name="inner")
    FinishLine(CRITERIA, steps=3).on(inner)
    asks = [call("inner", request="a"), call("inner", request="b")]
    outer = LlmAgent(name="outer", model=ScriptedModel([asks, "both"]), tools=[AgentTool(inner)])
    events = await events_of(outer, policy)
    assert steps_of(inner) == 2 * 4
    assert all(a["result"].startswith("did not report") for a in answers(events, "inner"))
    assert last_text(events) == "both"


async def test_a_member_of_a_workflow_that_is_partial_makes_the_run_partial() -> None:
    first = Desk().agent(call("report_partial", summary="Half.", not_done=["x"]), name="first")
    second = Desk().agent("written", name="second")
    FinishLine(CRITERIA).on(first)
    flow = Workflow(name="flow", edges=[(START, first, second)])
    result = await run_guarded(App(name="flow", root_agent=flow), "go", roomy())
    assert steps_of(second) == 1
    assert result.records[-1].body["reason"] == "partial"


async def test_a_line_that_ends_the_run_ends_the_loop() -> None:
    desk = Desk()
    agent = desk.agent(call("report_complete", summary="The pool.", met=[1, 2]))
    FinishLine(CRITERIA, ends_run=True).on(agent)
    policy = roomy()
    flow = Workflow(name="flow", edges=[(START, loop_until_done(agent, policy))])
    result = await run_guarded(App(name="flow", root_agent=flow), "go", policy)
    assert result.output["stop"] == {"reason": "done", "detail": "The pool."}
    assert (result.account.rounds, steps_of(agent)) == (1, 1)


async def test_each_round_of_a_loop_starts_anew() -> None:
    desk = Desk()
    answer = '{"findings": ["one"], "done": false}'
    agent = desk.agent(*[*[call("look")] * 3, answer] * 2)
    FinishLine(CRITERIA, steps=4).on(agent)
    policy = roomy()
    flow = Workflow(name="flow", edges=[(START, loop_until_done(agent, policy))])
    result = await run_guarded(App(name="flow", root_agent=flow), "go", policy)
    assert (desk.looked, result.account.rounds) == (6, 2)


class Verdict(BaseModel):
    summary: str = ""
    complete: bool = False


@ALONE_AND_GUARDED
async def test_an_output_schema_gets_the_report_in_its_own_form(policy: Any) -> None:
    agent = Desk().agent(
        call("report_complete", summary="The pool.", met=[1, 2]), output_schema=Verdict
    )
    events = await events_of(FinishLine(CRITERIA).on(agent), policy)
    assert Verdict.model_validate_json(last_text(events)) == Verdict(
        summary="The pool.", complete=True
    )


@ALONE_AND_GUARDED
async def test_callbacks_and_tools_the_agent_had_stay(policy: Any) -> None:
    seen: list[str] = []
    agent = Desk().agent(
        call("look"),
        call("report_complete", summary="ok", met="1 and 2"),
        before_model_callback=lambda callback_context, llm_request: seen.append("model"),
        after_agent_callback=[lambda callback_context: seen.append("after")],
    )
    await events_of(FinishLine(CRITERIA).on(agent), policy)
    assert seen[:2] == ["model", "model"]
    assert seen[-1] == "after"


@pytest.mark.parametrize("wrong", [[], [""], "one", ["x"] * 31])
def test_criteria_that_say_nothing_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="criteria"):
        FinishLine(wrong)


def test_it_goes_on_an_agent_with_a_model() -> None:
    with pytest.raises(ValueError, match="steps is 0"):
        FinishLine(CRITERIA, steps=0)
    with pytest.raises(TypeError, match="goes on an LlmAgent, not on a Workflow"):
        FinishLine(CRITERIA).on(Workflow(name="w", edges=[(START, Desk().agent("x"))]))
