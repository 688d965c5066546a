"""What the engine's hooks do, as the guard relies on it. A new version that changes one fails here,
and the message names the hook."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from google.adk.agents.base_agent import BaseAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.registry import LLMRegistry
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.runners import Runner
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow._base_node import BaseNode
from google.genai import types
from matrix_agents import AGENTS
from matrix_lab import Case, Lab, app_of
from matrix_runs import RUNS
from matrix_workflows import WORKFLOWS

from roundsman.adk.constructs import ADK_VERSIONS

SIGNATURES = {
    (Runner, "run_async"): "self user_id session_id invocation_id new_message state_delta "
    "run_config yield_user_message abort_signal",
    (PluginManager, "run_before_run_callback"): "self invocation_context",
    (BaseNode, "run"): "self ctx node_input",
    (BaseTool, "run_async"): "self args tool_context",
    (BaseTool, "check_require_confirmation"): "self args tool_context",
    (BaseLlm, "generate_content_async"): "self llm_request stream",
    (BaseLlm, "connect"): "self llm_request",
    (BaseAgent, "run_async"): "self parent_context",
    (BasePlugin, "on_user_message_callback"): "self invocation_context user_message",
    (BasePlugin, "before_run_callback"): "self invocation_context",
    (BasePlugin, "after_run_callback"): "self invocation_context",
    (BasePlugin, "on_run_error_callback"): "self invocation_context error",
    (BasePlugin, "on_event_callback"): "self invocation_context event",
    (BasePlugin, "before_agent_callback"): "self agent callback_context",
    (BasePlugin, "after_agent_callback"): "self agent callback_context",
    (BasePlugin, "on_agent_error_callback"): "self agent callback_context error",
    (BasePlugin, "before_model_callback"): "self callback_context llm_request",
    (BasePlugin, "after_model_callback"): "self callback_context llm_response",
    (BasePlugin, "on_model_error_callback"): "self callback_context llm_request error",
    (BasePlugin, "before_tool_callback"): "self tool tool_args tool_context",
    (BasePlugin, "after_tool_callback"): "self tool tool_args tool_context result",
    (BasePlugin, "on_tool_error_callback"): "self tool tool_args tool_context error",
    (LLMRegistry, "new_llm"): "model",
}


@pytest.mark.parametrize(("owner", "name"), SIGNATURES, ids=lambda x: getattr(x, "__name__", x))
def test_the_signature_of_each_hook(owner: Any, name: str) -> None:
    have = " ".join(inspect.signature(getattr(owner, name)).parameters)
    assert have == SIGNATURES[owner, name], f"{owner.__name__}.{name} has other arguments now"


class Probe(BasePlugin):
    """Notes which hooks fire for which tool, agent or model."""

    def __init__(self) -> None:
        super().__init__(name="probe")
        self.seen: list[str] = []

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        self.seen.append("run")

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        self.seen.append(f"model {callback_context.agent_name}")

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
        self.seen.append(f"before {tool.name}")

    async def after_tool_callback(self, *, tool: Any, **_: Any) -> None:
        self.seen.append(f"after {tool.name}")


SEEN = {
    # what the plugins see
    "single_agent": {"run": 1, "model worker": 9, "before dig": 7, "after dig": 7},
    "agent_tool": {"run": 2, "model worker": 9, "before worker": 1, "before dig": 7},
    "function_tool_node": {"run": 1, "before dig": 5, "after dig": 5, "before restart_pod": 1},
    "confirmation_tool": {"before dig": 2, "after dig": 2, "before restart_pod": 1},
    # what they do not see: here the guard stands on its own feet
    "agent_tool_without_plugins": {"run": 1, "model worker": 0, "before dig": 0},
    "own_runner": {"run": 1, "model worker": 0, "before dig": 0},
    "tool_calls_tool": {"before survey": 8, "before dig": 0, "before restart_pod": 0},
    "function_node": {"run": 1, "before dig": 0},
    "task_delegation": {"before worker": 0, "before dig": 7},
    "model_made_in_tool": {"model outer": 2, "before consult": 1},
    "code_executor": {"before restart_pod": 0, "model coder": 2},
    "compaction": {"model worker": 5},
}


@pytest.mark.parametrize("key", SEEN)
async def test_which_hooks_fire(key: str) -> None:
    cases: dict[str, Case] = {**AGENTS, **WORKFLOWS, **RUNS}
    case, lab, probe = cases[key], Lab(), Probe()
    built = app_of(case.build(lab))
    app = App(
        name=built.name,
        root_agent=built.root_agent,
        events_compaction_config=built.events_compaction_config,
        plugins=[probe],
    )
    await case.drive(app, lab)
    for hook, times in SEEN[key].items():
        seen = probe.seen.count(hook)
        assert seen == times, (
            f"{key}: {hook!r} fired {seen} times, not {times} as in {ADK_VERSIONS}"
        )


async def test_a_reply_in_place_of_the_model_skips_the_hook_after_it() -> None:
    """The guard tells an unjudged model by the hook after it."""
    after: list[Any] = []

    class Answering(BasePlugin):
        async def before_model_callback(self, **_: Any) -> Any:
            from google.adk.models.llm_response import LlmResponse

            return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="x")]))

        async def after_model_callback(self, **given: Any) -> None:
            after.append(given)

    lab = Lab()
    app = App(name="a", root_agent=lab.worker(), plugins=[Answering(name="answering")])
    from matrix_lab import converse

    await converse(app, ["go"])
    assert after == [], "after_model_callback fires for replies of before_model_callback now"
    assert lab.steps == 0
