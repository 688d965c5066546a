"""Ways into a run that are no tool call of a model: tool objects run by code, plain functions as
nodes, remote agents, and what came by a way nobody knew. Part of the plugin."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any

from google.adk.events.event import Event
from google.genai import types

from roundsman.adk.coverage import Coverage
from roundsman.adk.current import bound, place_of
from roundsman.adk.engine_asks import note_inputs
from roundsman.adk.kinds import state_arguments
from roundsman.adk.live import is_live, told
from roundsman.adk.model import guard_model
from roundsman.adk.outcomes import refusal, settle
from roundsman.adk.proposals import Proposals
from roundsman.adk.results import status_of
from roundsman.adk.scheduler import Scheduler
from roundsman.adk.screening import Screen
from roundsman.adk.tool_calls import Open, bind_tool
from roundsman.adk.waiting import Paused, pause
from roundsman.guard import Kind, Verdict, decide
from roundsman.guard.events import ActionBegins, Ruled
from roundsman.ledger import LiveRun


class SideDoors:
    """What the plugin does beyond the calls of models."""

    coverage: Coverage
    screen: Screen
    _proposals: Proposals
    _scheduler: Scheduler
    _runs: dict[str, LiveRun]
    _remote: dict[tuple[str, str], list[ActionBegins]]
    _pending: dict[str, set[str]]

    @abstractmethod
    def _run(self, context: Any) -> LiveRun: ...

    @abstractmethod
    def _out_of_turn(self, run: LiveRun, action: ActionBegins, why: str) -> dict[str, Any]: ...

    def cover(self, found: Any) -> None:
        """Guard what an audit found: its models and tools, in place."""
        for model in found.models:
            guard_model(model)
        for tool in found.tools:
            bind_tool(tool)

    async def _enter_remote(self, run: LiveRun, agent: Any, context: Any) -> Any:
        proposal = self._proposals.of(run, agent, {}, agent.name, place_of(context))
        verdict, action = run.propose(proposal)
        if verdict.kind is Kind.ASK:
            await pause(run)
        if verdict.kind > Kind.AMEND:
            return not_run(verdict.reason)
        self._remote.setdefault((context.invocation_id, agent.name), []).append(action)
        return None

    def _leave_remote(self, agent: Any, context: Any, status: str, result: Any) -> None:
        waiting = self._remote.get((context.invocation_id, agent.name), [])
        if waiting:
            settle(self._run(context), waiting.pop(0), result, status)

    async def after_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        """Write that a remote agent came back."""
        self._leave_remote(agent, callback_context, "ok", {"remote": agent.name})

    async def on_agent_error_callback(
        self, *, agent: Any, callback_context: Any, error: Exception
    ) -> None:
        """Write that a remote agent failed."""
        text = f"{type(error).__name__}: {error}"[:500]
        self._leave_remote(agent, callback_context, "error", {"error": text})

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> Any:
        """Stop the run when a model answered that does not judge; judge what is said aloud."""
        context = callback_context._invocation_context
        if is_live(context):
            return told(self._run(callback_context), self.screen, context, llm_response)
        if self.coverage.unjudged_reply(callback_context.invocation_id, callback_context.actions):
            agent = getattr(callback_context._invocation_context.agent, "name", "")
            why = f"{agent}.model answered without passing the guard"
            self._run(callback_context).stop("failed", why, "coverage", "model")
        return None

    async def on_model_error_callback(
        self, *, callback_context: Any, llm_request: Any, error: Exception
    ) -> None:
        """The same for a model that failed."""
        if self.coverage.unjudged_reply(callback_context.invocation_id, callback_context.actions):
            agent = getattr(callback_context._invocation_context.agent, "name", "")
            why = f"{agent}.model was called without passing the guard"
            self._run(callback_context).stop("failed", why, "coverage", "model")

    async def on_event_callback(self, *, invocation_context: Any, event: Any) -> None:
        """Stop the run when a result came by a way that passed no hook; note who is waited for."""
        run = self._runs.get(invocation_context.invocation_id)
        if run is None:
            return
        pending = self._pending.setdefault(invocation_context.invocation_id, set())
        if event.long_running_tool_ids:
            pending |= event.long_running_tool_ids
        if pending:
            note_inputs(run, event)
            pending -= {r.id for r in event.get_function_responses()}
        path = self.coverage.stray_result(run, event)
        if path and (invocation_context.invocation_id, event.author) not in self._remote:
            why = f"the result of {path} came without passing the guard"
            run.stop("failed", why, "coverage", "tool")

    async def direct(self, run: LiveRun, tool: Any, inner: Any, args: Any, context: Any) -> Any:
        """A tool object that is run by code and not by a model's call: an action all the same. The
        engine's gate does not see it, so one that needs a person's word does not run."""
        if context is not None and await tool.check_require_confirmation(args, context) is True:
            why = f"{tool.name} needs a person's confirmation, and code cannot ask for it"
            run.write(
                Ruled(
                    verdict="refuse",
                    rule="coverage",
                    layer="tool",
                    reason=why,
                    subject=tool.name,
                    subject_id=run.next_action_id(),
                )
            )
            return {"status": "blocked", "tool": tool.name, "rule": "coverage", "reason": why}
        of = getattr(context, "_invocation_context", None)  # code may have no context to hand on
        agent = getattr(getattr(of, "agent", None), "name", "")
        place = place_of(context) if of is not None else ""
        verdict, action = run.propose(self._proposals.of(run, tool, args, agent, place))
        if verdict.kind is Kind.ASK:  # the code around it would take the refusal for a result
            await pause(run)
        if verdict.kind > Kind.AMEND:
            return refusal(tool.name, verdict)
        with self._settled(run, action) as outcome, bound(run, action.id, agent):
            given = {**args, **action.args, **action.idempotency}
            outcome.append(await inner(args=given))
        return outcome[0]

    async def judged_node(self, node: Any, run_node: Any, ctx: Any, node_input: Any) -> Any:
        """A plain function as a node, judged as an action of its name."""
        run = self._run(ctx)
        given = node_input if isinstance(node_input, dict) else {}
        args = {**state_arguments(node, ctx), **given} or {"node_input": node_input}
        if node.name not in self.coverage.declared:
            why = f"{node.name}: a plain function as a node that is not declared under tools"
            run.stop("failed", why, "coverage", "tool")
        verdict, action = run.propose(self._proposals.of(run, node, args, node.name, place_of(ctx)))
        if verdict.kind is Kind.ASK:
            await pause(run)
        late = [
            str(c["arg"]) for c in verdict.changes if str(c["arg"]).partition(".")[0] not in given
        ]
        if verdict.kind <= Kind.AMEND and late:  # it comes from the session's state: out of reach
            why = f"{node.name}: {', '.join(late)} of the session's state is out of bounds"
            verdict = Verdict(Kind.REFUSE, verdict.rule or "clamp", "tool", why)
            settle(run, action, {"error": why}, "blocked", ran=False)
        if verdict.kind > Kind.AMEND:
            yield Event(output=refusal(node.name, verdict))
            return
        if verdict.kind is Kind.AMEND:
            node_input = {name: action.args[name] for name in given if name in action.args}
        with self._settled(run, action) as outcome:
            async with aclosing(run_node(node, ctx=ctx, node_input=node_input)) as events:
                while True:
                    with bound(run, action.id, node.name):
                        event = await anext(events, None)
                    if event is None:
                        break
                    outcome[:] = [event.output] if event.output is not None else outcome
                    yield event

    def changed(self, opened: Open, args: dict[str, Any]) -> dict[str, Any] | None:
        """A callback after the guard's has changed the arguments: they are bounded once more, in
        place, and the change is on record. Returns the refusal when they may not run."""
        run, key = opened.run, opened.action.idempotency
        given = {name: value for name, value in args.items() if name not in key}
        action = replace(opened.action, args=given, at=run.clock())
        bounds = [placed for placed in run.rules if placed.rule.name in ("clamp", "approval")]
        verdict = decide(bounds, run.account, action).verdict
        fitted = verdict.event.args if isinstance(verdict.event, ActionBegins) else action.args
        refused = verdict.kind > Kind.AMEND
        if not refused:
            args.clear()
            args.update({**fitted, **key})
        before = dict(opened.action.args)
        run.write(
            Ruled(
                verdict="refuse" if refused else "amend",
                rule=verdict.rule or "coverage",
                layer="tool",
                reason=verdict.reason or "a callback changed the arguments",
                subject=action.tool,
                subject_id=action.id,
                agent=action.agent,
                call=action.call,
                changes=({"arg": "*", "from": before, "to": dict(args)},),
            )
        )
        # nobody is asked about it: the question there was is of other arguments
        return refusal(action.tool, replace(verdict, kind=Kind.REFUSE)) if refused else None

    @contextmanager
    def _settled(self, run: LiveRun, action: ActionBegins) -> Iterator[list[Any]]:
        """Write the outcome of an action that no after-hook tells of."""
        outcome: list[Any] = []
        try:
            yield outcome
        except Paused:  # it was left in the middle, and has no outcome yet
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {error}"[:500]
            settle(run, action, {"error": text}, "error")
            raise
        except BaseException:
            settle(run, action, None, "unknown")
            raise
        result = outcome[0] if outcome else None
        settle(run, action, result, status_of(result))


def not_run(reason: str) -> Any:
    """What an agent says in place of running."""
    return types.Content(role="model", parts=[types.Part(text=f"Not run: {reason}")])
