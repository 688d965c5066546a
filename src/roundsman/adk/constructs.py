"""Every construct of the engine a call can come from, and how it is bounded.

One table for the audit, the documentation and the test matrix: a construct without a test, or a test
without a construct, fails the suite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

ADK_VERSIONS = ">=2.13,<2.14"
"""Versions of google-adk the table was checked with."""


class Handling(StrEnum):
    """What the guard does about a construct.

    `guarded`: judged, counted and in the journal. `partly`: what `how` names is bounded, the rest is
    not. `refused`: the app does not start, unless the policy names the path under `exceptions:`.
    """

    GUARDED = "guarded"
    PARTLY = "partly"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Construct:
    """One construct: `what` a person calls it, its `handling`, and `how` in one sentence."""

    what: str
    handling: Handling
    how: str
    versions: str = ADK_VERSIONS


def _guarded(what: str, how: str) -> Construct:
    return Construct(what, Handling.GUARDED, how)


def _refused(what: str, how: str) -> Construct:
    return Construct(what, Handling.REFUSED, how)


CONSTRUCTS: Mapping[str, Construct] = {
    "single_agent": _guarded(
        "a single agent with tools",
        "the model object judges its own calls, the plugin every tool call",
    ),
    "model_by_name": _guarded(
        "a model given by name", "models are guarded as the registry makes them"
    ),
    "workflow_node": _guarded("an agent as a workflow node", "as a single agent"),
    "dynamic_run_node": _guarded(
        "an agent run by `ctx.run_node`", "audited and guarded when it enters"
    ),
    "transfer": _guarded("transfer between agents", "sub-agents charge the same account"),
    "single_turn_sub_agent": _guarded(
        "a single-turn sub-agent as a tool",
        "the call is judged as an action, its steps charge the same account",
    ),
    "task_delegation": _refused(
        "a sub-agent with mode='task'", "delegation goes past the tool hooks"
    ),
    "agent_tool": _guarded(
        "an agent as a tool (AgentTool)", "its run is bound to the account of the call in flight"
    ),
    "agent_tool_without_plugins": _guarded(
        "AgentTool(include_plugins=False)", "its runner is given the guard, and no other plugin"
    ),
    "nested_agent_tools": _guarded("agents as tools, two deep", "one account for all levels"),
    "sequential_agent": _guarded("SequentialAgent", "one account for all its agents"),
    "parallel_agent": _guarded("ParallelAgent", "one account for all branches"),
    "loop_agent": _guarded("LoopAgent", "one account for all iterations; it ends with its run"),
    "workflow_sequence": _guarded("agents in sequence in a workflow", "one account"),
    "workflow_fan_out": _guarded("agents side by side in a workflow", "one account"),
    "workflow_loop": _guarded("a loop in a workflow", "one account for all turns of the loop"),
    "parallel_run_node": _guarded(
        "several `ctx.run_node` at once", "one account for all that run at the same time"
    ),
    "node_tool": _guarded(
        "a workflow as a tool (NodeTool)", "the call is an action, what runs inside is judged"
    ),
    "function_tool_node": _guarded(
        "a FunctionTool as a workflow node", "judged like a tool call of a model"
    ),
    "function_node": _guarded(
        "a plain function as a workflow node",
        "judged as an action once the policy declares it; before that it is the app's own code, and "
        "what it calls is judged",
    ),
    "undeclared_node": _refused(
        "a plain function as a workflow node, beside a policy that declares other tools",
        "no allowlist speaks of it: declare it under tools",
    ),
    "tool_calls_tool": _guarded(
        "a tool that runs another tool object", "the inner call is judged as an action of its own"
    ),
    "own_runner": _guarded(
        "a tool that builds its own Runner", "the runner is given the guard of the run it is in"
    ),
    "node_calls_model": _guarded(
        "a node that calls a model directly", "the model judges; charged to the share (direct call)"
    ),
    "custom_agent": _guarded(
        "an agent class of your own that calls a model", "the model judges, as in a node"
    ),
    "model_made_in_tool": _guarded(
        "a model made inside of a tool", "guarded as it is made, while an account is in force"
    ),
    "fallback_model": _guarded("FallbackModel", "each model it tries is judged and charged"),
    "compaction": _guarded(
        "the compaction summariser", "charged to the run whose events it sums up, as (compaction)"
    ),
    "code_executor": _refused("a code executor", "the model's code runs without any tool hook"),
    "long_running_tool": _guarded(
        "a long-running tool", "one action; the run waits and goes on with the same account"
    ),
    "confirmation_tool": _guarded(
        "a tool that asks for confirmation",
        "judged before a person is asked, counted once, when it runs",
    ),
    "resumable_app": _guarded(
        "a resumable app", "an invocation taken up again goes on with its account"
    ),
    "sse_streaming": _guarded("streaming (SSE)", "partial chunks are never added up"),
    "openapi_toolset": _guarded("an OpenAPI toolset", "each operation is a tool by its name"),
    "mcp_toolset": _guarded("an MCP toolset", "each tool of the server is a tool by its name"),
    "mcp_changing_tools": _guarded(
        "an MCP server whose tools change", "judged at the call, whatever was listed before"
    ),
    "mcp_sampling": _refused(
        "an MCP toolset with a sampling callback",
        "the server calls the model outside of every run",
    ),
    "remote_agent": Construct(
        "a remote agent (A2A)",
        Handling.PARTLY,
        "entering it is an action by its name; what it spends and runs over there is not seen",
    ),
    "server_side_tool": Construct(
        "a tool that runs at the model's provider",
        Handling.PARTLY,
        "taken out of the request when the policy declares tools and not this one; its calls are "
        "not counted",
    ),
    "framework_tools": _guarded(
        "tools the engine adds (transfers, structured output, exit_loop ...)",
        "always allowed, when they are the engine's own",
    ),
    "foreign_agent": _refused(
        "an agent of another framework (LangGraph, managed, Antigravity)",
        "it calls its model and tools past every hook",
    ),
    "foreign_client": _refused(
        "a function that uses another SDK's model client", "its calls pass no model object"
    ),
    "live": _guarded(
        "a live (voice) session",
        "its connection is seen through: a turn is a step, at a limit it ends; what needs a person, "
        "and compositional function calling, is refused",
    ),
}
"""key -> construct, in the order the documentation shows them."""
