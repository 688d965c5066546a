"""Names of a policy that mean nothing in an app: a limit on them would hold for nothing, in silence.

What the app has is known as far as a walk sees. A toolset's server, or an agent made in a body, may
bring more: such a name is told at the start, and looked at once more when a call is about to run.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from roundsman.adk.arguments import signature_of
from roundsman.adk.audit import Audit
from roundsman.adk.kinds import function_of
from roundsman.adk.outcomes import refuse_on_record
from roundsman.errors import PolicyWarning, RefusedToStart
from roundsman.guard import FRAMEWORK_TOOLS
from roundsman.guard.names import skeleton
from roundsman.ledger import LiveRun
from roundsman.policy import Policy
from roundsman.policy.model import ToolRule
from roundsman.policy.resources import pieces

RULE = "allowlist"
SAME = 0.8
"""Likeness (0 to 1, difflib) from which an undeclared name is taken for a declared one misspelled."""
_SHARES = frozenset({"(direct call)", "(compaction)"})
_AT_PROVIDER = frozenset(types.Tool.model_fields)


@dataclass(frozen=True, slots=True)
class Slip:
    """A name of the policy, or of the app, that has no other side.

    `path` is where the policy says it, `what` is wrong, `how` says what follows and the way out. A
    `gap` keeps the app from starting, unless the policy names the path under `exceptions:`, with
    the reason given here as `excepted`. `quiet` is what only an audit tells.
    """

    path: str
    what: str
    how: str
    bad: bool
    excepted: str = ""
    quiet: bool = False

    @property
    def gap(self) -> bool:
        """Whether the app may not start because of this."""
        return self.bad and not self.excepted


def slips(found: Audit, policy: Policy) -> list[Slip]:
    """Names the policy speaks of that the walk did not find, and tools no limit speaks of."""
    return list(dict.fromkeys(_Reader(found, policy).slips()))


def refuse_slips(found: Iterable[Slip]) -> None:
    """Raise for the gaps; warn of the rest.

    Raises:
        RefusedToStart: naming each and the way out.
    """
    found = [s for s in found if not s.excepted and not s.quiet]
    gaps = "; ".join(f"{s.path}: {s.what}: {s.how}" for s in found if s.gap)
    if gaps:
        raise RefusedToStart(
            f"the policy speaks of what the app does not have: {gaps}. Correct it, or name the path "
            "under exceptions: in the policy with the reason"
        )
    for slip in found:
        warnings.warn(f"{slip.path}: {slip.what}: {slip.how}", PolicyWarning, stacklevel=3)


def wanted(rule: ToolRule) -> frozenset[str]:
    """The arguments a tool must have for what a policy says of it."""
    spans = (arg for span in rule.spans for arg in span.args)
    key = (rule.idempotency,) if rule.idempotency else ()
    return frozenset((*rule.args, *spans, *key))


class _Reader:
    def __init__(self, found: Audit, policy: Policy) -> None:
        self._policy, self._found = policy, found
        self._excepted = {e.path: e.why for e in policy.exceptions}
        self._open = sorted(set(found.toolsets))
        self._agents = {str(getattr(n, "name", "")) for n in found.nodes} - {""}
        self._tools = known_tools(found)

    def slips(self) -> Iterator[Slip]:
        tools, policy = self._policy.tools, self._policy
        for name, rule in tools.allow.items():
            if name not in self._tools:
                yield self._no_tool(name)
            for tool in self._bearing(name):
                yield from self._arguments(name, rule, tool)
        yield from self._undeclared()
        yield from self._shared_names()
        for name in policy.agents.shares:
            if name not in self._agents | _SHARES:
                free = self._agents - set(policy.agents.shares)
                yield self._missing(f"agents.shares.{name}", name, "agent", free, True)
        taint = policy.conversation.taint
        for name in taint.trusted_tools:
            yield from self._named(f"conversation.taint.trusted_tools.{name}", name, False)
        for name in taint.constants:
            yield from self._named(f"conversation.taint.constants.{name}", name, False)
        for check, what in policy.conversation.checks.items():
            for name in what.tools:
                yield from self._named(f"conversation.checks.{check}.tools.{name}", name, True)

    def _slip(self, path: str, what: str, how: str, bad: bool = False) -> Slip:
        return Slip(path, what, how, bad, self._excepted.get(path, ""))

    def _named(self, path: str, name: str, bounds: bool) -> Iterator[Slip]:
        if name not in self._tools:
            yield self._missing(path, name, "tool", self._tools, bounds)

    def _no_tool(self, name: str) -> Slip:
        free = self._tools - set(self._policy.tools.allow) - FRAMEWORK_TOOLS - _AT_PROVIDER
        closed = self._policy.tools.default == "refuse"
        slip = self._missing(f"tools.allow.{name}", name, "tool", free, not closed)
        # a closed allowlist refuses what is meant instead: nothing runs without its limits
        return replace(slip, quiet=closed and not alike(name, free)[1])

    def _missing(
        self, path: str, name: str, kind: str, others: Iterable[str], bounds: bool
    ) -> Slip:
        """`bounds`: what is meant by the name runs without what is said of it."""
        meant, sure = alike(name, others)
        hint = f"; did you mean {meant!r}?" if meant else ""
        if kind == "tool" and self._open:
            how = f"{', '.join(self._open)} may bring it: known when it runs{hint}"
        elif sure and bounds:
            how = f"{meant!r} runs without what is said here{hint}"
            return self._slip(path, f"no {kind} has this name", how, bad=True)
        else:
            how = f"what is said here holds for nothing{hint}"
        return self._slip(path, f"no {kind} seen has this name", how)

    def _bearing(self, name: str) -> list[Any]:
        """The tools of this name, each once; a plain function as the tool it will be."""
        held = (tool for node in self._found.nodes for tool in getattr(node, "tools", None) or [])
        plain = [t for t in held if not isinstance(t, BaseTool) and callable(t)]
        named = [t for t in plain if getattr(t, "__name__", "") == name]
        made = {id(t): FunctionTool(t) for t in named}
        return [*made.values(), *(t for t in self._found.tools if t.name == name)]

    def _arguments(self, name: str, rule: ToolRule, tool: Any) -> Iterator[Slip]:
        asked = wanted(rule)
        known = signature_of(tool, asked)
        for path in known.missing:
            meant, _ = alike(path, known.names or ())
            hint = f"; did you mean {meant!r}?" if meant else ""
            at = "idempotency" if path == rule.idempotency else "args"
            at = "spans" if path in {a for s in rule.spans for a in s.args} else at
            how = f"its bound holds for nothing{hint}"
            where = f"tools.allow.{name}.{at}.{path}"
            yield self._slip(where, f"{name} has no such argument", how, bad=True)
        for arg in pieces(rule.resource)[1::2] if rule.resource else ():
            if known.names is not None and arg not in known.names:
                meant, _ = alike(arg, known.names)
                hint = f"; did you mean {meant!r}?" if meant else ""
                how = f"its calls touch everything, and take turns with all others{hint}"
                yield self._slip(f"tools.allow.{name}.resource", f"no argument {arg!r}", how)

    def _shared_names(self) -> Iterator[Slip]:
        """One name, several tools: what the policy says of it holds for all of them, together."""
        for name in self._policy.tools.allow:
            bodies = {_body(tool) for tool in self._bearing(name)}
            if len(bodies) > 1:
                how = "each is allowed, bounded and counted as the others are; rename all but one"
                what = f"{len(bodies)} different tools have this name"
                yield replace(self._slip(f"tools.allow.{name}", what, how), quiet=True)

    def _undeclared(self) -> Iterator[Slip]:
        policy = self._policy
        taints = policy.conversation.taint.mode != "off"
        if policy.tools.default == "refuse" or not (policy.tools.allow or taints):
            return
        beyond = ", nor do questions about text from outside (taint)" if taints else ""
        for finding in self._found.findings:
            name = finding.tool
            if name and name not in policy.tools.allow and name not in FRAMEWORK_TOOLS:
                how = f"runs by tools.default: allow; no limit of its own holds{beyond}: declare it"
                slip = self._slip(finding.path, f"tool {name!r} is not declared", how)
                yield replace(slip, quiet=not taints)


def _body(tool: Any) -> tuple[int, int]:
    """What a tool runs: two objects around one function, or one method, are one tool."""
    body = function_of(tool) or getattr(tool, "agent", None) or tool
    return id(getattr(body, "__self__", None)), id(getattr(body, "__func__", body))


def known_tools(found: Audit) -> frozenset[str]:
    """Names a tool call may bear in what was found: tools, and agents and nodes that are called."""
    nodes = (str(getattr(n, "name", "")) for n in found.nodes)
    tools = (f.tool for f in found.findings)
    return frozenset(n for n in (*nodes, *tools) if n) | FRAMEWORK_TOOLS | _AT_PROVIDER


def alike(name: str, others: Iterable[str]) -> tuple[str, bool]:
    """(the name of `others` most like this one, whether it is surely the one meant)."""
    others = sorted(others)
    same = next((o for o in others if skeleton(o) == skeleton(name)), "")
    if same:
        return same, True
    near = get_close_matches(name, others, n=1, cutoff=SAME)
    if near:
        return near[0], True
    return next(iter(get_close_matches(name, others, n=1)), ""), False


class Names:
    """The same when it runs: a call is not run when the policy seems to speak of it by another name,
    or bounds an argument it does not have.

    Args:
        policy: what names are declared.
        known: names of tools that were seen when the app was made.
    """

    def __init__(self, policy: Policy, known: Iterable[str]) -> None:
        self._allow = policy.tools.allow
        self._closed = policy.tools.default == "refuse"
        self._excepted = {e.path for e in policy.exceptions}
        self._pending = set(self._allow) - set(known)

    def meet(self, names: Iterable[str]) -> None:
        """These tools are offered to a model: what the policy says of them holds."""
        self._pending.difference_update(names)

    def refusal(self, run: LiveRun, tool: Any) -> dict[str, Any] | None:
        """What the model is told of a call that is not run; on record. None for any other."""
        self.meet([tool.name])
        why = self._why(tool)
        if not why:
            return None
        return refuse_on_record(run, tool.name, RULE, why)

    def _why(self, tool: Any) -> str:
        name, rule = tool.name, self._allow.get(tool.name)
        if rule is not None:
            missing = signature_of(tool, wanted(rule)).missing
            left = [a for a in missing if not self._excepted & _paths(name, a)]
            if left:
                return (
                    f"the policy bounds {', '.join(map(repr, left))} of {name}, which has no such "
                    "argument; correct tools.allow"
                )
        elif not self._closed and self._pending:
            meant, sure = alike(name, self._pending)
            if sure and f"tools.allow.{meant}" not in self._excepted:
                return (
                    f"tool {name!r} is not declared, and the policy declares {meant!r}, which no tool "
                    "has: one of them is misspelled; declare it by its name"
                )
        return ""


def _paths(name: str, arg: str) -> set[str]:
    return {f"tools.allow.{name}.{at}.{arg}" for at in ("args", "spans", "idempotency")}
