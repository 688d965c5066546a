"""The graph: propose -> apply -> verify -> done, or undo -> look again -> rolled back.

Static, without a model. Applying and undoing are tools of the guarded app, so that they are judged,
put on record before and after, approved and taken up again as any write is. The approval stands before
`apply`: the guard asks for it when the proposed call arrives there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.tools.base_tool import BaseTool
from google.adk.workflow import START, Edge, Workflow, node

from roundsman.adk import guarded
from roundsman.ledger import Store
from roundsman.policy import Policy, load_policy
from roundsman.remedy.base import NotApplied, Remedy
from roundsman.remedy.names import NODES, VERIFY, apply_tool, look_tool, undo_tool
from roundsman.remedy.verify import Verifier

_SLACK_S = 600.0
"""Seconds of a run beside its verification: what applying and undoing may take."""
EXPIRES_S = 3600.0
"""Seconds an approval holds: what was right to do an hour ago may be wrong now."""

_ANY = (Exception, SystemExit)
"""What somebody's code may raise without ending the run in the middle."""
Call = Callable[..., Awaitable[Any]]


class RemedyTool(BaseTool):
    """A method of a remedy as a tool. `verify` says of a call that was cut off whether it was done."""

    def __init__(self, name: str, about: str, call: Call, check: Any = None) -> None:
        super().__init__(name=name, description=about)
        self._call = call
        if check is not None:
            self.verify = check

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Carry it out."""
        return await self._call(**args)


def policy_for(
    remedy: Remedy, args: Mapping[str, Any], verifier: Verifier, command_timeout: float
) -> Policy:
    """Bounds of one remedy: its call needs a person's yes, and one resource is changed by one write. The
    run's time has room for a command of `command_timeout` seconds each in applying and undoing."""
    key = remedy.resource(**args).replace("{", "(").replace("}", ")")
    effects: dict[str, dict[str, Any]] = {
        apply_tool(remedy.name): {"effect": remedy.effect, "approve": "always", "resource": key},
        undo_tool(remedy.name): {"effect": remedy.effect, "resource": key},
        VERIFY: {"effect": "read"},
        look_tool(remedy.name): {"effect": "read", "resource": key},
        **{name: {"effect": "read"} for name in NODES},
    }
    base = load_policy("default")
    policy = base.with_tools(effects)
    clock = verifier.verifying.within + 3 * _SLACK_S + 2 * command_timeout
    return policy.model_copy(
        update={
            "name": "remedy",
            "run": policy.run.model_copy(update={"wall_clock": clock, "usd": None}),
            "repetition": policy.repetition.model_copy(update={"mode": "off"}),
            "tools": policy.tools.model_copy(update={"approval_expires": EXPIRES_S}),
        }
    )


def build_app(
    remedy: Remedy, args: Mapping[str, Any], verifier: Verifier, policy: Policy, store: Store
) -> App:
    """The guarded graph of one call of one remedy."""
    call = dict(args)
    tools = _Tools(remedy, verifier)

    def check(**given: Any) -> bool | None:
        try:
            return remedy.was_applied(**given)
        except _ANY:  # a person is asked
            return None

    def undone(**given: Any) -> bool | None:
        try:
            return remedy.was_undone(**given)
        except _ANY:
            return None

    apply = node(
        RemedyTool(apply_tool(remedy.name), remedy.about, tools.apply, check=check), name="apply"
    )
    undo = node(
        RemedyTool(undo_tool(remedy.name), remedy.undoing, tools.undo, check=undone), name="undo"
    )
    verify = node(RemedyTool(VERIFY, verifier.text, verifier.watch), name="verify")
    look_again = node(
        RemedyTool(look_tool(remedy.name), "how things are after the roll back", tools.look),
        name="look_again",
    )

    def propose(node_input: Any = None) -> dict[str, Any]:
        return call

    def after_apply(node_input: Any = None) -> Event:
        said = node_input if isinstance(node_input, dict) else {}
        status, changed = said.get("status"), bool(said.get("changed"))
        if status is None:  # it was broken off in the middle: the world is asked
            done = check(**call)
            status, changed = ("ok" if done else "error"), done is None
        if status == "ok":
            return Event(output={"since": said.get("at")}, route="verify")
        if changed:
            tools.why = f"it failed on the way ({said.get('error') or 'broken off'}): "
            return Event(output=call, route="undo")
        return Event(output=said, route="left")

    def after_verify(node_input: Any = None) -> Event:
        back = isinstance(node_input, dict) and node_input.get("back") is True
        tools.why = "it did not help: "
        return Event(output={} if back else call, route="done" if back else "undo")

    def after_undo(node_input: Any = None) -> dict[str, Any]:
        return call

    def done(node_input: Any = None) -> str:
        return "done"

    def left(node_input: Any = None) -> str:
        return "not applied"

    def rolled_back(node_input: Any = None) -> str:
        return "rolled back"

    made = {
        one.__name__: node(one, name=one.__name__)
        for one in (propose, after_apply, after_verify, after_undo, done, left, rolled_back)
    }
    graph = Workflow(
        name="remedy",
        edges=[
            (START, made["propose"], apply, made["after_apply"]),
            Edge(from_node=made["after_apply"], to_node=verify, route="verify"),
            Edge(from_node=made["after_apply"], to_node=undo, route="undo"),
            Edge(from_node=made["after_apply"], to_node=made["left"], route="left"),
            (verify, made["after_verify"]),
            Edge(from_node=made["after_verify"], to_node=made["done"], route="done"),
            Edge(from_node=made["after_verify"], to_node=undo, route="undo"),
            (undo, made["after_undo"], look_again, made["rolled_back"]),
        ],
    )
    return guarded(App(name="remedy", root_agent=graph), policy, store=store)


class _Tools:
    """A remedy's own code, in threads, every way out of it a result."""

    def __init__(self, remedy: Remedy, verifier: Verifier) -> None:
        self._remedy, self._verifier = remedy, verifier
        self.why = ""  # why it is rolled back, when this process knows

    async def apply(self, **args: Any) -> dict[str, Any]:
        self._verifier.tell(f"applying {self._remedy.name}")
        try:
            did = await asyncio.to_thread(self._remedy.apply, **args)
        except NotApplied as error:
            return {"status": "error", "changed": False, "error": _said(error)}
        except _ANY as error:  # somebody's code, half of the way
            return {"status": "error", "changed": True, "error": _said(error)}
        return {"status": "ok", "did": str(did)[:1000], "at": time.time()}

    async def undo(self, **args: Any) -> dict[str, Any]:
        self._verifier.tell(f"{self.why}rolling {self._remedy.name} back")
        try:
            did = await asyncio.to_thread(self._remedy.undo, **args)
        except _ANY as error:
            return {"status": "error", "error": _said(error)}
        return {"status": "ok", "did": str(did)[:1000]}

    async def look(self, **args: Any) -> dict[str, Any]:
        try:
            state = await asyncio.to_thread(self._remedy.was_applied, **args)
            why = ""
        except _ANY as error:
            state, why = None, _said(error)
        metrics = await self._verifier.glance()
        return {"status": "ok", "applied": state, "why": why, "metrics": metrics}


def _said(error: BaseException) -> str:
    return (" ".join(str(error).split()) or type(error).__name__)[:500]
