"""The plugin says who is calling, and judges actions and agents. It decides nothing about models:
that is the model's own business (see model.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin

from roundsman.adk.arguments import apart
from roundsman.adk.binding import Opener, RunBinding
from roundsman.adk.cancelled import CancelWatch
from roundsman.adk.coverage import Coverage
from roundsman.adk.current import GUARDS, current_action_id, current_chain, place_of
from roundsman.adk.doors import SideDoors, not_run
from roundsman.adk.engine_asks import decided, note_confirmation
from roundsman.adk.kinds import is_called, is_delegated, is_engine_tool, is_looped, is_remote
from roundsman.adk.live import entering, heard, is_live
from roundsman.adk.live_talk import talk_of
from roundsman.adk.model import guard_model
from roundsman.adk.origins import Origins
from roundsman.adk.outcomes import refusal, settle
from roundsman.adk.proposals import Proposals
from roundsman.adk.results import amended, noted, status_of
from roundsman.adk.scheduler import RULE, Scheduler
from roundsman.adk.screening import Screen
from roundsman.adk.slips import Names
from roundsman.adk.tickets import Ticket
from roundsman.adk.tool_calls import OPEN, Open, bind_tool, key_of, may_ask, steer_again
from roundsman.guard import ALLOW, Judgement, Kind, Placed, Verdict, decide
from roundsman.guard.events import ActionBegins, AgentEnters
from roundsman.guard.rules import ANSWERS
from roundsman.ledger import LiveRun, Past
from roundsman.policy import Policy


class GuardPlugin(RunBinding, SideDoors, BasePlugin):
    """Registered first on the app by `guarded`.

    Args:
        opener: makes the run of a new root invocation from (invocation id, question).
        effects: declared effect of each tool; the rest counts as a write.
        scheduler: lets calls take turns.
        bounded: bounded arguments of each tool, as the policy names them.
        keys: the parameter of each tool that takes an idempotency key, as the policy names it.
        coverage: the net for what the audit could not see.
        own_rules: the policy's rules; its allowlist and bounds hold in another app's run, too.
        look_back: characters of a streamed reply that are held back for the checks of texts.
        policy: the policy itself, as loops ask for it.
    """

    roundsman_guard = True

    def __init__(
        self,
        opener: Opener,
        effects: Mapping[str, str],
        scheduler: Scheduler,
        bounded: Mapping[str, frozenset[str]] | None = None,
        keys: Mapping[str, str] | None = None,
        coverage: Coverage | None = None,
        own_rules: Sequence[Placed] = (),
        look_back: int = 0,
        policy: Policy | None = None,
    ) -> None:
        BasePlugin.__init__(self, name="roundsman_guard")
        self.coverage = coverage or Coverage({}, effects, closed=False)
        self.opener, self.policy, self.operator = opener, policy, None
        self.own_rules = tuple(p for p in own_rules if p.rule.name in ("allowlist", "clamp"))
        self.screen = Screen(own_rules, look_back)
        self._taints = any(p.rule.name == "taint" for p in own_rules)
        self._scheduler = scheduler
        self._proposals = Proposals(effects, bounded or {}, keys or {})
        self.checks: Mapping[str, Any] = {}
        self._origins = Origins()
        self.names: Names | None = None
        self._runs: dict[str, LiveRun] = {}
        self._nested: set[str] = set()
        self._expected: dict[str, tuple[LiveRun, bool]] = {}
        self._watches: dict[str, CancelWatch] = {}
        self._remote: dict[tuple[str, str], list[ActionBegins]] = {}
        self._pending: dict[str, set[str]] = {}
        self._heard: dict[str, Judgement] = {}
        self._elsewhere: dict[str, str] = {}

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> Any:
        """Judge the agent's place in the chain, and see that its model judges."""
        run = self._run(callback_context)
        if watch := self._watches.get(callback_context.invocation_id):
            watch.also()
        self._remembers(run, agent)
        if (ending := run.account.stopped) is not None and is_looped(agent):
            callback_context.actions.escalate = True  # a LoopAgent knows no other end
            return not_run(ending.detail)
        verdict = self._entering(run, agent, callback_context)
        if verdict.kind > Kind.AMEND:
            if is_delegated(agent):  # who gave the task would wait for its answer for ever
                run.stop("actions", verdict.reason, verdict.rule, verdict.layer)
            return not_run(verdict.reason)
        found = self.coverage.unseen(agent)
        if found is not None:
            if found.gaps:
                why = "; ".join(f"{g.path}: {g.what}: {g.how}" for g in found.gaps)
                run.stop("failed", f"the guard cannot see {why}", "coverage", "model")
                return not_run(why)
            self.cover(found)
        if hasattr(agent, "canonical_model"):
            self.coverage.hold(guard_model(agent.canonical_model))
        if is_live(callback_context._invocation_context):
            guard_model(agent.canonical_live_model)
            entering(agent.name)
        if is_remote(agent):
            return await self._enter_remote(run, agent, callback_context)
        return None

    def _entering(self, run: LiveRun, agent: Any, context: Any) -> Verdict:
        """An agent that an action runs without saying so, or that was given a task, is a call too."""
        within = current_action_id()
        by_code = bool(within) and within not in run.account.calling and is_called(agent)
        entering = AgentEnters(
            agent=agent.name,
            chain=current_chain(),
            within=within,
            place=place_of(context),
            called=by_code or is_delegated(agent),
        )
        return run.propose(entering)[0] if entering.called else run.judge(entering)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> Any:
        """Issue the ticket that tells the model who is calling; judge what was said in a live session."""
        run = self._run(callback_context)
        context = callback_context._invocation_context
        if is_live(context):
            return await heard(run, self.screen, context, llm_request)
        agent = context.agent
        if hasattr(agent, "canonical_model"):  # it may have been exchanged since the agent entered
            guard_model(agent.canonical_model)
        place = place_of(callback_context)
        self._fed(run, place, llm_request)
        ticket = Ticket(run, getattr(agent, "name", ""), agent, place)
        if self.names is not None:
            self.names.meet(llm_request.tools_dict)
        actions = callback_context.actions
        self.coverage.issue(callback_context.invocation_id, actions, llm_request, ticket)
        return None

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> dict[str, Any] | None:
        """Judge the action; make its intent durable; tell a refused one why."""
        run = self._run(tool_context)
        agent = getattr(tool_context._invocation_context.agent, "name", "")
        self.coverage.passed(run, tool_context.function_call_id)
        if (stranger := self._origins.refusal(run, tool)) is not None:
            return stranger
        if self.names is not None and (unnamed := self.names.refusal(run, tool)) is not None:
            return unnamed
        key_name = self._proposals.key_parameter(tool)
        if key_name:
            tool_args.pop(key_name, None)  # a key the model made up says nothing
        prints = self._proposals.prints(tool.name, tool_args)
        past = run.recorded_action(agent, prints["call"], tool.name)
        if past is not None:
            if past.refusal is None:
                await steer_again(tool, tool_args, tool_context)
            return self._as_it_was(run, tool.name, past)
        answers = is_engine_tool(tool) and tool.name in ANSWERS
        if run.cannot_wait or not answers:  # else it was judged as the model's reply
            said = await self.screen.call(run, tool.name, agent, tool_args, answers)
            if said is not None:
                return refusal(tool.name, said)
        place = place_of(tool_context)
        proposal = self._proposals.of(run, tool, tool_args, agent, place, prints)
        own = self._own_word(run, proposal)
        if own.kind > Kind.AMEND:
            return refusal(tool.name, own)
        if isinstance(own.event, ActionBegins):
            proposal = own.event
            tool_args.update(apart(proposal.args))
        undecided = self._scheduler.refusal(run, tool, tool_context)
        if undecided:
            return self._out_of_turn(run, proposal, undecided)
        asks = may_ask(tool, tool_context)
        proposal, denied = decided(run, proposal, tool, tool_context, asks)
        if denied is not None:
            run.note(Judgement(denied, ((denied, True),)), proposal)
            return refusal(tool.name, denied)
        later = may_ask(tool, tool_context)
        if later:  # these hooks fire again when the answer is there: it counts when it runs
            verdict = run.judge(proposal)
            action = verdict.event if isinstance(verdict.event, ActionBegins) else proposal
        else:
            verdict, action = run.propose(proposal)
        if verdict.kind > Kind.AMEND:
            return refusal(tool.name, verdict)
        if verdict.kind is Kind.AMEND:
            tool_args.update(apart(action.args))
        tool_args.update(action.idempotency)
        if own.changes:
            verdict = replace(verdict, changes=own.changes + verdict.changes)
        opened = Open(run, self, action, verdict, tool, proposed=not later)
        OPEN[key_of(tool_context)] = opened
        for_ever = self._scheduler.draw(run, tool, action, tool_context)
        if for_ever:
            opened.kept_back = True
            return self._out_of_turn(run, action, for_ever)
        bind_tool(tool)
        return None

    def _out_of_turn(self, run: LiveRun, action: ActionBegins, why: str) -> dict[str, Any]:
        self._scheduler.record(run, action.tool, action.id, why, action.agent, action.call)
        return {"status": "blocked", "tool": action.tool, "rule": RULE, "reason": why}

    def _as_it_was(self, run: LiveRun, tool: str, past: Past) -> dict[str, Any]:
        """The recorded answer of an action, in place of running it again."""
        said = past.refusal
        if said is not None:
            kind = Kind[said.verdict.upper()]
            verdict = Verdict(kind, said.rule, said.layer, said.reason, said.stop)
            return refusal(tool, verdict)
        return noted(past.result(), past.note)

    def _own_word(self, run: LiveRun, action: ActionBegins) -> Verdict:
        """A guarded app inside another one's run spends that one's account, and keeps its own
        allowlist and bounds as well."""
        if GUARDS.get(run, self) is self:
            return ALLOW
        said = decide(self.own_rules, run.account, action.timed(run.clock()))
        run.note(said, action)
        return said.verdict

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> dict[str, Any] | None:
        """Write the outcome; tell the model what was changed about its call."""
        self._scheduler.left(tool_context)
        opened = OPEN.get(key_of(tool_context))
        if opened is None or not opened.proposed:
            if opened is not None:
                del OPEN[key_of(tool_context)]
                note_confirmation(opened.run, opened.action, tool_context)
            return None
        run = self._run(tool_context)
        shown = await self.screen.result(run, tool.name, opened.action.agent, result)
        OPEN.pop(key_of(tool_context), None)  # not before: left while a check looks, it is unknown
        if run.cannot_wait and tool_context.function_call_id:
            talk_of(run).cleaned.add(tool_context.function_call_id)
        told = amended(tool, shown, opened.verdict)
        if told is None and shown is not result:
            told = shown
        ran = not opened.kept_back
        said = settle(run, opened.action, result, status_of(result), told, ran)
        waits = result is None and getattr(tool, "is_long_running", False)
        if said.kind is Kind.AMEND and said.event is None and not waits:
            return noted(told or result, said.reason)
        return told

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: BaseException
    ) -> None:
        """Write that the action failed; the engine goes on as it would without us."""
        self._scheduler.left(tool_context)
        opened = OPEN.pop(key_of(tool_context), None)
        if opened is not None and opened.proposed:
            run, action = self._run(tool_context), opened.action
            failure = {"error": f"{type(error).__name__}: {error}"[:500]}
            shown = await self.screen.result(run, action.tool, action.agent, failure)
            settle(run, action, shown, "error")
