"""How an action ends: refused, and the model is told why, or run, and its outcome is written."""

from __future__ import annotations

from typing import Any

from roundsman.adk.results import says_status, without_ids
from roundsman.guard import ALLOW, Kind, Verdict
from roundsman.guard.events import ActionBegins, ActionEnds, Ruled
from roundsman.guard.prints import canonical, result_prints
from roundsman.ledger import LiveRun

KEEP_CHARS = 20_000
"""Characters of one result the journal keeps."""


def refusal(tool: str, verdict: Verdict) -> dict[str, Any]:
    """What the model is told of an action that does not run."""
    reason = verdict.reason
    if verdict.kind is Kind.ASK:  # nobody reads it: the run is left before the next step
        return {"status": "waiting", "tool": tool, "rule": verdict.rule, "reason": reason}
    if verdict.kind is Kind.CUT:
        reason += "; give your answer now"
    return {"status": "blocked", "tool": tool, "rule": verdict.rule, "reason": reason}


def refuse_on_record(run: LiveRun, tool: str, rule: str, why: str) -> dict[str, Any]:
    """The same for a tool that is refused before any rule is asked: written as a ruling is."""
    said = Verdict(Kind.REFUSE, rule, "tool", why)
    run.write(
        Ruled(
            verdict="refuse",
            rule=rule,
            layer=said.layer,
            reason=why,
            subject=tool,
            subject_id=run.next_action_id(),
        )
    )
    return refusal(tool, said)


def settle(
    run: LiveRun,
    action: ActionBegins,
    result: Any,
    status: str,
    told: Any = None,
    ran: bool = True,
) -> Verdict:
    """Write what an action came to, as the model is `told` of it; returns what is said of it. One that
    has not `ran` for certain is none: its intent was counted, and is given back."""
    if run.waits and (action.nested or action.id in run.held):
        return ALLOW  # it was left in the middle: no outcome, or it would count as done
    kept = result if told is None else told
    bare = without_ids(result)
    text = canonical(kept)
    prints = result_prints(
        bare, status, says_status(result), text if kept is bare else canonical(bare)
    )
    if len(text) > KEEP_CHARS:
        kept = {"cut": text[:KEEP_CHARS], "characters": len(text)}
    return run.settle(
        ActionEnds(
            id=action.id,
            tool=action.tool,
            status=status,
            call=action.call,
            **prints,
            effect=action.effect,
            ran=ran,
            agent="" if ran else action.agent,
            result=kept,
        ),
        durable=action.effect not in ("read", "poll"),
    )
