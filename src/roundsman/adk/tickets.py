"""A ticket says who makes a model call. It is bound to the request object, never to a context
variable: a tool inherits those, and a direct call in it would spend the ticket of another."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from roundsman.ledger import LiveRun


@dataclass(slots=True, eq=False)
class Ticket:
    """Run, agent's name, agent and place of one model call, and whether a model took it."""

    run: LiveRun
    agent: str
    node: Any = None
    place: str = ""
    taken: bool = False


class Tickets:
    """Tickets issued, by request; forgotten with it."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[weakref.ref[Any], Ticket]] = {}

    def issue(self, request: Any, ticket: Ticket) -> None:
        """Bind a ticket to `request`; it is forgotten with the request."""
        key = id(request)
        ref = weakref.ref(request, lambda _: self._open.pop(key, None))
        self._open[key] = (ref, ticket)

    def take(self, request: Any) -> Ticket | None:
        """The request's ticket; None for a call nobody announced. A second model that is tried
        with the same request (FallbackModel) is called by the same agent."""
        ref, ticket = self._open.get(id(request), (None, None))
        if ticket is None or ref is None or ref() is not request:
            return None
        ticket.taken = True
        return ticket


TICKETS = Tickets()
