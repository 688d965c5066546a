"""One call of a model, judged: reserved before, settled after, counted, and its reply stored."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from math import ceil
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.adk.call_ids import with_call_ids
from roundsman.adk.current import (
    GUARDS,
    current_action_id,
    current_chain,
    current_loop,
    current_scope,
    current_share,
    run_to_charge,
)
from roundsman.adk.past_objects import StepsInside
from roundsman.adk.providers import withheld
from roundsman.adk.replies import Reply
from roundsman.adk.reports import STOP_CODE, empty_answer, report_reply
from roundsman.adk.room import settled
from roundsman.adk.settling import Settler
from roundsman.adk.strays import only_run
from roundsman.adk.tickets import TICKETS, Ticket
from roundsman.adk.tokens import measure_prompt
from roundsman.adk.waiting import pause
from roundsman.guard import Kind, Verdict
from roundsman.guard.events import Ruled, StepBegins
from roundsman.guard.rules.budgets import most_dollars
from roundsman.guard.rules.finish import ReportDue
from roundsman.guard.work import Report, forced_report
from roundsman.ledger import LiveRun, Past

MOST_TOKENS_FOR_ONE = 8.0
"""Most tokens of a prompt that one estimated is taken to be, whatever the last reply reported."""

Prices = Callable[[str], tuple[float, ...] | None]
PRICES: dict[str, Prices] = {}
"""Price lookup of each policy digest; filled by `guarded`."""


async def judged(
    call: Any, model: BaseLlm, request: LlmRequest, stream: bool
) -> AsyncGenerator[LlmResponse, None]:
    """The replies of `call(request, stream)`, made inside of `model`, or what the guard says in place of
    them."""
    ticket = TICKETS.take(request)
    run = ticket.run if ticket else run_to_charge()
    if run is None:  # a call outside of any run is not ours to judge
        if why := _stray(model):
            yield LlmResponse(error_code=STOP_CODE, error_message=why)
            return
        async with aclosing(StepsInside(model, lambda: call(request, stream))) as responses:
            async for response in responses:
                yield response
        return
    agent = ticket.agent if ticket else current_share()
    asked = _proposal(run, agent, model, request, ticket)
    past = run.recorded_step(agent, asked.request)
    if past is not None and (again := _as_it_was(run, past, ticket)) is not None:
        yield again
        return
    line = run.account.work.line(agent, asked.within)
    if line is not None and line.report is not None:  # it has said where it stands: no model call
        yield report_reply(ticket.node if ticket else None, line.report)
        return
    while run.account.reserved and run.weigh(asked).wait:
        if not await settled(run):
            break
    _withhold(run, request)
    verdict, step = run.propose(asked)
    if verdict.kind is Kind.ASK:
        await pause(run)
    if verdict.kind > Kind.AMEND:
        yield _instead(run, verdict, ticket)
        return
    if step.max_output_tokens is not None and request.config is not None:
        request.config.max_output_tokens = step.max_output_tokens
    settler = Settler(run, step)
    talk = _screened(run, agent, request)
    cut: LlmResponse | None = None
    try:
        async with aclosing(StepsInside(model, lambda: call(request, stream))) as responses:
            async for response in responses:
                if talk is not None and not response.partial:
                    tail, response = talk.tail(), await talk.whole(response)
                    if tail is not None and not talk.was_blocked:
                        yield tail
                response = with_call_ids(response)
                settler.saw(response)
                if response.partial and _too_long(run, settler):
                    cut = settler.so_far()
                    cut = await talk.whole(cut) if talk is not None else cut
                    break
                if talk is not None and response.partial:
                    piece = talk.piece(response)
                    if piece is None:
                        cut = talk.instead(response)
                        break
                    response = piece
                yield response
        if cut is not None:
            settler.saw(cut)
    except BaseException as error:
        settler.died(error)
        raise
    if cut is not None:
        yield cut
    settler.close()
    if settler.prompt and step.prompt_tokens:
        raw = step.prompt_tokens / run.ratios.get(agent, 1.0)
        run.ratios[agent] = min(MOST_TOKENS_FOR_ONE, max(1.0, settler.prompt / raw))


def _stray(model: BaseLlm) -> str:
    """A thread that is older than the run carries no account. Where a model of the one run that is under
    way is called by code no runner is around, while a tool of it runs, that run stops, and the call is
    not made. Returns why; empty for the call of somebody else."""
    if current_scope() is not None:
        return ""
    run = only_run(lambda coverage: coverage.holds(model))
    if run is None:
        return ""
    why = f"model {model.model!r} was called where the account of its run does not reach"
    run.stop("failed", why, "coverage", "model")
    return why


def _screened(run: LiveRun, agent: str, request: LlmRequest) -> Reply | None:
    """What looks at the reply; None when the policy has nothing to say of replies."""
    screen = getattr(GUARDS.get(run), "screen", None)
    if not screen:
        return None
    told = request.config.system_instruction if request.config else None
    return Reply(screen, run, agent, told if isinstance(told, str) else "")


def _too_long(run: LiveRun, settler: Settler) -> bool:
    """Whether a stream goes on beyond what its call was allowed, and the policy ends it there."""
    far = settler.streaming()
    return far is not None and far.output > far.most and run.judge(far).kind > Kind.AMEND


def _withhold(run: LiveRun, request: LlmRequest) -> None:
    """Take what no hook sees run out of a request, unless the policy allows it: tools that run at the
    provider, and functions the provider's SDK would call by itself."""
    guard = GUARDS.get(run)
    if guard is None or not guard.coverage.closed or request.config is None:
        return
    kept, held = withheld(request.config.tools or [], guard.coverage.declared)
    for name in held:
        why = f"{name} runs where no hook sees it and is not declared under tools"
        run.write(
            Ruled(verdict="refuse", rule="allowlist", layer="model", reason=why, subject=name)
        )
    if held:
        request.config.tools = kept


def _proposal(
    run: LiveRun, agent: str, model: BaseLlm, request: LlmRequest, ticket: Ticket | None
) -> StepBegins:
    name = request.model or model.model
    within = current_action_id()  # one agent may be called twice at once: two histories
    history = "\x00".join((agent, within, ticket.place, current_loop())) if ticket else ""
    estimate, request_print = measure_prompt(request, run.counted, history)
    prompt = ceil(estimate * run.ratios.get(agent, 1.0))  # as it was with the agent's last call
    if ceiling := getattr(model, "most_prompt_tokens", 0):  # it fits its prompts to a context
        prompt = min(prompt, ceiling)
    if getattr(model, "spends_no_tokens", False):  # a planner without a provider, as the analyst
        prompt = 0
    lookup = PRICES.get(run.account.policy)
    most = request.config.max_output_tokens if request.config else None
    prices = lookup(name) if lookup else None
    return StepBegins(
        id=run.next_step_id(),
        loop=current_loop(),
        agent=agent,
        within=within,
        place=ticket.place if ticket else "",
        model=name,
        request=request_print,
        prompt_tokens=prompt,
        max_output_tokens=most,
        reserved_tokens=prompt + (most or 0),
        prices=prices,
        reserved_usd=most_dollars(prompt, most or 0, prices),
    )


def live_proposal(run: LiveRun, agent: str, model: BaseLlm, request: LlmRequest) -> StepBegins:
    """A turn of a live session; how long it gets cannot be limited beforehand."""
    return _proposal(run, agent, model, request, None)


def _as_it_was(run: LiveRun, past: Past, ticket: Ticket | None) -> LlmResponse | None:
    """The recorded reply, in place of asking again; None when there was none to record."""
    said = past.refusal
    if said is not None:
        kind = Kind[said.verdict.upper()]
        return _instead(run, Verdict(kind, said.rule, said.layer, said.reason, said.stop), ticket)
    reply = getattr(past.ends, "reply", None)
    return None if reply is None else LlmResponse(content=types.Content.model_validate(reply))


def _instead(run: LiveRun, verdict: Verdict, ticket: Ticket | None) -> LlmResponse:
    """What the agent gets in place of the model's reply: an empty answer for Cut, an error without
    content for Stop. Outside of rounds there is nothing to cut, so the run stops; but an agent
    below another that has used up its own share ends alone, and says so."""
    if verdict.kind is Kind.CUT and verdict.rule == ReportDue.name and ticket:
        within = current_action_id()
        forced = forced_report(run.account.work, ticket.agent, within, verdict.reason)
        run.write(forced)
        return report_reply(ticket.node, Report(False, forced.summary, forced.undone, True))
    schema = getattr(ticket.node, "output_schema", None) if ticket else None
    below = current_chain() or getattr(ticket and ticket.node, "parent_agent", None) is not None
    if verdict.kind is Kind.CUT and verdict.rule == "shares" and below:
        text = f"Not done: {verdict.reason}." if schema is None else empty_answer(schema)
    elif verdict.kind is Kind.CUT and current_loop():
        text = empty_answer(schema)
    else:
        text = None
    if text is not None:
        content = types.Content(role="model", parts=[types.Part(text=text)])
        return LlmResponse(content=content)
    if verdict.kind is not Kind.STOP:
        reason = verdict.stop or "aborted"
        run.stop(reason, verdict.reason, verdict.rule, verdict.layer)
    return LlmResponse(error_code=STOP_CODE, error_message=verdict.reason)
