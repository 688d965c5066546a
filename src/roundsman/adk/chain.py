"""A bound on agents that call agents, for apps that are not guarded otherwise."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar, Token
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from roundsman.guard import Account, Kind, Placed, decide
from roundsman.guard.events import AgentEnters
from roundsman.guard.rules.agents import AgentDepth

_CHAIN: ContextVar[tuple[str, ...]] = ContextVar("roundsman_call_chain", default=())


class CallChain(BasePlugin):
    """How deep agents may call agents, and that none is called from below itself.

        App(name="desk", root_agent=agent, plugins=[CallChain(max_depth=3)])

    An agent that is refused is not run; its caller is given the reason. `guarded` does the same by
    the policy's `agents:` section.

    Args:
        max_depth: most agents in one chain, the first included.
        recursion: `refuse` or `allow` an agent that is already in the chain.

    Raises:
        ValueError: a depth below 1.
    """

    def __init__(self, max_depth: int = 3, *, recursion: str = "refuse") -> None:
        super().__init__(name="roundsman_call_chain")
        if isinstance(max_depth, bool) or not isinstance(max_depth, int) or max_depth < 1:
            raise ValueError(f"max_depth is {max_depth!r}; a whole number above 0 is wanted")
        self._rules = [Placed(AgentDepth(max_depth, recursion))]
        self._bound: dict[int, tuple[Any, Token[tuple[str, ...]]]] = {}

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> Any:
        """Judge the agent's place in the chain."""
        event = AgentEnters(agent=agent.name, chain=_CHAIN.get())
        verdict = decide(self._rules, Account(), event).verdict
        if verdict.kind <= Kind.AMEND:
            return None
        text = f"Not run: {verdict.reason}"
        return types.Content(role="model", parts=[types.Part(text=text)])

    async def before_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any
    ) -> None:
        """Bind the chain around the call: the engine runs each in a task of its own."""
        name = getattr(tool_context._invocation_context.agent, "name", "")
        token = _CHAIN.set((*_CHAIN.get(), name))
        self._bound[id(tool_context)] = (tool_context, token)

    async def after_tool_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, result: Any
    ) -> None:
        """Take the chain back."""
        self._unbind(tool_context)

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any, error: BaseException
    ) -> None:
        """Take the chain back."""
        self._unbind(tool_context)

    def _unbind(self, context: Any) -> None:
        _, token = self._bound.pop(id(context), (None, None))
        if token is not None:
            with suppress(ValueError):  # another task's context ends by itself
                _CHAIN.reset(token)
