"""What an object of the engine is, as a key of the table of constructs."""

from __future__ import annotations

import inspect
from typing import Any

from google.adk.apps import App
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow._base_node import BaseNode

from roundsman.adk.alone import OwnTool

_FOREIGN = frozenset({"LangGraphAgent", "ManagedAgent", "AntigravityAgent"})
_ENGINE_TOOLS = frozenset(
    {"TransferToAgentTool", "SetModelResponseTool", "FinishTaskTool", "LoadArtifactsTool"}
)
_NODES = {
    "SequentialAgent": "sequential_agent",
    "ParallelAgent": "parallel_agent",
    "LoopAgent": "loop_agent",
    "FunctionNode": "function_node",
}
_SHELLS = frozenset({"sequential_agent", "parallel_agent", "loop_agent"})


def of_engine(kind: type[Any]) -> bool:
    """Whether a class comes with the engine."""
    return str(kind.__module__).startswith("google.adk.")


def is_app(obj: Any) -> bool:
    """Whether this is an app."""
    return isinstance(obj, App)


def is_node(obj: Any) -> bool:
    """Whether this is an agent or a workflow node."""
    return isinstance(obj, BaseNode)


def is_function_node(obj: Any) -> bool:
    """Whether this is a plain function made into a node."""
    return any(k.__name__ == "FunctionNode" and of_engine(k) for k in type(obj).__mro__)


def is_remote(agent: Any) -> bool:
    """Whether this agent runs elsewhere, behind a protocol."""
    return any(k.__name__ == "RemoteA2aAgent" for k in type(agent).__mro__)


def is_looped(agent: Any) -> bool:
    """Whether a LoopAgent runs this agent again and again, until one of its events escalates."""
    return node_kind(getattr(agent, "parent_agent", None)) == "loop_agent"


def node_kind(node: Any) -> str:
    """The construct a node is by its class; empty for what needs no word."""
    names = [k.__name__ for k in type(node).__mro__ if of_engine(k)]
    if _FOREIGN.intersection(names):
        return "foreign_agent"
    if is_remote(node):
        return "remote_agent"
    if names and not of_engine(type(node)) and "LlmAgent" not in names and "BaseAgent" in names:
        return "custom_agent"
    return next((_NODES[n] for n in names if n in _NODES), "")


def tool_kind(tool: Any) -> str:
    """The construct a tool is by its class."""
    names = {k.__name__ for k in type(tool).__mro__}
    if "McpToolset" in names:
        sampling = getattr(tool, "_sampling_callback", None)
        return "mcp_toolset" if sampling is None else "mcp_sampling"
    if "OpenAPIToolset" in names:
        return "openapi_toolset"
    if "_TaskAgentTool" in names:
        return "task_delegation"
    if "_SingleTurnAgentTool" in names:
        return "single_turn_sub_agent"
    if "AgentTool" in names:
        isolated = getattr(tool, "include_plugins", True) is False
        return "agent_tool_without_plugins" if isolated else "agent_tool"
    if "NodeTool" in names:
        return "node_tool"
    if getattr(tool, "is_long_running", False):
        return "long_running_tool"
    if getattr(tool, "_require_confirmation", False):
        return "confirmation_tool"
    if runs_at_provider(tool):
        return "server_side_tool"
    return "single_agent"


def runs_at_provider(tool: Any) -> bool:
    """Whether a tool only writes itself into the request: nothing of it runs in this process."""
    kind = type(tool)
    local = {k.__name__ for k in kind.__mro__} & {"PreloadMemoryTool", "ExampleTool"}
    return not local and isinstance(tool, BaseTool) and kind.run_async is BaseTool.run_async


def is_engine_tool(tool: Any) -> bool:
    """Whether a tool is the engine's own, or the guard's, by its code and not by its name: a server
    may offer a write tool under the name of an engine tool, and an agent as a tool may bear one."""
    kind, function = type(tool), getattr(tool, "func", None)
    if isinstance(tool, OwnTool):
        return True
    if not of_engine(kind):
        return False
    if function is not None and kind.__name__ != "TransferToAgentTool":
        return str(getattr(function, "__module__", "")).startswith("google.adk.")
    return kind.__name__ in _ENGINE_TOOLS


def is_reminded(agent: Any) -> bool:
    """Whether the engine adds memories to this agent's prompts, without a call that could be seen."""
    return any(type(t).__name__ == "PreloadMemoryTool" for t in getattr(agent, "tools", None) or ())


def calls_agent(tool: Any) -> bool:
    """Whether an agent calls another one, or a graph of them, by this tool."""
    if type(tool).__name__ == "TransferToAgentTool":
        return is_engine_tool(tool)
    names = {k.__name__ for k in type(tool).__mro__ if of_engine(k)}
    return not names.isdisjoint({"AgentTool", "NodeTool"})


def is_called(agent: Any) -> bool:
    """Whether an agent that enters is not run by a graph or by an agent made of steps: those are the
    app's own plan."""
    parent = getattr(agent, "parent_agent", None)
    return parent is None or node_kind(parent) not in _SHELLS


def is_delegated(agent: Any) -> bool:
    """Whether an agent works on a task that another one gave it."""
    parent = getattr(agent, "parent_agent", None)
    return getattr(agent, "mode", None) == "task" and parent is not None and is_called(agent)


def function_of(obj: Any) -> Any:
    """The Python function behind a tool or a function node, None when there is none."""
    for name in ("func", "_func", "roundsman_function"):
        function = getattr(obj, name, None)
        if callable(function):
            return function
    return None


def arguments(tool: Any) -> tuple[str, ...]:
    """Names of the arguments of a tool's function, without the context."""
    function = function_of(tool) or (tool if inspect.isroutine(tool) else None)
    if function is None:
        return ()
    try:
        names = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()
    return tuple(n for n in names if n not in ("tool_context", "ctx", "self", "node_input"))


def state_arguments(node: Any, ctx: Any) -> dict[str, Any]:
    """Arguments a function node takes from the session's state instead of its input."""
    if getattr(node, "parameter_binding", "") != "state":
        return {}
    names = (n for n in arguments(node) if n in ctx.state)
    return {name: ctx.state[name] for name in names}
