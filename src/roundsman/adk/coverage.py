"""What a walk could not see is caught here, while it runs: the run stops and names the path."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from roundsman.adk.audit import Audit, audit
from roundsman.adk.strays import SEEN
from roundsman.adk.tickets import TICKETS, Ticket
from roundsman.ledger import LiveRun


class Coverage:
    """The net below the audit.

    Args:
        excepted: path -> reason, of the policy's `exceptions:`.
        declared: effect of each tool the policy declares.
        closed: whether tools that are not declared are refused.
    """

    def __init__(
        self, excepted: Mapping[str, str], declared: Mapping[str, str], closed: bool
    ) -> None:
        self.excepted, self.declared, self.closed = dict(excepted), declared, closed
        # weakly: a run that its caller ends comes to no hook of ours at its end
        self._passed: WeakKeyDictionary[LiveRun, set[str]] = WeakKeyDictionary()
        self._issued: dict[str, dict[int, tuple[Any, Ticket]]] = {}
        self._models: WeakValueDictionary[int, Any] = WeakValueDictionary()

    def audit(self, root: Any) -> Audit:
        """Walk `root` under this policy."""
        return audit(root, self.excepted, frozenset(self.declared) if self.closed else None)

    def mark(self, found: Audit) -> None:
        """Remember what was seen. The mark is copied with a node, as the engine clones them."""
        for node in found.nodes:
            node.__dict__[SEEN] = self
        for model in found.models:
            self.hold(model)

    def hold(self, model: Any) -> None:
        """Remember a model of the app, as long as it lives."""
        with suppress(TypeError):  # one that cannot be referred to weakly
            self._models[id(model)] = model

    def holds(self, model: Any) -> bool:
        """Whether this object is a model of the app."""
        return self._models.get(id(model)) is model

    def unseen(self, agent: Any) -> Audit | None:
        """The audit of an agent that is new, or that has become a gap since; else None."""
        known = agent.__dict__.get(SEEN) is self
        if known and getattr(agent, "code_executor", None) is None:
            return None
        found = self.audit(agent)
        self.mark(found)
        return found

    def judges_node(self, node: Any) -> bool:
        """Whether this function node is to be judged as an action."""
        if "roundsman_agent" in vars(node) or node.name in self.excepted:
            return False
        return node.name in self.declared or self.closed

    # -- every result has passed before-tool

    def passed(self, run: LiveRun, call_id: str | None) -> None:
        """A tool call with this id was judged."""
        self._passed.setdefault(run, set()).add(call_id or "")

    def stray_result(self, run: LiveRun, event: Any) -> str:
        """The path of a result in `event` whose call never passed the guard; empty for none."""
        passed = self._passed.get(run, set())
        for part in (event.content.parts if event.content else None) or []:
            response = part.function_response
            if response is None or (response.id or "") in passed:
                continue
            name = str(response.name)
            if name not in self.excepted and f"{event.author}.{name}" not in self.excepted:
                return f"{event.author}.{name}"
        return ""

    # -- every reply came from a model that judges

    def issue(self, invocation: str, key: Any, request: Any, ticket: Ticket) -> None:
        """Issue the ticket of a model call; `key` is an object both model hooks see."""
        TICKETS.issue(request, ticket)
        self._issued.setdefault(invocation, {})[id(key)] = (key, ticket)

    def unjudged_reply(self, invocation: str, key: Any) -> bool:
        """Whether the reply to this call came from a model that took no ticket."""
        _, ticket = self._issued.get(invocation, {}).pop(id(key), (None, None))
        return ticket is not None and not ticket.taken

    def forget(self, run: LiveRun, invocations: list[str]) -> None:
        """The run is over."""
        self._passed.pop(run, None)
        for invocation in invocations:
            self._issued.pop(invocation, None)
