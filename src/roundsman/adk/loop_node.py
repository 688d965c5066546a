"""`loop_until_done`: rounds of an agent as one workflow node, bounded by the policy.

The node emits nothing before its final output (an event of its own would make the engine take it
for finished after a crash), and drops a finished round's events from the session in memory, which
keeps the cost of a round flat; storage keeps them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.context import Context
from google.adk.events.event import Event as EngineEvent
from google.adk.workflow import NodeTimeoutError, node
from google.genai import types

from roundsman.adk.current import bound, current_run, looping
from roundsman.adk.loop_bounds import bounds_of
from roundsman.adk.waiting import pause
from roundsman.errors import RefusedToStart
from roundsman.guard import Kind
from roundsman.guard.events import ActionEnds, Event, RoundBegins, RoundEnds
from roundsman.ledger import History, LiveRun
from roundsman.loop import UNREADABLE, Answer, Held, read_answer, round_prompt
from roundsman.policy import Policy

Prompt = Callable[[str, int, Any], str]


def loop_until_done(
    agent: Any, policy: Policy, *, name: str = "investigate", prompt: Prompt = round_prompt
) -> Any:
    """A workflow node that runs rounds of `agent` until the policy says stop.

    Args:
        agent: an ADK agent whose final answer is `{"findings": [...], "done": bool}`.
        policy: bounds of the loop. The app's own policy holds as well: of a round's time, the most
            rounds, idle rounds and what counts as progress, the stricter of both.
        name: the node's name.
        prompt: text of a round from (question, number of the round, findings held).

    Returns:
        A node whose output is `{"findings": [...], "unsupported": [...], "rounds": int,
        "stop": {...}}`. Put it in a `Workflow` and give the app to `guarded`.
    """

    @node(name=name, rerun_on_resume=True)
    async def investigate(ctx: Context, node_input: Any) -> Any:
        run = current_run()
        if run is None:
            raise RefusedToStart(
                f"{name} has no account: give its app to roundsman.guarded(app, policy) first"
            )
        with bound(run), looping(ctx.node_path):
            return await _rounds(ctx, run, agent, policy, _question(node_input), prompt)

    investigate.__dict__["roundsman_agent"] = agent
    return investigate


async def _rounds(
    ctx: Any, run: LiveRun, agent: Any, policy: Policy, question: str, prompt: Prompt
) -> dict[str, Any]:
    bounds = bounds_of(policy, run)
    held, agent = Held(bounds.progress), bounds.timed(agent)
    loop = ctx.node_path
    past = _past(run, loop)
    results = _Results(run, past)
    index = _skip_finished(past, loop, held)
    _prune(ctx, agent.name, {f"round-{n + 1}" for n in range(index)})
    while True:
        index += 1
        if past is None or past.open_rounds.get(loop) != index:
            begins = RoundBegins(index=index, loop=loop)
            own = bounds.own(run, begins)
            run.note(own, begins)
            if own.verdict.kind is Kind.STOP:
                break
            verdict, _ = run.propose(begins)
            if verdict.kind is Kind.ASK:
                await pause(run)
            if verdict.kind > Kind.AMEND:
                if verdict.kind is not Kind.STOP:
                    run.stop("aborted", verdict.reason, verdict.rule, verdict.layer)
                break
        run.counted.clear()  # a round's history is its own, also when it is run again
        run_id = f"round-{index}"
        answer, timed_out = await _one(ctx, agent, prompt(question, index, held.held), run_id)
        if run.waits:  # the round is not over
            await pause(run)
        _prune(ctx, agent.name, {run_id})
        if run.account.stopped is not None:
            held.take(answer.claims, index, results.texts)
            run.write(_ended(loop, index, 0, held, answer, timed_out))
            break
        new = held.take(answer.claims, index, results.texts)
        ended = _ended(loop, index, new, held, answer, timed_out)
        own = bounds.own(run, ended)
        verdict = run.settle(ended, durable=True)
        if verdict.kind is Kind.STOP:
            break
        run.note(own, ended)
        if own.verdict.kind is Kind.STOP:
            break
    stopped = run.account.stopped or run.account.loop(loop).ended
    stop = {} if stopped is None else {"reason": stopped.reason, "detail": stopped.detail}
    return {
        "findings": [f.to_json() for f in held.held],
        "unsupported": [f.to_json() for f in held.unsupported],
        "rounds": run.account.loop(loop).rounds,
        "stop": stop,
    }


def _past(run: LiveRun, loop: str) -> History | None:
    """What is on record of this loop; None when it begins. A loop is entered again in another process,
    and in the same one after a person's answer."""
    begun, past = run.account.loop(loop).rounds, run.history
    if past is not None:
        known = len(past.finished.get(loop, [])) + (loop in past.open_rounds)
    if not begun or (past is not None and known == begun):
        return past
    return History(run.store.records(run.run_id))


def _skip_finished(history: History | None, loop: str, held: Held) -> int:
    """Take finished rounds from the journal; returns how many there are."""
    if history is None:
        return 0
    finished = history.finished.get(loop, [])
    for ended in finished:
        held.take(read_answer(dict(ended.answer)).claims, ended.index, history.results)
    return len(finished)


async def _one(ctx: Any, agent: Any, prompt: str, run_id: str) -> tuple[Answer, bool]:
    """One round: (answer, whether it hung). An error that is not a time-out passes through."""
    from google.adk.workflow._errors import DynamicNodeFailError

    try:
        with _told_again(ctx, agent, prompt, run_id):
            output = await ctx.run_node(agent, node_input=prompt, run_id=run_id)
    except NodeTimeoutError:
        return UNREADABLE, True
    except DynamicNodeFailError as failure:
        if isinstance(failure.error, NodeTimeoutError):
            return UNREADABLE, True
        raise
    return (UNREADABLE if output is None else read_answer(output, _tools_of(agent))), False


@contextmanager
def _told_again(ctx: Any, agent: Any, prompt: str, run_id: str) -> Iterator[None]:
    """Put the round's prompt back before its events where a person's answer takes the round up
    again: the engine leaves it out then, and the agent would see only what it did so far."""
    path, events = f"{ctx.node_path}/{agent.name}@{run_id}", ctx.session.events
    turn = ctx._invocation_context.invocation_id
    mine = (n for n, e in enumerate(events) if e.invocation_id == turn and e.node_info.path == path)
    first = next(mine, None)
    if not ctx.resume_inputs or first is None or not isinstance(agent, LlmAgent):
        yield
        return
    content = types.Content(role="user", parts=[types.Part(text=prompt)])
    told = EngineEvent(author="user", content=content, branch=events[first].branch)
    told.node_info.path, told.isolation_scope = path, events[first].isolation_scope
    events.insert(first, told)
    try:
        yield
    finally:
        events[:] = [e for e in events if e is not told]


def _tools_of(agent: Any) -> list[str]:
    """Names of the agent's tools: a call of one that was printed as text is no finding."""
    tools = getattr(agent, "tools", None) or ()
    names = (getattr(tool, "name", None) or getattr(tool, "__name__", "") for tool in tools)
    return [name for name in names if isinstance(name, str) and name]


def _ended(
    loop: str, index: int, new: int, held: Held, answer: Answer, timed_out: bool
) -> RoundEnds:
    return RoundEnds(
        loop=loop,
        index=index,
        new=new,
        held=len(held.held),
        done=answer.done,
        readable=answer.readable,
        timed_out=timed_out,
        answer={
            "findings": [
                {"statement": c.statement, "evidence": list(c.evidence), **c.extra}
                for c in answer.claims
            ],
            "done": answer.done,
        },
    )


def _prune(ctx: Any, agent: str, run_ids: set[str]) -> None:
    """Drop these rounds' events from memory; only below this node's own path."""
    events, below = ctx.session.events, f"{ctx.node_path}/"

    def belongs(event: Any) -> bool:
        path = event.node_info.path or ""
        name, _, run_id = path.removeprefix(below).partition("/")[0].partition("@")
        return path.startswith(below) and name == agent and run_id in run_ids

    events[:] = [e for e in events if not belongs(e)]


class _Results:
    """Text of every result of the run by action id, as findings cite them."""

    def __init__(self, run: LiveRun, past: History | None) -> None:
        self.texts: dict[str, str] = dict(past.results) if past else {}
        run.listeners.append(self)

    def __call__(self, event: Event) -> None:
        if isinstance(event, ActionEnds):
            self.texts[event.id] = json.dumps(event.result, default=str, ensure_ascii=False)


def _question(node_input: Any) -> str:
    if isinstance(node_input, str):
        return node_input
    parts = getattr(node_input, "parts", None)
    if parts:
        return " ".join(p.text for p in parts if p.text)
    return str(node_input)
