"""Tool layer: arguments brought back into their bounds, or the call refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from roundsman.guard.account import Account
from roundsman.guard.events import ActionBegins, Event
from roundsman.guard.names import skeleton
from roundsman.guard.numbers import as_number, as_seconds, shown
from roundsman.guard.rules.approval import persons_word
from roundsman.guard.verdicts import Kind, Verdict


@dataclass(frozen=True, slots=True)
class Bound:
    """Bounds of one argument.

    `min` and `max` are numbers, or durations such as `1h`. `on_excess` is `clamp`, `refuse`, `ask` (a
    person lets exactly this call pass, or not), or None for what suits the tool's effect. `unit`
    (seconds of one) says what a plain number of a duration counts; without it a duration is text
    with a unit, and stays so.
    """

    min: float | str | None = None
    max: float | str | None = None
    on_excess: str | None = None
    allowed: tuple[Any, ...] | None = None
    type: str | None = None
    unit: int = 0

    @property
    def textual(self) -> bool:
        """Whether the argument is a duration written as text."""
        edges = (self.min, self.max)
        return not self.unit and (self.type == "duration" or any(isinstance(e, str) for e in edges))

    def edge(self, edge: float | str | None) -> float | None:
        """`min` or `max` as what `read` gives."""
        if not isinstance(edge, str):
            return edge
        seconds = as_seconds(edge)
        assert seconds is not None, edge
        return seconds / self.unit if self.unit else seconds

    def read(self, value: Any) -> float | None:
        """The value as a number that can be compared with `edge`; None when it cannot be read."""
        if self.textual:
            return as_seconds(value)
        number = as_number(value)
        if number is None and self.unit and (seconds := as_seconds(value)) is not None:
            return as_number(seconds / self.unit)
        return number

    def describe(self) -> str:
        """What is accepted, for a message."""
        kind = {"integer": "a whole number", "duration": "a duration"}.get(self.type or "")
        kind = kind or ("a duration" if self.textual else "a number")
        if self.textual:
            kind += " with its unit, such as '30m'"
        low, high = self.lowest, self.max
        ends = [f"at least {low}"] * (low is not None) + [f"at most {high}"] * (high is not None)
        return f"{kind} of {' and '.join(ends)}" if ends else kind

    @property
    def lowest(self) -> float | str | None:
        """`min`; below a ceiling without one zero, since -1 is how many tools spell "no limit"."""
        if self.min is None and self.max is not None and not self.textual:
            high = self.edge(self.max)
            return 0 if high is not None and high >= 0 else None
        return self.min


@dataclass(slots=True)
class _Found:
    """What a walk through the arguments came upon."""

    changes: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    asks: list[str] = field(default_factory=list)
    named: str = ""

    def problem(self, text: str, named: str) -> None:
        """Of several, the first is what the refusal is named by."""
        self.named = self.named or named
        self.problems.append(text)


ALLOWED, ARGUMENTS = "allowed", "arguments"
"""What a refusal by this rule is named where no limit was passed: a value that is none of those allowed,
an argument the tool does not take, or not in that form."""


@dataclass(frozen=True, slots=True)
class Clamp:
    """Arguments outside their bounds are brought back to them, or the call is refused.

    A clamp only ever narrows: above `max` the value becomes `max`; below `min` it is refused, since
    lifting it would ask for more than was asked (with a `min` alone, too little is the excess, and
    it becomes `min`). What cannot be read as the argument's type is refused with what is accepted,
    never passed on.

    A plain name bounds that argument at every depth; a path (`range.window_minutes`, with or
    without `[]` for the members of a list) bounds that place alone, and there it wins. A list is
    judged member by member. An argument that is absent or null counts as the tool's default; where
    that is not known, the bound is filled in.
    """

    bounds: Mapping[str, Mapping[str, Bound]]
    expires: float | None = None
    """Seconds an approval holds; None: for ever."""
    name: ClassVar[str] = "clamp"
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = frozenset({ActionBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, ActionBegins)
        given = self.bounds.get(event.tool)
        if not given:
            return None
        bounds = {path.replace("[]", ""): bound for path, bound in given.items()}
        found = _Found()
        if event.unknown:
            names = ", ".join(shown(n) for n in event.unknown)
            found.problem(f"takes no argument {names}", ARGUMENTS)
        walk = _Walk(event, bounds, found)
        args = walk.mapping(event.args, "", "")
        args = walk.defaults(args)
        if found.problems:
            why = f"{event.tool}: {'; '.join(found.problems)}"
            return Verdict(Kind.REFUSE, found.named, self.layer, why)
        if found.asks:
            meant = replace(event, args=args) if found.changes else event
            why = f"{event.tool}: {'; '.join(found.asks)}"
            said = persons_word(account, meant, why, self.expires, self.name)
            if said is not None:
                return replace(said, changes=tuple(found.changes))
        if not found.changes:
            return None
        why = "; ".join(f"{c['arg']} {shown(c['from'])} -> {c['to']!r}" for c in found.changes)
        changed = replace(event, args=args)
        changes = tuple(found.changes)
        return Verdict(Kind.AMEND, self.name, self.layer, why, "", changed, {}, changes)


def named(bound: Bound) -> str:
    """What a refusal by this bound is named."""
    return Clamp.name if bound.allowed is None else ALLOWED


@dataclass(frozen=True, slots=True)
class _Walk:
    """One walk through the arguments of a call. Paths leave list indexes out, places name them."""

    event: ActionBegins
    bounds: Mapping[str, Bound]
    found: _Found

    def mapping(self, value: Mapping[str, Any], path: str, place: str) -> dict[str, Any]:
        return {
            key: self.value(
                item,
                f"{path}.{key}" if path else str(key),
                str(key),
                f"{place}.{key}" if place else str(key),
            )
            for key, item in value.items()
        }

    def value(self, value: Any, path: str, key: str, place: str) -> Any:
        bound = self.bounds.get(path) or self.bounds.get(key)
        if bound is not None:
            return self.fit(value, bound, path, place)
        alike = next((b for b in self.bounds if "." not in b and skeleton(b) == skeleton(key)), "")
        if alike:
            self.found.problem(f"{shown(key)} is not spelled {alike!r}; write it so", ARGUMENTS)
        if isinstance(value, str) and self.event.declared.get(path, {}).get("type") == "object":
            # a tool may read it as JSON, and what is in it was never looked at
            self.found.problem(f"{place} is a text; accepted: an object", ARGUMENTS)
        if isinstance(value, Mapping):
            return self.mapping(value, path, place)
        if isinstance(value, list | tuple):
            return (
                [
                    self.value(v, path, "", f"{place}[{n}]")
                    if isinstance(v, Mapping | list | str)
                    else v
                    for n, v in enumerate(value)
                ]
                if any(isinstance(v, Mapping | list | str) for v in value)
                else value
            )
        return value

    def fit(self, value: Any, bound: Bound, path: str, place: str) -> Any:
        if value is None and not (bound.allowed and None in bound.allowed):
            return self.absent(bound, path, place)
        new, problem = self.fitted(value, bound, path)
        if problem:
            self.found.problem(f"{place} {problem}", named(bound))
        elif new != value or type(new) is not type(value):
            self.changed(place, value, new)
        return new

    def fitted(self, value: Any, bound: Bound, path: str) -> tuple[Any, str]:
        """(the value that may run, what is wrong with it)."""
        if isinstance(value, list):
            if self.event.declared.get(path, {}).get("single"):
                return value, f"is {shown(value)}; it takes one value, not a list"
            fitted = [self.fitted(v, bound, path) for v in value]
            return [v for v, _ in fitted], next((p for _, p in fitted if p), "")
        if bound.allowed is not None:
            ok = any(value == a and type(value) is type(a) for a in bound.allowed)
            return value, "" if ok else f"is {shown(value)}; allowed: {list(bound.allowed)!r}"
        number = bound.read(value)
        if number is None:
            return value, f"is {shown(value)}; accepted: {bound.describe()}"
        low, high = bound.edge(bound.lowest), bound.edge(bound.max)
        over, under = high is not None and number > high, low is not None and number < low
        if (over or under) and bound.on_excess == "ask":
            self.found.asks.append(f"{path} is {shown(value)}; without asking: {bound.describe()}")
            return value, ""
        if (over or under) and not (self.clamps(bound) and (over or bound.max is None)):
            return value, f"is {shown(value)}; accepted: {bound.describe()}"
        if bound.textual:
            return (bound.max if over else bound.min if under else value), ""
        kept = high if over else low if under else number
        declared = self.event.declared.get(path, {}).get("type")
        if (bound.type or declared) == "integer" and kept != int(kept or 0):
            return value, f"is {shown(value)}; accepted: a whole number"
        kept = as_number(kept)
        return (str(kept) if declared == "string" else kept), ""

    def clamps(self, bound: Bound) -> bool:
        return (bound.on_excess or self.usual) == "clamp"

    @property
    def usual(self) -> str:
        return "clamp" if self.event.effect in ("read", "poll") else "refuse"

    def absent(self, bound: Bound, path: str, place: str) -> Any:
        """What an argument without a value becomes."""
        default = self.event.declared.get(path, {}).get("default")
        if default is not None:
            new, problem = self.fitted(default, bound, path)
            if problem:
                said = f"{place} is not given and its default {problem}"
                self.found.problem(said, named(bound))
            else:
                self.changed(place, None, new)
            return new
        edge = bound.max if bound.max is not None else bound.min
        if edge is None and bound.allowed is None:
            return None
        if edge is None or not self.clamps(bound):
            said = f"{list(bound.allowed)!r}" if bound.allowed else bound.describe()
            self.found.problem(f"{place} is not given; accepted: {said}", named(bound))
            return None
        new = edge if bound.textual else as_number(bound.edge(edge))
        self.changed(place, None, new)
        return new

    def defaults(self, args: dict[str, Any]) -> dict[str, Any]:
        """The tool's own defaults, for bounded arguments that are not given, where they are out of
        bounds or not known."""
        for path, said in self.event.declared.items():
            bound = self.bounds.get(path)
            if bound is None or said.get("required"):
                continue
            *above, last = path.split(".")
            inside: Any = args
            for part in above:
                inside = inside.get(part) if isinstance(inside, dict) else None
            if not isinstance(inside, dict) or last in inside:
                continue
            if said.get("default") is not None:
                default = said["default"]
                new, problem = self.fitted(default, bound, path)
                if not problem and new == default:
                    continue
            inside[last] = self.absent(bound, path, path)
        return args

    def changed(self, place: str, old: Any, new: Any) -> None:
        long = isinstance(old, int) and old.bit_length() > 512
        self.found.changes.append({"arg": place, "from": shown(old) if long else old, "to": new})
