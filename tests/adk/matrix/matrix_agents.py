"""Cases: agents that call agents, and models that are called in other ways."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionResult
from google.adk.events.event import Event
from google.adk.models._fallback_model import FallbackModel
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.models.registry import LLMRegistry
from google.adk.runners import InMemoryRunner
from google.adk.tools import AgentTool, FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from matrix_lab import BUSY, Case, Lab, busy_script

from roundsman.testing import ScriptedModel, call

BUDGET = frozenset({"budget"})


def calling(lab: Lab, name: str, *tools: Any, **more: Any) -> LlmAgent:
    """An agent that calls `name` once and is done."""
    model = lab.model([call(name, request="dig"), "done"])
    return LlmAgent(name="outer", model=model, tools=list(tools), **more)


class Named(ScriptedModel):
    """Made by the registry, afresh for every call: it counts turns by what it is shown."""

    lab: ClassVar[Lab]

    @classmethod
    def supported_models(cls) -> list[str]:
        return [r"matrix-.*"]

    def __init__(self, **data: Any) -> None:
        super().__init__(self._turn, **data)

    def _turn(self, request: LlmRequest, n: int) -> Any:
        self.lab.log.append(("model", n))
        return busy_script(request, sum(c.role == "model" for c in request.contents))


def by_name(lab: Lab) -> Any:
    LLMRegistry.register(Named)
    Named.lab = lab
    return lab.worker(model="matrix-1")


def transfer(lab: Lab) -> Any:
    model = lab.model([call("transfer_to_agent", agent_name="worker")])
    return LlmAgent(name="outer", model=model, sub_agents=[lab.worker()])


def single_turn(lab: Lab) -> Any:
    return calling(lab, "worker", sub_agents=[lab.worker(mode="single_turn")])


def task(lab: Lab) -> Any:
    return calling(lab, "worker", sub_agents=[lab.worker(mode="task")])


def two_deep(lab: Lab) -> Any:
    middle = LlmAgent(
        name="middle",
        description="asks the worker",
        model=lab.model([call("worker", request="dig"), "done"]),
        tools=[AgentTool(lab.worker())],
    )
    return calling(lab, "middle", AgentTool(middle))


def own_runner(lab: Lab) -> Any:
    async def delegate(request: str) -> str:
        """Let a colleague do it."""
        runner = InMemoryRunner(agent=lab.worker(), app_name="own")
        await runner.run_debug(request, quiet=True)
        return "did it"

    return calling(lab, "delegate", delegate)


def tool_calls_tool(lab: Lab) -> Any:
    dig, restart = FunctionTool(lab.dig), FunctionTool(lab.restart_pod)

    async def survey(tool_context: ToolContext) -> dict[str, Any]:
        """Look everywhere."""
        said = [await restart.run_async(args={"pod": "c"}, tool_context=tool_context)]
        for depth in range(240, 243):
            said.append(await dig.run_async(args={"depth": depth}, tool_context=tool_context))
        return {"said": said}

    return LlmAgent(
        name="outer",
        model=lab.model(lambda r, n: call("survey") if n < BUSY else "done"),
        tools=[survey],
    )


async def ask(model: BaseLlm, times: int = BUSY) -> str:
    """Call a model directly, again and again, until it fails."""
    for _ in range(times):
        content = types.Content(role="user", parts=[types.Part(text="q")])
        async for said in model.generate_content_async(LlmRequest(contents=[content])):
            if said.error_code:
                return str(said.error_code)
    return "ok"


def made_in_tool(lab: Lab) -> Any:
    async def consult(request: str) -> str:
        """Ask another model."""
        return await ask(lab.model(["fine"]))

    return calling(lab, "consult", consult)


class Consulting(BaseAgent):
    """An agent of one's own that calls its model."""

    llm: Any

    async def _run_async_impl(self, ctx: Any) -> AsyncGenerator[Event, None]:
        said = await ask(self.llm)
        yield Event(author=self.name, content=types.Content(parts=[types.Part(text=said)]))


def custom(lab: Lab) -> Any:
    return Consulting(name="consulting", llm=lab.model(["fine"]))


class Overloaded(Exception):
    status_code = 503


class Failing(ScriptedModel):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._script(llm_request, 0)
        raise Overloaded
        yield


def fallback(lab: Lab) -> Any:
    def counted(request: LlmRequest, n: int) -> None:
        lab.log.append(("model", n))

    return lab.worker(model=FallbackModel(models=[Failing(counted), lab.busy()]))


class Executor(BaseCodeExecutor):
    """Runs the model's code by letting the lab count it."""

    lab: Any

    def execute_code(self, invocation_context: Any, code_execution_input: Any) -> Any:
        self.lab.restart_pod(code_execution_input.code)
        return CodeExecutionResult(stdout="ok")


def code_executor(lab: Lab) -> Any:
    model = lab.model(["```python\nrestart()\n```", "done"])
    return LlmAgent(name="coder", model=model, code_executor=Executor(lab=lab))


BOTH = frozenset({"outer", "worker"})
AGENTS = {
    "single_agent": Case(lambda lab: lab.worker(), shares=frozenset({"worker"})),
    "model_by_name": Case(by_name, shares=frozenset({"worker"})),
    "transfer": Case(transfer, shares=BOTH),
    "single_turn_sub_agent": Case(single_turn, tools={"worker": {}}, shares=BOTH),
    "task_delegation": Case(task, tools={"worker": {}}, path=r"worker: mode='task'"),
    "agent_tool": Case(
        lambda lab: calling(lab, "worker", AgentTool(lab.worker())),
        tools={"worker": {}},
        shares=BOTH,
    ),
    "agent_tool_without_plugins": Case(
        lambda lab: calling(lab, "worker", AgentTool(lab.worker(), include_plugins=False)),
        tools={"worker": {}},
        shares=BOTH,
    ),
    "nested_agent_tools": Case(
        two_deep,
        tools={"worker": {}, "middle": {}},
        shares=frozenset({"outer", "middle", "worker"}),
    ),
    "sequential_agent": Case(
        lambda lab: SequentialAgent(name="all", sub_agents=[lab.worker("a"), lab.worker("b")])
    ),
    "parallel_agent": Case(
        lambda lab: ParallelAgent(name="all", sub_agents=[lab.worker("a"), lab.worker("b")]),
        shares=frozenset({"a", "b"}),
    ),
    "loop_agent": Case(
        lambda lab: LoopAgent(name="all", sub_agents=[lab.worker()], max_iterations=3)
    ),
    "own_runner": Case(own_runner, tools={"delegate": {}}, shares=BOTH),
    "tool_calls_tool": Case(
        tool_calls_tool,
        tools={"survey": {}},
        limits={"steps": 20, "actions": 6},
        stop="actions",
    ),
    "model_made_in_tool": Case(made_in_tool, tools={"consult": {}}, checks=BUDGET),
    "custom_agent": Case(custom, checks=BUDGET, shares=frozenset({"(direct call)"})),
    "fallback_model": Case(fallback, shares=frozenset({"worker"})),
    "code_executor": Case(
        code_executor, checks=frozenset({"allowlist"}), path="coder: a code executor"
    ),
}
