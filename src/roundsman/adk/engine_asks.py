"""The engine asks a person by itself (a confirmation, a request for input): that is on record, and
may be answered from the command line as well as in its session."""

from __future__ import annotations

from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_confirmation import ToolConfirmation

from roundsman.guard import Kind, Verdict
from roundsman.guard.asking import ENGINE, INPUT, Question, exact_digest
from roundsman.guard.events import ActionBegins, Answered, Asked
from roundsman.ledger import LiveRun, Store
from roundsman.ledger.asking import asked_in

SESSION = "its session"
"""Who answered, where the answer came by the engine."""
REQUEST_INPUT = "adk_request_input"


def decided(
    run: LiveRun, action: ActionBegins, tool: Any, context: Any, later: bool
) -> tuple[ActionBegins, Verdict | None]:
    """What is known of a person's word on a call the engine asks about.

    Returns the action, with the question it was allowed by if it was, and a refusal if it was not.
    A yes from the command line is handed to the engine, so that it asks no second time. Nobody is asked
    about a tool the agent does not have.
    """
    if (
        type(tool) is BaseTool and run.weigh(action).kind is Kind.ASK
    ):  # the engine's stand-in for it
        lacks = f"{action.agent} has no tool {action.tool!r}"
        return action, Verdict(Kind.REFUSE, "allowlist", "tool", lacks)
    asks, call = run.account.asks, context.function_call_id or ""
    confirmation = context.tool_confirmation
    if confirmation is not None:
        question = next((q for q in asks.open.values() if call and q.call == call), None)
        if question is not None:
            said = "approve" if confirmation.confirmed else "deny"
            run.write(Answered(id=question.id, decision=said, by=SESSION))
            allowed = confirmation.confirmed
            return (_by(action, question.id) if allowed else action), None
    if not (later or confirmation is not None) or not (asks.approved or asks.denied):
        return action, None
    weighed = run.weigh(action).event  # bound to the call as it would run
    seen = weighed if isinstance(weighed, ActionBegins) else action
    try:
        digest = exact_digest(seen.tool, seen.args)
    except ValueError:
        return action, None
    if (why := asks.denied.get(digest)) is not None:
        return action, Verdict(Kind.REFUSE, "approval", "tool", f"{why}; do not ask for it again")
    given = asks.approved.get(digest)
    if given is None or not given.holds(run.clock()):
        return action, None
    context.tool_confirmation = ToolConfirmation(confirmed=True)
    return _by(action, given.question), None


def _by(action: ActionBegins, question: str) -> ActionBegins:
    from dataclasses import replace

    return replace(action, approval=question)


def note_confirmation(run: LiveRun, action: ActionBegins, context: Any) -> None:
    """The engine asks a person to confirm this call."""
    call = context.function_call_id or ""
    wanted = context.actions.requested_tool_confirmations or {}
    if context.tool_confirmation is not None or call not in wanted:
        return
    try:
        digest = exact_digest(action.tool, action.args)
    except ValueError:
        digest = ""
    asked = Asked(
        about=ENGINE,
        subject_id=action.id,
        agent=action.agent,
        loop=action.loop,
        tool=action.tool,
        args=dict(action.args),
        digest=digest,
        call=call,
        reason=f"the engine asks for a confirmation of {action.tool}",
    )
    run.raise_question(asked)


def note_inputs(run: LiveRun, event: Any) -> None:
    """The engine asks a person for input."""
    waiting = event.long_running_tool_ids or set()
    for part in event.get_function_calls():
        if part.name == REQUEST_INPUT and part.id in waiting:
            message = str((part.args or {}).get("message") or "the engine asks for input")
            run.raise_question(Asked(about=INPUT, call=part.id, reason=message[:500]))


def note_answers(run: LiveRun, calls: set[str]) -> None:
    """A request for input was answered in its session; confirmations are heard with their call."""
    found: list[Question] = [
        q for q in run.account.asks.open.values() if q.about == INPUT and q.call in calls
    ]
    for question in found:
        run.write(Answered(id=question.id, by=SESSION))


def asked_elsewhere(store: Store, session: Any, answers: set[str]) -> str:
    """Why an answer cannot be taken here: the run that asked waits in the journal, and its process is
    gone. A run begun anew would have a new budget. Empty when no waiting run asked this.

    Args:
        session: where the answer came; it holds the engine's own call that asked.
        answers: ids of the calls that are answered.
    """
    asked = set(answers)
    for event in session.events:
        for call in event.get_function_calls():
            original = (call.args or {}).get("originalFunctionCall")
            if call.id in answers and isinstance(original, dict):
                asked.add(str(original.get("id")))
    for info in store.runs():
        if info.status not in ("waiting", "answered"):
            continue
        for question, answer in asked_in(store.records(info.run_id)).values():
            if question.call not in asked:
                continue
            if answer is not None:
                return (
                    f"{question.id} of run {info.run_id} was answered by {answer.by or 'a person'} "
                    f"({answer.decision or 'answered'}); go on with "
                    f"roundsman.adk.resume(app, {info.run_id!r}, session)"
                )
            else:
                return (
                    f"this answers {question.id} of run {info.run_id}, whose process is gone; answer it by "
                    f"roundsman approve {info.run_id} {question.id} (or deny), then go on with "
                    f"roundsman.adk.resume(app, {info.run_id!r}, session)"
                )
    return ""
