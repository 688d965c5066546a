"""The model judges: the only place that sees every call, so it alone reserves, settles and counts.

A model object is given, in place, a cached subclass of its own class. A wrapper object would lose
capabilities, call ids and the interactions API, and holders of the old object would go past it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.adk.current import current_action_id, current_loop, current_run
from roundsman.adk.reports import STOP_CODE, empty_answer, report_reply
from roundsman.adk.tickets import TICKETS, Ticket
from roundsman.adk.tokens import cost, measure_prompt, reported
from roundsman.guard import Kind, Verdict
from roundsman.guard.events import StepBegins, StepEnds
from roundsman.guard.gist import gist
from roundsman.guard.rules.finish import ReportDue
from roundsman.guard.work import Report, forced_report
from roundsman.ledger import LiveRun, Past

Prices = Callable[[str], tuple[float, float] | None]
PRICES: dict[str, Prices] = {}
"""Price lookup of each policy digest; filled by `guarded`."""


def is_guarded(model: Any) -> bool:
    """Whether this model object judges its calls."""
    return bool(getattr(type(model), "_roundsman_guarded", False))


@cache
def guarded_class(cls: type[BaseLlm]) -> type[BaseLlm]:
    """The subclass of `cls` whose calls are judged; the same one every time."""

    async def generate_content_async(
        self: Any, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncIterator[LlmResponse]:
        call = super(guarded, self).generate_content_async
        async for response in _judged(call, self, llm_request, stream):
            yield response

    metaclass: Any = type(cls)
    guarded: Any = metaclass(
        cls.__name__,
        (cls,),
        {
            "__module__": cls.__module__,
            "__qualname__": cls.__qualname__,
            "__annotations__": {"_roundsman_guarded": ClassVar[bool]},
            "_roundsman_guarded": True,
            "generate_content_async": generate_content_async,
        },
    )
    return guarded


def guard_model(model: BaseLlm) -> BaseLlm:
    """Guard this object in place (FallbackModel: its leaves) and return it."""
    leaves = getattr(model, "models", None)
    if isinstance(leaves, list) and any(isinstance(m, BaseLlm) for m in leaves):
        for leaf in leaves:
            if isinstance(leaf, BaseLlm):
                guard_model(leaf)
        return model
    if not is_guarded(model):
        kind: Any = type(model)
        model.__class__ = guarded_class(kind)
    return model


def guard_registry() -> None:
    """Guard every model the registry makes from a name. Outside of runs they act as before."""
    from google.adk.models.registry import LLMRegistry

    made = LLMRegistry.new_llm
    if getattr(made, "_roundsman_guarded", False):
        return

    def new_llm(model: str) -> BaseLlm:
        return guard_model(made(model))

    new_llm._roundsman_guarded = True  # type: ignore[attr-defined]
    LLMRegistry.new_llm = staticmethod(new_llm)


async def _judged(
    call: Any, model: BaseLlm, request: LlmRequest, stream: bool
) -> AsyncIterator[LlmResponse]:
    ticket = TICKETS.take(request)
    run = ticket.run if ticket else current_run()
    if run is None:  # a call outside of any run is not ours to judge
        async for response in call(request, stream):
            yield response
        return
    agent = ticket.agent if ticket else "(direct call)"
    asked = _proposal(run, agent, model, request, ticket)
    past = run.recorded_step(agent, asked.request)
    if past is not None and (again := _as_it_was(run, past, ticket)) is not None:
        yield again
        return
    line = run.account.work.line(agent, asked.within)
    if line is not None and line.report is not None:  # it has said where it stands: no model call
        yield report_reply(ticket.node if ticket else None, line.report)
        return
    verdict, step = run.propose(asked)
    if verdict.kind > Kind.AMEND:
        yield _instead(run, verdict, ticket)
        return
    if step.max_output_tokens is not None and request.config is not None:
        request.config.max_output_tokens = step.max_output_tokens
    settler = _Settler(run, step)
    try:
        async for response in call(request, stream):
            settler.saw(response)
            yield response
    except BaseException as error:
        settler.died(error)
        raise
    settler.close()


def _proposal(
    run: LiveRun, agent: str, model: BaseLlm, request: LlmRequest, ticket: Ticket | None
) -> StepBegins:
    name = request.model or model.model
    history = f"{agent}\x00{ticket.branch}\x00{current_loop()}" if ticket else ""
    prompt, request_print = measure_prompt(request, run.counted, history)
    if getattr(model, "spends_no_tokens", False):  # a planner without a provider, as the analyst
        prompt = 0
    lookup = PRICES.get(run.account.policy)
    most = request.config.max_output_tokens if request.config else None
    prices = lookup(name) if lookup else None
    return StepBegins(
        id=run.next_step_id(),
        loop=current_loop(),
        agent=agent,
        within=current_action_id(),
        model=name,
        request=request_print,
        prompt_tokens=prompt,
        max_output_tokens=most,
        reserved_tokens=prompt + (most or 0),
        reserved_usd=(prompt * prices[0] + (most or 0) * prices[1]) / 1e6 if prices else 0.0,
        prices=prices,
    )


def _as_it_was(run: LiveRun, past: Past, ticket: Ticket | None) -> LlmResponse | None:
    """The recorded reply, in place of asking again; None when there was none to record."""
    said = past.refusal
    if said is not None:
        kind = Kind[said.verdict.upper()]
        return _instead(run, Verdict(kind, said.rule, said.layer, said.reason, said.stop), ticket)
    reply = getattr(past.ends, "reply", None)
    return None if reply is None else LlmResponse(content=types.Content.model_validate(reply))


class _Settler:
    """Settles one call: final replies only; of a stream that dies, its last partial."""

    def __init__(self, run: LiveRun, step: StepBegins) -> None:
        self._run, self._step = run, step
        self._settled: int | None = None
        self._partial: int | None = None
        self._last: Any = None

    def saw(self, response: LlmResponse) -> None:
        tokens = reported(response)
        self._last = response
        if response.partial:
            self._partial = max(self._partial or 0, tokens or 0) or self._partial
            return
        if self._settled is None:
            self._write(tokens if tokens is not None else self._partial, response)
        elif tokens is not None and tokens > self._settled:
            more = tokens - self._settled
            self._run.settle(StepEnds(id=self._step.id, agent=self._step.agent, tokens=more))
            self._settled = tokens

    def died(self, error: BaseException) -> None:
        if self._settled is None:
            self._write(self._partial, self._last, f"{type(error).__name__}: {error}"[:300])

    def close(self) -> None:
        if self._settled is None:
            self._write(self._partial, self._last, "" if self._last else "no reply")

    def _write(self, tokens: int | None, response: Any, error: str = "") -> None:
        step, estimated = self._step, tokens is None
        if tokens is None:
            tokens = step.prompt_tokens if error else self._guess(response)
        reply, calls, said = None, None, ""
        if response is not None and response.content is not None:
            reply = response.content.model_dump(mode="json", exclude_none=True)
            parts = response.content.parts or []
            calls = sum(p.text is None for p in parts)  # code and data are no talk either
            said = gist(" ".join(p.text for p in parts if p.text and not p.thought))
        self._run.settle(
            StepEnds(
                id=step.id,
                agent=step.agent,
                tokens=tokens,
                usd=cost(response, tokens, step.prices),
                estimated=estimated,
                error=error,
                reply=reply,
                calls=calls,
                said=said,
            )
        )
        self._settled = tokens

    def _guess(self, response: Any) -> int:
        size = len(str(response.content)) if response is not None else 0
        return self._step.prompt_tokens + int(size / 3.5)


def _instead(run: LiveRun, verdict: Verdict, ticket: Ticket | None) -> LlmResponse:
    """What the agent gets in place of the model's reply: an empty answer for Cut, an error without
    content for Stop. Outside of rounds there is nothing to cut, so the run stops."""
    if verdict.kind is Kind.CUT and verdict.rule == ReportDue.name and ticket:
        within = current_action_id()
        forced = forced_report(run.account.work, ticket.agent, within, verdict.reason)
        run.write(forced)
        return report_reply(ticket.node, Report(False, forced.summary, forced.undone, True))
    if verdict.kind is Kind.CUT and current_loop():
        text = empty_answer(getattr(ticket.node, "output_schema", None) if ticket else None)
        if text is not None:
            content = types.Content(role="model", parts=[types.Part(text=text)])
            return LlmResponse(content=content)
    if verdict.kind is not Kind.STOP:
        reason = verdict.stop or "aborted"
        detail = verdict.reason
        if verdict.kind is Kind.ASK:
            detail += " (asking a person is not built yet: refused)"
        run.stop(reason, detail, verdict.rule, verdict.layer)
        verdict = replace(verdict, reason=detail)
    return LlmResponse(error_code=STOP_CODE, error_message=verdict.reason)
