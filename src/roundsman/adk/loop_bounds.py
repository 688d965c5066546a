"""What bounds a loop: the policy of the run it is in, and the one it was made with where that is
stricter. A loop may be made under one policy and its app guarded by another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from roundsman.adk.current import GUARDS
from roundsman.guard import Judgement, Placed, decide, rules_for
from roundsman.guard.events import Event
from roundsman.ledger import LiveRun
from roundsman.policy import Policy

_OF_LOOPS = frozenset({"max_rounds", "idle_rounds"})


@dataclass(frozen=True)
class LoopBounds:
    """`timeout` of a round in seconds (None: none), what counts as `progress`, and `rules`: most rounds
    and idle rounds of the loop's own policy, beside those the run has."""

    timeout: float | None
    progress: str
    rules: tuple[Placed, ...] = ()

    def own(self, run: LiveRun, event: Event) -> Judgement:
        """What the loop's own rules say of an event; nothing is recorded."""
        return decide(self.rules, run.account, event)

    def timed(self, agent: Any) -> Any:
        """The agent with the tightest time limit: its own, or these bounds'."""
        timeout = _least(agent.timeout, self.timeout)
        return agent if timeout == agent.timeout else agent.model_copy(update={"timeout": timeout})


def bounds_of(made_with: Policy, run: LiveRun) -> LoopBounds:
    """The bounds of a loop made with this policy, in this run."""
    ruling = getattr(GUARDS.get(run), "policy", None)
    if ruling is None or ruling is made_with or ruling.digest == made_with.digest:
        return LoopBounds(_timeout(made_with), made_with.loop.progress)
    grounded = "grounded" in (ruling.loop.progress, made_with.loop.progress)
    return LoopBounds(
        _least(_timeout(ruling), _timeout(made_with)),
        "grounded" if grounded else "reference",
        tuple(p for p in rules_for(made_with) if p.rule.name in _OF_LOOPS),
    )


def _timeout(policy: Policy) -> float | None:
    enforced = policy.rules.get("round_timeout", "enforce") == "enforce"
    return policy.round.timeout if enforced else None


def _least(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)
