"""A limit under a name that nothing bears would hold for nothing: it is told, or nothing runs."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import FunctionTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.genai import types
from matrix_lab import Lab
from pydantic import BaseModel

from roundsman import guarded
from roundsman.adk.arguments import signature_of
from roundsman.adk.audit import audit
from roundsman.adk.slips import slips
from roundsman.errors import PolicyWarning, RefusedToStart
from roundsman.policy import Policy, load_policy
from roundsman.policy.agents import Share
from roundsman.policy.conversation import TaintRule, TextCheck
from roundsman.policy.model import AuditException
from roundsman.testing import ScriptedModel, call, run_guarded


def opened(**allow: Any) -> Policy:
    """A policy under which what it does not name runs, too."""
    return load_policy("baseline").with_tools({"default": "allow", "allow": allow})


def closed(**allow: Any) -> Policy:
    return load_policy("baseline").with_tools({"default": "refuse", "allow": allow})


def excepting(policy: Policy, path: str) -> Policy:
    return policy.model_copy(update={"exceptions": [AuditException(path=path, why="I know")]})


DEPTH = {"effect": "read", "args": {"depth": {"max": 60}}}


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (opened(digg=DEPTH), r"tools.allow.digg: no tool .*'dig' runs without .* mean 'dig'"),
        (opened(restart_pods={"max_calls": 0}), "did you mean 'restart_pod'"),
        (opened(Restart_Pod={"approve": "always"}), "did you mean 'restart_pod'"),
        (
            closed(dig={"effect": "read", "args": {"dept": {"max": 60}}}),
            "tools.allow.dig.args.dept: dig has no such argument: .*mean 'depth'",
        ),
        (
            closed(dig={"effect": "read", "spans": [{"args": ["begin", "end"], "max": "1h"}]}),
            "tools.allow.dig.spans.begin: dig has no such argument",
        ),
        (
            closed(restart_pod={"effect": "write", "idempotency": "key"}),
            "tools.allow.restart_pod.idempotency.key",
        ),
    ],
)
def test_a_misspelled_bound_does_not_start_and_is_named(policy: Policy, said: str) -> None:
    with pytest.raises(RefusedToStart, match=said):
        guarded(Lab().worker(), policy)


async def test_an_exception_lets_it_start_and_nothing_holds_then() -> None:
    lab = Lab()
    policy = excepting(opened(digg=DEPTH), "tools.allow.digg")
    await run_guarded(lab.worker(), "go", policy)
    assert ("dig", 240) in lab.log


@pytest.mark.parametrize(
    "policy",
    [
        load_policy("baseline").model_copy(
            update={
                "agents": load_policy("baseline").agents.model_copy(
                    update={"shares": {"wroker": Share(steps=1)}}
                )
            }
        ),
        load_policy("baseline").model_copy(
            update={
                "conversation": load_policy("baseline").conversation.model_copy(
                    update={"checks": {"secrets": TextCheck(tools=["dgi", "restart_pods"])}}
                )
            }
        ),
    ],
)
def test_misspelled_agents_and_tools_of_checks_do_not_start(policy: Policy) -> None:
    with pytest.raises(RefusedToStart, match=r"did you mean '(worker|restart_pod)'"):
        guarded(Lab().worker(), policy)


def warned(policy: Policy, app: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        guarded(app, policy)
    return [str(w.message) for w in caught if w.category is PolicyWarning]


def test_a_name_nothing_bears_is_told_when_limits_could_be_lost() -> None:
    (said,) = warned(opened(erase={"effect": "destructive"}), Lab().worker())
    assert said.startswith("tools.allow.erase: no tool seen has this name")
    # a closed allowlist refuses what was meant: told when it looks like a slip, else by the audit
    (said,) = warned(closed(digg=DEPTH), Lab().worker())
    assert "did you mean 'dig'" in said
    assert warned(closed(erase={}, dig=DEPTH, restart_pod={}), Lab().worker()) == []


def test_two_tools_of_one_name_are_told_by_the_audit() -> None:
    lab, other = Lab(), Lab()
    policy = closed(dig=DEPTH, restart_pod={})
    below = other.worker(name="below")
    agent = lab.worker(sub_agents=[below])
    said = [s for s in slips(audit(agent), policy) if "different tools" in s.what]
    assert [(s.path, s.gap) for s in said] == [
        ("tools.allow.dig", False),
        ("tools.allow.restart_pod", False),
    ]
    twice = FunctionTool(plain), FunctionTool(plain)
    below = LlmAgent(name="below", model="m", tools=[twice[0]])
    agent = LlmAgent(name="top", model="m", tools=[twice[1], plain], sub_agents=[below])
    assert slips(audit(agent), closed(plain={})) == []
    below = LlmAgent(name="below", model="m", tools=[lab.dig])
    agent = LlmAgent(name="top", model="m", tools=[lab.dig], sub_agents=[below])
    assert slips(audit(agent), closed(dig=DEPTH)) == []


def test_taint_says_which_tools_it_does_not_cover() -> None:
    policy = opened(restart_pod={"effect": "write"})
    assert warned(policy, Lab().worker()) == []
    talk = policy.conversation.model_copy(
        update={"taint": TaintRule(mode="enforce", trusted_tools=["lookup"])}
    )
    said = warned(policy.model_copy(update={"conversation": talk}), Lab().worker())
    assert [s.partition(":")[0] for s in said] == [
        "worker.dig",
        "conversation.taint.trusted_tools.lookup",
    ]


class Server(BaseToolset):
    """Hands out tools that nobody knows before a request."""

    def __init__(self, *tools: BaseTool) -> None:
        super().__init__()
        self._of_server = [lambda t=t: t for t in tools]

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        return [make() for make in self._of_server]

    async def close(self) -> None:
        """Nothing to close."""


async def test_what_a_toolset_brings_is_held_to_what_is_said_of_it() -> None:
    lab = Lab()
    policy = opened(dig=DEPTH)
    agent = lab.worker(tools=[Server(FunctionTool(lab.dig)), lab.restart_pod])
    with pytest.warns(PolicyWarning, match=r"worker.Server may bring it"):
        await run_guarded(agent, "go", policy)
    assert {depth for kind, depth in lab.log if kind == "dig"} <= set(range(61))
    assert 60 in {depth for kind, depth in lab.log if kind == "dig"}


async def test_a_tool_a_toolset_brings_under_another_spelling_is_not_run() -> None:
    lab = Lab()
    agent = lab.worker(tools=[Server(FunctionTool(lab.dig)), lab.restart_pod])
    with pytest.warns(PolicyWarning):
        result = await run_guarded(agent, "go", opened(digs=DEPTH))
    assert not any(kind == "dig" for kind, _ in lab.log)
    assert ("restart_pod", "b") in lab.log
    assert "one of them is misspelled" in result.results("dig")[0]["reason"]
    refused = [r.body for r in result.records if r.kind == "ruled" and r.body["subject"] == "dig"]
    assert len(refused) == 7
    assert refused[0]["rule"] == "allowlist"


class Remote(BaseTool):
    """A tool of which only a schema is known, as those of servers are."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(name="dig", description="digs")
        self.lab = lab

    def _get_declaration(self) -> types.FunctionDeclaration:
        schema = {"type": "object", "properties": {"metres": {"type": "integer"}}}
        return types.FunctionDeclaration(name="dig", parameters_json_schema=schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return self.lab.dig(args["metres"])


async def test_a_bound_the_servers_tool_does_not_know_refuses_the_call() -> None:
    lab = Lab()
    model = ScriptedModel([call("dig", metres=500), "done"])
    agent = LlmAgent(name="a", model=model, tools=[Server(Remote(lab))])
    result = await run_guarded(agent, "go", closed(dig=DEPTH))
    assert lab.log == []
    assert "bounds 'depth' of dig, which has no such argument" in result.results("dig")[0]["reason"]
    told = closed(dig={"effect": "read", "args": {"metres": {"max": 60}}})
    model = ScriptedModel([call("dig", metres=500), "done"])
    await run_guarded(LlmAgent(name="a", model=model, tools=[Server(Remote(lab))]), "go", told)
    assert lab.log == [("dig", 60)]


class Where(BaseModel):
    region: str
    depth: int = 1


def plain(place: str, n: int = 1) -> str:
    """A tool."""
    return place


def within(place: Where, more: list[Where] | None = None) -> str:
    """A tool."""
    return place.region


def loose(place: dict[str, Any]) -> str:
    """A tool."""
    return str(place)


def untyped(place) -> str:  # type: ignore[no-untyped-def]
    """A tool."""
    return str(place)


def keywords(place: str, **more: Any) -> str:
    """A tool."""
    return place


def nothing() -> str:
    """A tool."""
    return ""


@pytest.mark.parametrize(
    ("function", "paths", "missing"),
    [
        (plain, ["place", "n"], []),
        (plain, ["depth", "place.depth", "N"], ["N", "depth", "place.depth"]),
        (within, ["depth", "place.depth", "more[].depth", "place.region"], []),
        (within, ["deep", "place.deep", "more[].deep"], ["deep", "more[].deep", "place.deep"]),
        (loose, ["depth", "place.depth"], []),
        (loose, ["places.depth"], ["places.depth"]),
        (untyped, ["depth", "place.depth"], []),
        (keywords, ["depth", "any.thing"], []),
        (nothing, ["depth"], ["depth"]),
    ],
)
def test_which_bounds_a_tool_can_not_have(
    function: Any, paths: list[str], missing: list[str]
) -> None:
    assert list(signature_of(FunctionTool(function), frozenset(paths)).missing) == missing
