"""The plugin says who is calling, and judges actions and agents. It decides nothing about models:
that is the model's own business (see model.py)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from roundsman.adk.arguments import signature_of
from roundsman.adk.cancelled import CancelWatch
from roundsman.adk.current import (
    bound,
    current_action_id,
    current_chain,
    current_loop,
    current_run,
)
from roundsman.adk.model import guard_model
from roundsman.adk.results import amended, says_status, status_of, without_ids
from roundsman.adk.scheduler import RULE, NotRun, Scheduler
from roundsman.adk.tickets import TICKETS, Ticket
from roundsman.guard import Kind, Verdict
from roundsman.guard.events import ActionBegins, ActionEnds, AgentEnters
from roundsman.guard.prints import call_prints, canonical, result_prints
from roundsman.ledger import LiveRun, Past


class Opener(Protocol):
    """Makes the run of a new root invocation, and finds one to go on with."""

    def __call__(self, invocation: str, question: str, /) -> LiveRun: ...

    def reopen(self, run_id: str) -> LiveRun: ...


KEEP_CHARS = 20_000
"""Characters of one result the journal keeps."""


@dataclass(slots=True)
class _Open:
    action: ActionBegins
    verdict: Verdict


class GuardPlugin(BasePlugin):
    """Registered first on the app by `guarded`.

    Args:
        opener: makes the run of a new root invocation from (invocation id, question).
        effects: declared effect of each tool; the rest counts as a write.
        scheduler: lets calls take turns.
        bounded: bounded arguments of each tool, as the policy names them.
    """

    def __init__(
        self,
        opener: Opener,
        effects: Mapping[str, str],
        scheduler: Scheduler,
        bounded: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        super().__init__(name="roundsman_guard")
        self.opener = opener
        self._effects = effects
        self._scheduler = scheduler
        self._bounded = bounded or {}
        self._runs: dict[str, LiveRun] = {}
        self._nested: set[str] = set()
        self._expected: dict[str, tuple[LiveRun, bool]] = {}
        self._open: dict[tuple[str, str], _Open] = {}
        self._watches: dict[str, CancelWatch] = {}

    def expect(self, session_id: str, run: LiveRun, ends: bool = False) -> None:
        """The next run of this session is this one; its caller ends it, unless `ends`."""
        self._expected[session_id] = (run, ends)

    def run_of(self, invocation_id: str) -> LiveRun | None:
        """The run an invocation belongs to."""
        return self._runs.get(invocation_id)

    async def before_run_callback(self, *, invocation_context: Any) -> Any:
        """Bind the invocation to its run: the account in flight, one announced, or a new one."""
        invocation = invocation_context.invocation_id
        invocation_context.run_config = self._scheduler.threads(invocation_context.run_config)
        outer = current_run()
        expected = self._expected.pop(invocation_context.session.id, None)
        if outer is not None and current_action_id() in outer.account.open_actions:
            self._runs[invocation] = outer
            self._nested.add(invocation)
        elif expected is not None:
            self._runs[invocation], ends = expected
            if not ends:
                self._nested.add(invocation)
        elif invocation not in self._runs:
            self._runs[invocation] = self.opener(invocation, _text(invocation_context))
            self._watches[invocation] = CancelWatch(
                lambda: self._close(invocation, "aborted", "the task that ran it was cancelled")
            )

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        """Close the run of a root invocation."""
        self._close(invocation_context.invocation_id, "done", "")

    async def on_run_error_callback(self, *, invocation_context: Any, error: Exception) -> None:
        """Close the run as failed."""
        self._close(invocation_context.invocation_id, "failed", f"{type(error).__name__}: {error}")

    def _close(self, invocation: str, reason: str, detail: str) -> None:
        run = self._runs.pop(invocation, None)
        self._watches.pop(invocation, None)
        nested = invocation in self._nested
        self._nested.discard(invocation)
        if run is None or nested:
            return
        stopped = run.account.ending
        if stopped is not None:
            run.end(stopped.reason, stopped.rule, stopped.layer, stopped.detail)
        else:
            run.end(reason, detail=detail[:500])

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> Any:
        """Judge the agent's place in the chain, and see that its model judges."""
        run = self._run(callback_context)
        if watch := self._watches.get(callback_context.invocation_id):
            watch.also()
        verdict = run.judge(AgentEnters(agent=agent.name, chain=current_chain()))
        if verdict.kind > Kind.AMEND:
            text = f"Not run: {verdict.reason}"
            return types.Content(role="model", parts=[types.Part(text=text)])
        if hasattr(agent, "canonical_model"):
            guard_model(agent.canonical_model)
        return None

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Issue the ticket that tells the model who is calling."""
        run = self._run(callback_context)
        context = callback_context._invocation_context
        agent = context.agent
        ticket = Ticket(run, getattr(agent, "name", ""), agent, context.branch or "")
        TICKETS.issue(llm_request, ticket)

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        """Judge the action; make its intent durable; tell a refused one why."""
        run = self._run(tool_context)
        agent = getattr(tool_context._invocation_context.agent, "name", "")
        prints = call_prints(tool.name, tool_args, self._effects.get(tool.name))
        call = prints["call"]
        past = run.recorded_action(agent, call, tool.name)
        if past is not None:
            return self._as_it_was(run, tool.name, past)
        effect = self._effects.get(tool.name, "write")
        action_id = run.next_action_id()
        undecided = self._scheduler.refusal(run, tool, tool_context)
        if undecided:
            return self._out_of_turn(run, tool.name, action_id, undecided, agent, call)
        bounded = self._bounded.get(tool.name)
        signature = signature_of(tool, bounded) if bounded else None
        proposal = ActionBegins(
            id=action_id,
            loop=current_loop(),
            tool=tool.name,
            args=dict(tool_args),
            agent=agent,
            within=current_action_id(),
            effect=effect,
            nested=isinstance(tool, AgentTool),
            **prints,
            declared=signature.declared if signature else {},
            unknown=signature.unknown(tool_args) if signature else (),
        )
        verdict, action = run.propose(proposal)
        if verdict.kind > Kind.AMEND:
            return self._refusal(run, tool.name, verdict)
        if verdict.kind is Kind.AMEND:
            tool_args.update(action.args)
        self._open[_key(tool_context)] = _Open(action, verdict)
        for_ever = self._scheduler.draw(run, tool, action, tool_context)
        if for_ever:
            return self._out_of_turn(run, tool.name, action.id, for_ever, agent, call)
        _bind_tool(tool, self)
        return None

    def _out_of_turn(
        self, run: LiveRun, tool: str, action_id: str, why: str, agent: str, call: str
    ) -> dict[str, Any]:
        self._scheduler.record(run, tool, action_id, why, agent, call)
        return {"status": "blocked", "tool": tool, "rule": RULE, "reason": why}

    def _as_it_was(self, run: LiveRun, tool: str, past: Past) -> dict[str, Any]:
        """The recorded answer of an action, in place of running it again."""
        said = past.refusal
        if said is not None:
            kind = Kind[said.verdict.upper()]
            verdict = Verdict(kind, said.rule, said.layer, said.reason, said.stop)
            return self._refusal(run, tool, verdict)
        result = past.result()
        return result if isinstance(result, dict) else {"result": result}

    def _refusal(self, run: LiveRun, tool: str, verdict: Verdict) -> dict[str, Any]:
        reason = verdict.reason
        if verdict.kind is Kind.ASK:
            reason += " (asking a person is not built yet: refused)"
        if verdict.kind is Kind.CUT:
            reason += "; give your answer now"
        return {"status": "blocked", "tool": tool, "rule": verdict.rule, "reason": reason}

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> dict[str, Any] | None:
        """Write the outcome; tell the model what was changed about its call."""
        self._scheduler.left(tool_context)
        opened = self._open.pop(_key(tool_context), None)
        if opened is None:
            return None
        run = self._run(tool_context)
        told = amended(tool, result, opened.verdict)
        said = self._settle(run, opened.action, result, status_of(result), told)
        if said.kind is Kind.AMEND and said.event is None:
            body = told or (result if isinstance(result, dict) else {"result": result})
            return {**body, "note": said.reason}
        return told

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: BaseException
    ) -> None:
        """Write that the action failed; the engine goes on as it would without us."""
        self._scheduler.left(tool_context)
        opened = self._open.pop(_key(tool_context), None)
        if opened is not None:
            text = f"{type(error).__name__}: {error}"[:500]
            self._settle(self._run(tool_context), opened.action, {"error": text}, "error")

    def _settle(
        self, run: LiveRun, action: ActionBegins, result: Any, status: str, told: Any = None
    ) -> Verdict:
        kept = result if told is None else told
        text = canonical(kept)
        if len(text) > KEEP_CHARS:
            kept = {"cut": text[:KEEP_CHARS], "characters": len(text)}
        return run.settle(
            ActionEnds(
                id=action.id,
                tool=action.tool,
                status=status,
                call=action.call,
                **result_prints(without_ids(result), status, says_status(result)),
                effect=action.effect,
                result=kept,
            ),
            durable=action.effect not in ("read", "poll"),
        )

    def _run(self, context: Any) -> LiveRun:
        run = self._runs.get(context.invocation_id) or current_run()
        if run is None:
            run = self.opener(context.invocation_id, "")
            self._runs[context.invocation_id] = run
        return run


def _bind_tool(tool: Any, plugin: GuardPlugin) -> None:
    """Let the tool object bind account and action around its own run."""
    inner = tool.run_async
    if getattr(inner, "_roundsman", None) is plugin:
        return

    async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:
        opened = plugin._open.get(_key(tool_context))
        run = plugin._runs.get(tool_context.invocation_id) or current_run()
        if opened is None or run is None:
            return await inner(args=args, tool_context=tool_context)
        with bound(run, opened.action.id, opened.action.agent):
            try:
                return await plugin._scheduler.run(
                    run, tool, tool_context, lambda: inner(args=args, tool_context=tool_context)
                )
            except NotRun as refused:
                if not refused.cancelled:
                    action = opened.action
                    return plugin._out_of_turn(
                        run, action.tool, action.id, str(refused), action.agent, action.call
                    )
                plugin._open.pop(_key(tool_context), None)
                plugin._settle(run, opened.action, None, "blocked")
                raise asyncio.CancelledError from None
            except asyncio.CancelledError:  # no hook of the engine tells of this
                plugin._open.pop(_key(tool_context), None)
                plugin._settle(run, opened.action, None, "unknown")
                raise

    run_async._roundsman = plugin  # type: ignore[attr-defined]
    object.__setattr__(tool, "run_async", run_async)


def _key(context: Any) -> tuple[str, str]:
    return context.invocation_id, context.function_call_id or ""


def _text(invocation_context: Any) -> str:
    content = invocation_context.user_content
    parts = content.parts if content is not None else None
    return " ".join(p.text for p in parts or [] if p.text)[:500]
