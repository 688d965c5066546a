"""Tool layer: which tools, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from roundsman.guard.account import Account
from roundsman.guard.events import ActionBegins, Event
from roundsman.guard.names import plain, skeleton
from roundsman.guard.verdicts import Kind, Verdict

_ACTIONS = frozenset({ActionBegins.kind})


@dataclass(frozen=True, slots=True)
class Allowlist:
    """Only these tools run, and none that only looks like one of them.

    A name is allowed when it is there byte for byte; no wildcard, prefix or other spelling is
    understood, so a rule for one server's tool never covers another's. A name that differs from a
    listed one in case, blanks, separators or look-alike letters is refused even when tools that
    are not listed may run (`closed` is False): it would pass by the limits of the tool it is taken
    for. So is a name no model provider would accept, when the policy names any tool at all.
    Tools of the engine are known by their code: a server's tool that bears such a name is a tool
    like any other.
    """

    allowed: frozenset[str]
    framework: frozenset[str] = frozenset()
    closed: bool = True
    name: ClassVar[str] = "allowlist"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = _ACTIONS

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, ActionBegins)
        if event.tool in self.allowed or (event.of_engine and event.tool in self.framework):
            return None
        seen = skeleton(event.tool)
        known = self.allowed | self.framework
        alike = sorted(n for n in known - {event.tool} if skeleton(n) == seen)
        if alike:
            why = f"tool {event.tool!r} is not {alike[0]!r}, though it looks like it; write it so"
        elif self.closed:
            names = ", ".join(sorted(self.allowed)) or "none"
            why = f"tool {event.tool!r} is not allowed; allowed: {names}"
        elif not plain(event.tool):
            why = f"tool {event.tool!r} has characters that hide what it is; it is not run"
        else:
            return None
        return Verdict(Kind.REFUSE, self.name, self.layer, why)


@dataclass(frozen=True, slots=True)
class MaxCalls:
    """Most calls of one tool in the run."""

    limits: Mapping[str, int]
    name: ClassVar[str] = "max_calls"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = _ACTIONS

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, ActionBegins)
        limit = self.limits.get(event.tool)
        if limit is None or account.by_tool.get(event.tool, 0) < limit:
            return None
        why = f"{event.tool} was called {limit} of {limit} times; go on with what you have"
        return Verdict(Kind.REFUSE, self.name, self.layer, why, numbers={"limit": limit})
