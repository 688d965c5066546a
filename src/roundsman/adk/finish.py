"""A finish line: acceptance criteria in the prompt, and two tools by which an agent says where it
stands. It ends by its report, and after so many steps it has to report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from roundsman.adk.alone import Activation, Activations, OwnTool, put_on, texts
from roundsman.adk.current import current_loop
from roundsman.adk.reports import report_reply
from roundsman.guard import Kind
from roundsman.guard.events import ActionBegins, LineDrawn, Reported, StepBegins
from roundsman.guard.rules.finish import ReportDue
from roundsman.guard.work import forced_report

MOST_CRITERIA = 30
LAST = 2000
"""Characters of a summary that are kept."""


class FinishLine:
    """Acceptance criteria for one agent.

        FinishLine(["the cause is named", "two sources agree"]).on(agent)

    Args:
        criteria: what has to hold, one sentence each; the prompt lists them by number.
        steps: model calls of the agent after which it must report partial. In a guarded app the
            policy's `finish.report_after_steps` may be tighter.
        ends_run: whether its report ends the whole run. By default it does when the agent is the
            app's root; elsewhere it ends the agent.

    Raises:
        ValueError: no criterion, an empty one, too many, or no step at all.
    """

    def __init__(
        self, criteria: Sequence[str], *, steps: int = 15, ends_run: bool | None = None
    ) -> None:
        if isinstance(criteria, str) or not criteria or any(not c.strip() for c in criteria):
            raise ValueError("a finish line wants a list of criteria, each a sentence")
        if len(criteria) > MOST_CRITERIA:
            raise ValueError(f"{len(criteria)} criteria; at most {MOST_CRITERIA} are held together")
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise ValueError(f"steps is {steps!r}; a whole number above 0 is wanted")
        self.criteria = texts(list(criteria), longest=1000)
        self.steps = steps
        self._ends_run = ends_run
        self._active = Activations(lambda: [ReportDue()])
        self._drawn: set[tuple[int, str, str]] = set()
        self.tools = [OwnTool(self._complete_tool()), OwnTool(self._partial_tool())]

    def on(self, agent: Any) -> Any:
        """Put the line on an agent, in place; returns the agent.

        Raises:
            TypeError: it is no LLM agent.
        """
        put_on(
            agent,
            "finish line",
            self.tools,
            before_agent_callback=self._enter,
            before_model_callback=self._before_model,
            before_tool_callback=self._before_tool,
            after_agent_callback=self._leave,
        )
        return agent

    def text(self, steps: int | None = None) -> str:
        """What the prompt says; `steps` when something else than the line's own holds."""
        listed = "\n".join(f"{n}. {c}" for n, c in enumerate(self.criteria, 1))
        numbers = ", ".join(str(n) for n in range(1, len(self.criteria) + 1))
        return (
            f"The task is finished when all of these hold:\n{listed}\n"
            f"Then call report_complete(summary, met=[{numbers}]). When you cannot get there, call "
            "report_partial(summary, not_done) and name what is not done. "
            f"After {steps or self.steps} steps you must report partial."
        )

    def _enter(self, callback_context: Any) -> None:
        now = self._active.enter(callback_context)
        key = (id(now.book), now.agent, now.within)
        now.book.write(
            LineDrawn(
                agent=now.agent,
                within=now.within,
                criteria=self.criteria,
                steps=self.steps,
                ends_run=self._is_root(callback_context, now),
                fresh=key in self._drawn,
            )
        )
        self._drawn.add(key)

    def _is_root(self, context: Any, now: Activation) -> bool:
        if self._ends_run is not None:
            return self._ends_run
        path = getattr(context, "node_path", None) or "/"
        parent = context._invocation_context.agent.parent_agent
        return not now.within and parent is None and "/" not in path

    def _before_model(self, callback_context: Any, llm_request: Any) -> Any:
        now = self._active.of(callback_context)
        line = now.book.account.work.line(now.agent, now.within)
        if line is not None and line.report is None:
            most = self._most(now)
            asked = [self.text(most)]
            if line.steps >= most:
                asked.append(f"You have used {line.steps} steps: call report_partial now.")
            llm_request.append_instructions(asked)
        if now.guarded:  # the model judges
            return None
        agent = callback_context._invocation_context.agent
        if line is not None and line.report is not None:
            return report_reply(agent, line.report)
        step = StepBegins(agent=now.agent, within=now.within)
        verdict = now.book.judge(step)
        if verdict.kind > Kind.AMEND:
            why = verdict.reason
            now.book.write(forced_report(now.book.account.work, now.agent, now.within, why))
            ended = now.book.account.work.line(now.agent, now.within)
            return (
                None if ended is None or ended.report is None else report_reply(agent, ended.report)
            )
        now.book.write(step)
        return None

    def _most(self, now: Activation) -> int:
        rules = getattr(now.book, "rules", ())
        theirs = [p.rule.limit for p in rules if isinstance(p.rule, ReportDue)]
        return min([self.steps, *(limit for limit in theirs if limit is not None)])

    def _before_tool(self, tool: Any, args: dict[str, Any], tool_context: Any) -> Any:
        now = self._active.of(tool_context)
        if now.guarded:
            return None
        action = ActionBegins(agent=now.agent, within=now.within, tool=tool.name)
        verdict = now.book.judge(action)
        if verdict.kind <= Kind.AMEND:
            return None
        return _blocked(verdict.reason, tool=tool.name, rule=verdict.rule)

    def _leave(self, callback_context: Any) -> None:
        now = self._active.of(callback_context)
        work, stopped = now.book.account.work, now.book.account.stopped
        line = work.line(now.agent, now.within)
        silent = line is not None and line.report is None and stopped is None
        # in a round the answer says whether it is done; what waits for a person has not ended
        if silent and not current_loop() and _gave_answer(callback_context, now.agent):
            why = "ended without a report"
            now.book.write(forced_report(work, now.agent, now.within, why))
        self._active.leave(callback_context)

    def _report(self, context: Any, complete: bool, summary: str, undone: tuple[str, ...]) -> Any:
        now = self._active.of(context)
        line = now.book.account.work.line(now.agent, now.within)
        now.book.write(
            Reported(
                agent=now.agent,
                within=now.within,
                complete=complete,
                summary=" ".join(str(summary).split())[:LAST],
                undone=undone,
                ends_run=line is not None and line.ends_run,
            )
        )
        said = {"status": "ok", "reported": "complete" if complete else "partial"}
        return said if complete else {**said, "not_done": list(undone)}

    def _complete_tool(self) -> Any:
        async def report_complete(
            summary: str, met: list[int], tool_context: Any
        ) -> dict[str, Any]:
            """Report that the task is finished. It ends your work.

            Args:
                summary: the result, as the person who asked should read it.
                met: the numbers of the acceptance criteria that hold.
            """
            numbers = _numbers(met)
            missing = [f"{n}. {c}" for n, c in enumerate(self.criteria, 1) if n not in numbers]
            if missing:
                why = (
                    "not named as met; meet them, or call report_partial and name what is not done"
                )
                return _blocked(f"criteria {why}", missing=missing)
            return self._report(tool_context, True, summary, ())

        return report_complete

    def _partial_tool(self) -> Any:
        async def report_partial(
            summary: str, not_done: list[str], tool_context: Any
        ) -> dict[str, Any]:
            """Report what is done when the task cannot be finished. It ends your work.

            Args:
                summary: what is done, as the person who asked should read it.
                not_done: what is not done, one item each.
            """
            return self._report(tool_context, False, summary, texts(not_done) or self.criteria)

        return report_partial


def _blocked(reason: str, **more: Any) -> dict[str, Any]:
    return {"status": "blocked", "reason": reason, **more}


def _numbers(given: Any) -> set[int]:
    items = given if isinstance(given, list | tuple) else [given]
    return {int(n) for item in items for n in re.findall(r"\d{1,4}", str(item))}


def _gave_answer(context: Any, agent: str) -> bool:
    """Whether the agent's last word is an answer: no call in it, nothing that waits."""
    for event in reversed(context._invocation_context.session.events):
        if event.author == agent:
            parts = (event.content.parts if event.content else None) or []
            return bool(parts) and all(p.text is not None for p in parts)
    return False
