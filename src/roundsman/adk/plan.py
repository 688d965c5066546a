"""A plan book: the agent writes its plan down, marks what is done, and may change its mind so many
times; each time what failed so far goes along."""

from __future__ import annotations

from typing import Any

from roundsman.adk.alone import Activation, Activations, OwnTool, put_on, texts
from roundsman.guard import Kind
from roundsman.guard.events import PlanMade, PlanMarked, PlanRevised
from roundsman.guard.rules.agents import Replans
from roundsman.guard.work import Plan

MOST_STEPS = 50


class PlanBook:
    """Plans of one agent.

        PlanBook(max_replans=2).on(agent)

    Args:
        max_replans: most revisions of a plan. In a guarded app the policy's `plan.max_replans`
            counts those of all agents of the run, too.

    Raises:
        ValueError: a number below 0, or no number.
    """

    def __init__(self, max_replans: int = 2) -> None:
        if isinstance(max_replans, bool) or not isinstance(max_replans, int) or max_replans < 0:
            raise ValueError(f"max_replans is {max_replans!r}; a whole number from 0 on is wanted")
        self.max_replans = max_replans
        self._active = Activations(lambda: [])
        made = (self._make_tool(), self._mark_tool(), self._revise_tool())
        self.tools = [OwnTool(tool) for tool in made]

    def on(self, agent: Any) -> Any:
        """Put the book on an agent, in place; returns the agent.

        Raises:
            TypeError: it is no LLM agent.
        """
        put_on(
            agent,
            "plan book",
            self.tools,
            before_agent_callback=self._enter,
            before_model_callback=self._before_model,
            after_agent_callback=self._leave,
        )
        return agent

    def _enter(self, callback_context: Any) -> None:
        self._active.enter(callback_context)

    def _leave(self, callback_context: Any) -> None:
        self._active.leave(callback_context)

    def _before_model(self, callback_context: Any, llm_request: Any) -> None:
        llm_request.append_instructions(
            [
                "Write your plan with make_plan before you act, and mark each step done or failed "
                "with mark_step. When the plan does not work, change it with revise_plan, at most "
                f"{self.max_replans} times."
            ]
        )

    def _plan(self, context: Any) -> tuple[Activation, Plan]:
        now = self._active.of(context)
        return now, now.book.account.work.plan(now.agent, now.within)

    def _revise(self, context: Any, why: str, steps: tuple[str, ...]) -> dict[str, Any]:
        now, plan = self._plan(context)
        failed = tuple(
            f"{s.text}: {s.note}" if s.note else s.text for s in plan.steps if s.state == "failed"
        )
        failures = plan.failures + tuple(f for f in (*failed, why) if f and f not in plan.failures)
        event = PlanRevised(
            agent=now.agent, within=now.within, steps=steps, failures=failures[-40:]
        )
        verdict = now.propose(event, Replans(self.max_replans, plan.revisions))
        if verdict.kind > Kind.AMEND:
            return {
                "status": "blocked",
                "rule": verdict.rule,
                "reason": verdict.reason,
                "done": plan.named("done"),
                "not_done": plan.named("open", "failed"),
                "failures_so_far": list(event.failures),
            }
        return {**self._shown(context), "failures_so_far": list(event.failures)}

    def _shown(self, context: Any) -> dict[str, Any]:
        plan = self._plan(context)[1]
        left = max(0, self.max_replans - plan.revisions)
        steps = [f"{n}. [{s.state}] {s.text}" for n, s in enumerate(plan.steps, 1)]
        return {"status": "ok", "plan": steps, "revisions_left": left}

    def _make_tool(self) -> Any:
        async def make_plan(steps: list[str], tool_context: Any) -> dict[str, Any]:
            """Write down your plan. A second plan counts as a revision of the first.

            Args:
                steps: what you will do, in order.
            """
            wanted, problem = _steps(steps)
            if problem:
                return problem
            now, plan = self._plan(tool_context)
            if plan.steps:
                return self._revise(tool_context, "", wanted)
            now.book.write(PlanMade(agent=now.agent, within=now.within, steps=wanted))
            return self._shown(tool_context)

        return make_plan

    def _mark_tool(self) -> Any:
        async def mark_step(
            number: int, outcome: str, tool_context: Any, note: str = ""
        ) -> dict[str, Any]:
            """Mark a step of the plan.

            Args:
                number: the step's number.
                outcome: `done` or `failed`.
                note: what came of it; for a failed step, why.
            """
            now, plan = self._plan(tool_context)
            state = str(outcome).strip().lower()
            place = str(number).strip()
            known = place.isdecimal() and 1 <= int(place[:6]) <= len(plan.steps)
            if not known or state not in ("done", "failed"):
                accepted = f"a number from 1 to {len(plan.steps)}, and done or failed"
                return {
                    "status": "error",
                    "reason": f"{number!r}, {outcome!r}: wanted is {accepted}",
                }
            text = (texts(note) or ("",))[0]
            now.book.write(
                PlanMarked(
                    agent=now.agent, within=now.within, number=int(place), state=state, note=text
                )
            )
            return self._shown(tool_context)

        return mark_step

    def _revise_tool(self) -> Any:
        async def revise_plan(why: str, steps: list[str], tool_context: Any) -> dict[str, Any]:
            """Throw the plan away and write another one.

            Args:
                why: what did not work.
                steps: what you will do instead, in order.
            """
            wanted, problem = _steps(steps)
            return problem or self._revise(tool_context, (texts(why) or ("",))[0], wanted)

        return revise_plan


def _steps(given: Any) -> tuple[tuple[str, ...], dict[str, Any] | None]:
    wanted = texts(given, most=MOST_STEPS + 1)
    if not wanted:
        return (), {"status": "error", "reason": "a plan wants at least one step"}
    if len(wanted) > MOST_STEPS:
        return (), {"status": "error", "reason": f"a plan has at most {MOST_STEPS} steps"}
    return wanted, None
