"""Walk an app: every model and tool, what covers it, and what would go past the guard.

What a walk cannot see (objects made inside a body, toolsets' tools) is caught when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset

from roundsman.adk.constructs import CONSTRUCTS, Handling
from roundsman.adk.kinds import arguments, function_of, is_node, node_kind, of_engine, tool_kind
from roundsman.adk.model import leaves_of
from roundsman.adk.reach import clients, reachable
from roundsman.errors import RefusedToStart

_CALLBACKS = (
    "before_agent_callback", "after_agent_callback", "before_model_callback", "after_model_callback",
    "before_tool_callback", "after_tool_callback", "on_model_error_callback",
    "on_tool_error_callback", "instruction", "global_instruction",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """One model, tool or node of the app: where, what it is, and the construct that covers it.

    `excepted` is the reason the policy gives for a path that would be refused. `tool` is the name a
    policy declares it by, with its arguments; empty for what is no tool.
    """

    kind: str
    path: str
    what: str
    construct: str
    excepted: str = ""
    tool: str = ""
    args: tuple[str, ...] = ()

    @property
    def handling(self) -> Handling:
        """How the table handles the construct."""
        return CONSTRUCTS[self.construct].handling

    @property
    def gap(self) -> bool:
        """Whether the app may not start because of this."""
        return self.handling is Handling.REFUSED and not self.excepted

    @property
    def how(self) -> str:
        """How it is bounded, or why it is refused."""
        return CONSTRUCTS[self.construct].how


@dataclass(slots=True)
class Audit:
    """What a walk found. `toolsets` are the paths of those whose tools are known when it runs."""

    findings: list[Finding] = field(default_factory=list)
    models: list[BaseLlm] = field(default_factory=list)
    tools: list[BaseTool] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    toolsets: list[str] = field(default_factory=list)

    @property
    def gaps(self) -> list[Finding]:
        """What keeps the app from starting."""
        return [f for f in self.findings if f.gap]


def audit(
    app: Any, excepted: dict[str, str] | None = None, declared: frozenset[str] | None = None
) -> Audit:
    """Walk `app` (an App, an agent or a node).

    Args:
        excepted: path -> reason, of the policy's `exceptions:`.
        declared: tools the policy declares, None when it declares none and refuses none.
    """
    walk = _Walk(excepted or {}, declared)
    root = app.root_agent if isinstance(app, App) else app
    walk.node(root)
    if isinstance(app, App):
        walk.app(app)
    walk.run()
    return walk.audit


def refuse_gaps(found: Audit) -> None:
    """Raise for the gaps the policy does not name.

    Raises:
        RefusedToStart: naming each path and why.
    """
    if found.gaps:
        text = "; ".join(f"{g.path}: {g.what}: {g.how}" for g in found.gaps)
        raise RefusedToStart(
            f"the guard cannot see: {text}. Change it, or name the path under exceptions: "
            "in the policy with the reason"
        )


class _Walk:
    def __init__(self, excepted: dict[str, str], declared: frozenset[str] | None) -> None:
        self.audit = Audit()
        self._excepted, self._declared = excepted, declared
        self._seen: set[int] = set()
        self._keep: list[Any] = []  # an id names an object only as long as it lives
        self._todo: list[Callable[[], None]] = []

    def run(self) -> None:
        while self._todo:
            self._todo.pop(0)()

    def node(self, node: Any) -> None:
        self._todo.append(lambda: self._node(node))

    def app(self, app: App) -> None:
        config = app.events_compaction_config
        if config is not None:
            self._say("model", "app.compaction", "the summariser", "compaction")
            self._objects("app.compaction", vars(config.summarizer or object.__new__(_Nothing)))
        for plugin in app.plugins:
            if not type(plugin).__module__.startswith("roundsman."):
                path = f"app.{plugin.name}"
                self._objects(path, vars(plugin))
                self._objects(path, {str(n): o for n, o in enumerate(reachable(plugin))})

    def _say(self, kind: str, path: str, what: str, construct: str, tool: Any = None) -> None:
        name = str(getattr(tool, "name", "") or getattr(tool, "__name__", ""))
        excepted = self._excepted.get(path, "")
        finding = Finding(kind, path, what, construct, excepted, name, arguments(tool))
        if finding not in self.audit.findings:
            self.audit.findings.append(finding)

    def _new(self, obj: Any) -> bool:
        if obj is None or id(obj) in self._seen:
            return False
        self._seen.add(id(obj))
        self._keep.append(obj)
        return True

    def _node(self, node: Any) -> None:
        if not self._new(node):
            return
        self.audit.nodes.append(node)
        name = str(getattr(node, "name", type(node).__name__))
        self._say_node(node, name)
        for child in _children(node):
            self.node(child)
        model = getattr(node, "model", None)
        if isinstance(model, BaseLlm):
            self._model(model, f"{name}.model")
        elif isinstance(model, str) and model:
            self._say("model", f"{name}.model", repr(model), "model_by_name")
        for tool in getattr(node, "tools", None) or []:
            self._tool(tool, name)
        if isinstance(getattr(node, "tool", None), BaseTool):
            self._tool(node.tool, name, as_node=True)
        for hook in _CALLBACKS:
            self._code(getattr(node, hook, None), f"{name}.{hook}")
        if isinstance(node, BaseAgent) and not of_engine(type(node)):
            self._objects(name, vars(node))
            self._code(getattr(type(node), "_run_async_impl", None), name)
        self._code(function_of(node), name)

    def _say_node(self, node: Any, name: str) -> None:
        if getattr(node, "code_executor", None) is not None:
            self._say("agent", name, "a code executor", "code_executor")
        parent = getattr(node, "parent_agent", None)
        if getattr(node, "mode", None) == "task" and parent is not None:
            self._say("agent", name, "mode='task' below another agent", "task_delegation")
        kind = node_kind(node)
        if kind == "function_node":
            self._function_node(node, name)
        elif kind:
            called = node if kind == "remote_agent" else None
            self._say("agent", name, type(node).__name__, kind, called)

    def _function_node(self, node: Any, name: str) -> None:
        if "roundsman_agent" in vars(node):
            return
        what = "a plain function"
        if self._declared is None or name in self._declared:
            self._say("node", name, what, "function_node", node)
        else:
            what += " that is not declared under tools"
            self._say("node", name, what, "undeclared_node", node)

    def _model(self, model: BaseLlm, path: str) -> None:
        leaves = leaves_of(model)
        if leaves is not None:
            self._say("model", path, type(model).__name__, "fallback_model")
            for leaf in leaves:
                self._model(leaf, path)
        elif self._new(model):
            self._say("model", path, f"{type(model).__name__} {model.model!r}", "single_agent")
        self.audit.models.append(model)

    def _tool(self, tool: Any, owner: str, as_node: bool = False) -> None:
        name = str(getattr(tool, "name", "") or getattr(tool, "__name__", type(tool).__name__))
        path = owner if as_node else f"{owner}.{name}"
        construct = "function_tool_node" if as_node else tool_kind(tool)
        if construct != "task_delegation":  # said of the agent below it
            called = None if isinstance(tool, BaseToolset) else tool
            self._say("tool", path, type(tool).__name__, construct, called)
        if isinstance(tool, BaseTool) and self._new(tool):
            self.audit.tools.append(tool)
        self.node(getattr(tool, "agent", None))
        self.node(getattr(tool, "node", None))
        if isinstance(tool, BaseToolset):
            self.audit.toolsets.append(path)
            self._objects(path, {k: v for k, v in vars(tool).items() if k != "_sampling_callback"})
        self._code(function_of(tool) or (tool if callable(tool) else None), path)

    def _code(self, function: Any, path: str) -> None:
        if not callable(function):
            return
        for client in clients(function):
            self._say("model", path, f"a model client of {client}", "foreign_client")
        self._objects(path, {str(n): o for n, o in enumerate(reachable(function))})

    def _objects(self, path: str, objects: dict[str, Any]) -> None:
        for obj in objects.values():
            if isinstance(obj, BaseLlm):
                self._model(obj, path)
            elif isinstance(obj, App):
                self.node(obj.root_agent)
            elif is_node(obj):
                self.node(obj)
            elif isinstance(obj, BaseTool | BaseToolset) and id(obj) not in self._seen:
                self._tool(obj, path)
            elif type(obj).__name__.endswith("Runner") and of_engine(type(obj)):
                self._say("agent", path, type(obj).__name__, "own_runner")
                self.node(getattr(obj, "agent", None))


class _Nothing:
    pass


def _children(node: Any) -> Iterator[Any]:
    yield from getattr(node, "sub_agents", None) or []
    if hasattr(node, "_iter_static_children"):
        yield from node._iter_static_children()
    yield getattr(node, "roundsman_agent", None)
    yield getattr(node, "_node", None)
