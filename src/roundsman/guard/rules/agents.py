"""Model layer: agents that call agents, and plans rewritten for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from roundsman.guard.account import Account
from roundsman.guard.events import ActionBegins, AgentEnters, Event, PlanRevised
from roundsman.guard.verdicts import Kind, Verdict


@dataclass(frozen=True, slots=True)
class AgentDepth:
    """How deep agents may call agents, and how often one may occur again in its own chain
    (`refuse` or 0: never)."""

    max_depth: int | None
    recursion: str | int
    name: ClassVar[str] = "agents"
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset({AgentEnters.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, AgentEnters)
        chain = " > ".join((*event.chain, event.agent))
        again, most = event.chain.count(event.agent), self.recursion
        if most != "allow" and again > (0 if most == "refuse" else int(most)):
            why = f"agent {event.agent!r} is already in the chain {chain}"
            return Verdict(Kind.REFUSE, self.name, self.layer, why)
        if self.max_depth is not None and len(event.chain) + 1 > self.max_depth:
            why = f"the chain {chain} is deeper than {self.max_depth}"
            return Verdict(Kind.REFUSE, self.name, self.layer, why)
        return None


@dataclass(frozen=True, slots=True)
class AgentCalls:
    """Most agents called by other agents in the whole tree, whichever way: depth alone does not bound a
    fan. Agents that the app's own graph runs are not called."""

    limit: int
    name: ClassVar[str] = "agent_calls"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = frozenset({ActionBegins.kind, AgentEnters.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, (ActionBegins, AgentEnters))
        calls = event.called if isinstance(event, AgentEnters) else event.nested
        if not calls or account.nested < self.limit:
            return None
        why = f"{account.nested} of {self.limit} agents were called; go on with what you have"
        return Verdict(Kind.REFUSE, self.name, self.layer, why, numbers={"limit": self.limit})


@dataclass(frozen=True, slots=True)
class Replans:
    """Most revisions of plans; after that the agent finishes with what it has. `made` is how many
    there were; None: the account says."""

    limit: int
    made: int | None = None
    name: ClassVar[str] = "plan"
    layer: ClassVar[str] = "loop"
    watches: ClassVar[frozenset[str]] = frozenset({PlanRevised.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        made = account.replans if self.made is None else self.made
        if made < self.limit:
            return None
        why = (
            f"the plan was revised {made} of {self.limit} times; finish with what is "
            "done and name what is not"
        )
        return Verdict(Kind.REFUSE, self.name, self.layer, why, numbers={"limit": self.limit})
