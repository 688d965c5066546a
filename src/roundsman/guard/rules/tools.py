"""Tool layer: which tools, with which arguments and how often."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from roundsman.guard.account import Account
from roundsman.guard.events import ActionBegins, Event
from roundsman.guard.verdicts import Kind, Verdict

_ACTIONS = frozenset({ActionBegins.kind})


@dataclass(frozen=True, slots=True)
class Allowlist:
    """Only these tools run. Names are compared byte for byte: a look-alike letter is another name,
    and a rule for one server's tool never covers another's."""

    allowed: frozenset[str]
    framework: frozenset[str] = frozenset()
    name: ClassVar[str] = "allowlist"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = _ACTIONS

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, ActionBegins)
        if event.tool in self.allowed or event.tool in self.framework:
            return None
        names = ", ".join(sorted(self.allowed)) or "none"
        why = f"tool {event.tool!r} is not allowed; allowed: {names}"
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


@dataclass(frozen=True, slots=True)
class Bound:
    """Bounds of one argument: numbers, and for numbers too high or low `clamp` or `refuse`."""

    min: float | None = None
    max: float | None = None
    on_excess: str = "clamp"
    allowed: tuple[Any, ...] | None = None


def as_number(value: Any) -> float | int | None:
    """The number a model meant, or None: text digits of any script count, `True` and units do not.

    An integral float is an integer (JSON Schema's rule). NaN and infinities are no numbers.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        text = value.strip()
        try:
            return int(text)
        except ValueError:
            try:
                value = float(text)
            except ValueError:
                return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() else value
    return None


@dataclass(frozen=True, slots=True)
class Clamp:
    """Arguments outside their bounds are brought back to them, or the call is refused.

    A value that is no number is refused with the bounds, never passed on. A list is judged
    member by member.
    """

    bounds: Mapping[str, Mapping[str, Bound]]
    name: ClassVar[str] = "clamp"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = _ACTIONS

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, ActionBegins)
        args, changes = dict(event.args), []
        for arg, bound in self.bounds.get(event.tool, {}).items():
            if arg not in args or args[arg] is None:
                continue
            old = args[arg]
            new, problem = _fit(old, bound)
            if problem:
                return Verdict(Kind.REFUSE, self.name, self.layer, f"{event.tool}: {arg} {problem}")
            if new != old or type(new) is not type(old):
                args[arg] = new
                changes.append({"arg": arg, "from": old, "to": new})
        if not changes:
            return None
        why = "; ".join(f"{c['arg']} {c['from']!r} -> {c['to']!r}" for c in changes)
        changed = replace(event, args=args)
        return Verdict(Kind.AMEND, self.name, self.layer, why, "", changed, {}, tuple(changes))


def _fit(value: Any, bound: Bound) -> tuple[Any, str]:
    if isinstance(value, list):
        fitted = [_fit(v, bound) for v in value]
        return [v for v, _ in fitted], next((p for _, p in fitted if p), "")
    if bound.allowed is not None:
        ok = any(value == a and type(value) is type(a) for a in bound.allowed)
        return value, "" if ok else f"is {value!r}; allowed: {list(bound.allowed)!r}"
    number = as_number(value)
    if number is None:
        return value, f"is {value!r}, which is not a number"
    over = bound.max is not None and number > bound.max
    under = bound.min is not None and number < bound.min
    if not (over or under):
        return number, ""
    edge = bound.max if over else bound.min
    if bound.on_excess == "refuse":
        return value, f"is {value!r}; the limit is {edge:g}"
    return edge, ""
