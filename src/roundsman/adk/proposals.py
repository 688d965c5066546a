"""A call of a tool as it is put to the account: what it asks for, its effect, and what it is known by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roundsman.adk.arguments import apart, signature_of
from roundsman.adk.current import current_action_id, current_loop
from roundsman.adk.effects_once import key_for, key_parameter
from roundsman.adk.kinds import calls_agent, is_engine_tool
from roundsman.guard.events import ActionBegins
from roundsman.guard.prints import CallPrints, call_prints
from roundsman.ledger import LiveRun


class Proposals:
    """Makes the proposals of one guarded app.

    Args:
        effects: declared effect of each tool; the rest counts as a write.
        bounded: bounded arguments of each tool, as the policy names them.
        keys: the parameter of each tool that takes an idempotency key, as the policy names it.
    """

    def __init__(
        self,
        effects: Mapping[str, str],
        bounded: Mapping[str, frozenset[str]],
        keys: Mapping[str, str],
    ) -> None:
        self._effects, self._bounded, self._keys = effects, bounded, keys

    def prints(self, tool: str, args: Mapping[str, Any]) -> CallPrints:
        """What a call of a tool is recognised by."""
        return call_prints(tool, args, self._effects.get(tool))

    def of(
        self,
        run: LiveRun,
        tool: Any,
        args: dict[str, Any],
        agent: str,
        place: str,
        prints: CallPrints | None = None,
    ) -> ActionBegins:
        """The proposal of a call, with an id and, for a write that takes one, a key of its own.

        Args:
            prints: of the model's call, where they are known; a call by code has none.
        """
        name = tool.name
        bounded = self._bounded.get(name)
        signature = signature_of(tool, bounded) if bounded else None
        action = run.next_action_id()
        parameter = self.key_parameter(tool)
        key = ""
        if parameter:
            before = run.retried.get(parameter) if prints else None  # an attempt at this very call
            key = before or key_for(run.run_id, action)
        return ActionBegins(
            id=action,
            loop=current_loop(),
            tool=name,
            args=apart(args),
            agent=agent,
            within=current_action_id(),
            place=place,
            effect=self._effects.get(name, "write"),
            nested=calls_agent(tool),
            of_engine=is_engine_tool(tool),
            **(prints or self.prints(name, args)),
            declared=signature.declared if signature else {},
            unknown=signature.unknown(args) if signature else (),
            idempotency={parameter: key} if parameter else {},
        )

    def key_parameter(self, tool: Any) -> str:
        """The parameter by which a write takes an idempotency key; empty when it takes none."""
        if self._effects.get(tool.name, "write") in ("read", "poll"):
            return ""
        bounded = self._bounded.get(tool.name, frozenset())
        return key_parameter(tool, self._keys.get(tool.name), bounded)
