"""A ticket says who makes a model call. It is bound to the request object, never to a context
variable: a tool inherits those, and a direct call in it would spend the ticket of another."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from roundsman.ledger import LiveRun


@dataclass(frozen=True, slots=True)
class Ticket:
    """Run, agent's name, agent and branch of one model call."""

    run: LiveRun
    agent: str
    node: Any = None
    branch: str = ""


class Tickets:
    """Tickets issued and not yet taken."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[weakref.ref[Any], Ticket]] = {}

    def issue(self, request: Any, ticket: Ticket) -> None:
        """Bind a ticket to `request`; it is forgotten with the request."""
        key = id(request)
        ref = weakref.ref(request, lambda _: self._open.pop(key, None))
        self._open[key] = (ref, ticket)

    def take(self, request: Any) -> Ticket | None:
        """The request's ticket, once; None for a call nobody announced."""
        ref, ticket = self._open.pop(id(request), (None, None))
        return ticket if ref is not None and ref() is request else None


TICKETS = Tickets()
