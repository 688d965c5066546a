"""What reaches a tool through the engine's own runner: seen inside the tool, told to the model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.tools import AgentTool, FunctionTool
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from roundsman.policy import Policy, load_policy
from roundsman.testing import GuardedResult, ScriptedModel, assert_refused, call, run_guarded

SEEN: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    SEEN.clear()


class Range(BaseModel):
    window_minutes: int = 1440
    service: str = "all"


def logs(service: str, window_minutes: int = 1440, lines: int | None = None) -> dict[str, Any]:
    """Log lines."""
    SEEN.append((service, window_minutes, lines))
    return {"status": "ok", "n": len(SEEN)}


def ranged(range: Range) -> str:
    """Log lines of a range."""
    SEEN.append(range)
    return f"{len(SEEN)} lines"


def scale(replicas: int) -> list[int]:
    """Scale the service."""
    SEEN.append(replicas)
    return [replicas]


WINDOW = {"window_minutes": {"min": 1, "max": 60, "unit": "minutes"}, "lines": {"max": 100}}
TOOLS = {
    "logs": {"effect": "read", "args": WINDOW},
    "ranged": {"effect": "read", "args": {"range.window_minutes": {"max": 60}}},
    "scale": {"effect": "write", "args": {"replicas": {"min": 1, "max": 10}}},
}


async def ask(*calls: Any, policy: Policy | None = None) -> GuardedResult:
    model = ScriptedModel([*calls, "done"])
    agent = LlmAgent(name="a", model=model, tools=[logs, ranged, scale])
    bounds = load_policy("default").with_tools(TOOLS) if policy is None else policy
    return await run_guarded(agent, "go", bounds)


@pytest.mark.parametrize(
    ("args", "ran"),
    [
        ({"window_minutes": 240}, 60),
        ({"window_minutes": "4h"}, 60),
        ({"window_minutes": "30m"}, 30),
        ({}, 60),
        ({"window_minutes": None}, 60),
    ],
)
async def test_a_window_is_lowered_however_it_is_asked_for(args: dict[str, Any], ran: int) -> None:
    result = await ask(call("logs", service="s", lines=5, **args))
    assert [("s", ran, 5)] == SEEN
    (begun,) = [r.body for r in result.records if r.kind == "action_begins"]
    assert begun["args"] == {"service": "s", "window_minutes": ran, "lines": 5}
    (change,) = result.results("logs")[0]["amended"]
    assert change == {"arg": "window_minutes", "from": args.get("window_minutes"), "to": ran}


async def test_a_default_that_may_mean_no_limit_is_replaced_by_the_limit() -> None:
    await ask(call("logs", service="s", window_minutes=30))
    assert SEEN == [("s", 30, 100)]


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        ({"window_minutes": True}, "clamp"), ({"window_minutes": "sixty"}, "clamp"),
        ({"window_minutes": -1}, "clamp"), ({"window_minutes": 30.5}, "clamp"),
        ({"window_hours": 4}, "arguments"), ({"Window_Minutes": 240}, "arguments"),
        ({"window_minutes": 30, "windowMinutes": 9000}, "arguments"),
    ],
)  # fmt: skip
async def test_what_cannot_be_read_never_reaches_the_tool(args: dict[str, Any], rule: str) -> None:
    result = await ask(call("logs", service="s", lines=5, **args))
    assert SEEN == []
    (told,) = result.results("logs")
    assert (told["status"], told["rule"]) == ("blocked", rule)
    assert result.account.actions == 0


async def test_a_nested_argument_is_lowered_and_text_results_tell_of_it() -> None:
    result = await ask(
        call("ranged", range={"window_minutes": 9999, "service": "x"}),
        call("ranged", range={"service": "x"}),
    )
    assert [Range(window_minutes=60, service="x")] * 2 == SEEN
    first, second = result.results("ranged")
    assert first["result"] == "1 lines"
    assert first["amended"] == [{"arg": "range.window_minutes", "from": 9999, "to": 60}]
    assert second["amended"] == [{"arg": "range.window_minutes", "from": None, "to": 60}]


async def test_a_write_beyond_its_bounds_is_refused_by_default() -> None:
    result = await ask(call("scale", replicas=500), call("scale", replicas="7"))
    assert SEEN == [7]
    refused, ran = result.results("scale")
    assert refused["reason"] == (
        "scale: replicas is 500; accepted: a number of at least 1 and at most 10"
    )
    assert ran == {"result": [7], "amended": [{"arg": "replicas", "from": "7", "to": 7}]}


async def test_a_denied_tool_and_its_look_alike_do_not_run_among_tools_that_may() -> None:
    def delete_pod(pod: str) -> str:
        """Delete."""
        SEEN.append(pod)
        return "gone"

    def other(pod: str) -> str:
        """Not the same letters."""
        SEEN.append(pod)
        return "gone"

    other.__name__ = "dеlete_pod"  # its second letter is Cyrillic
    model = ScriptedModel(
        [[call("delete_pod", pod="a"), call("dеlete_pod", pod="a"), call("Delete_Pod", pod="a")],
         call("logs", service="s"), "done"]
    )  # fmt: skip
    agent = LlmAgent(name="a", model=model, tools=[delete_pod, other, logs])
    denied = {"default": "allow", "allow": {"delete_pod": {"max_calls": 0}}}
    result = await run_guarded(agent, "go", load_policy("default").with_tools(denied))
    assert SEEN == [("s", 1440, None)]
    rules = [r.body["rule"] for r in result.records if r.kind == "ruled"]
    assert rules == ["max_calls", "allowlist", "allowlist"]


def served(server: str) -> FunctionTool:
    """A tool called `get`, as a toolset of this server would make it at each request."""

    def get(x: str) -> dict[str, Any]:
        """Get."""
        SEEN.append((server, x))
        return {"status": "ok", "from": server, "x": x}

    tool = FunctionTool(get)
    tool.__dict__["_mcp_session_manager"] = SimpleNamespace(_connection_params=server)
    return tool


async def test_two_servers_with_one_tool_name_stay_two_tools() -> None:
    model = ScriptedModel([call("get", x="a"), call("get", x="b"), "found"])
    inner = LlmAgent(name="inner", model=model, tools=[served("two")])
    asks = [call("get", x="c"), call("inner", request="go"), call("get", x="d"), "done"]
    outer = LlmAgent(
        name="outer", model=ScriptedModel(asks), tools=[served("one"), AgentTool(inner)]
    )
    tools = {"get": {"effect": "read"}, "inner": {"effect": "read"}}
    result = await run_guarded(outer, "go", load_policy("default").with_tools(tools))
    assert SEEN == [("one", "c"), ("one", "d")]
    assert_refused(result, "get", times=2)
    assert (result.account.actions, result.text) == (3, "done")


async def test_values_no_journal_can_print_are_refused_or_written_all_the_same() -> None:
    def odd(x: Any = None) -> Any:
        """Odd."""
        ring: dict[Any, Any] = {("a", 1): 10**5000}
        ring["self"] = ring
        SEEN.append(x)
        return {"status": "ok", "ring": str(type(ring))}

    model = ScriptedModel([call("odd", x=10**5000), "done"])
    result = await run_guarded(LlmAgent(name="a", model=model, tools=[odd]), "go", "default")
    assert len(SEEN) == 1
    assert result.text == "done"


def between(start: str, end: str = "now") -> str:
    """Log lines between two times."""
    SEEN.append((start, end))
    return "lines"


async def test_a_stretch_of_time_is_shortened_and_the_model_is_told() -> None:
    def widen(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        if args.get("start") == "now-61s":  # a callback after the guard
            args["start"] = "now-9h"

    asked = [
        call("between", start="now-6h"),
        call("between", start="yesterday", end="now"),
        call("between", start="now-61s"),
    ]
    agent = LlmAgent(
        name="a",
        model=ScriptedModel([*asked, "done"]),
        tools=[between],
        before_tool_callback=widen,
    )
    declared = {"between": {"effect": "read", "spans": [{"args": ["start", "end"], "max": "1h"}]}}
    result = await run_guarded(agent, "go", load_policy("default").with_tools(declared))
    assert SEEN == [("now-3600s", "now"), ("now-3600s", "now")]
    first, second, _ = result.results("between")
    assert first["amended"] == [{"arg": "start", "from": "now-6h", "to": "now-3600s"}]
    assert (second["status"], second["rule"]) == ("blocked", "clamp")
    begun = [r.body["args"] for r in result.records if r.kind == "action_begins"]
    assert begun[0] == {"start": "now-3600s"}


class Aliased(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    window_minutes: int = Field(default=1440, alias="window")


class Chosen(BaseModel):
    window: int = Field(
        default=1440, validation_alias=AliasChoices("window", "window_minutes", "w")
    )


def aliased(range: Aliased) -> str:
    """Log lines of a range."""
    SEEN.append(getattr(range, "window_minutes", range))
    return "lines"


def chosen(ranges: list[Chosen]) -> str:
    """Log lines of ranges."""
    SEEN.extend(getattr(r, "window", r) for r in ranges)
    return "lines"


def anything(range: dict[str, Any]) -> str:
    """Log lines of a range."""
    SEEN.append(range)
    return "lines"


BOUND = {"effect": "read", "args": {"window": {"max": 60}}}


async def run(function: Any, *calls: Any, bound: Any = None, **agent: Any) -> GuardedResult:
    policy = load_policy("default").with_tools({function.__name__: bound or BOUND})
    model = ScriptedModel([*calls, "done"])
    return await run_guarded(
        LlmAgent(name="a", model=model, tools=[function], **agent), "go", policy
    )


@pytest.mark.parametrize("key", ["window_minutes", "w", "Window", "window "])
async def test_a_field_is_not_reached_by_another_of_its_names(key: str) -> None:
    if key == "window_minutes":
        await run(aliased, call("aliased", range={key: 999}), call("aliased", range={"window": 99}))
        assert SEEN == [60]
        SEEN.clear()
    await run(chosen, call("chosen", ranges=[{key: 999}]), call("chosen", ranges=[{"window": 99}]))
    assert SEEN == [60]


@pytest.mark.parametrize("text", ['{"window": 999}', '{"window": ', "[999]", ""])
async def test_a_text_in_place_of_an_object_is_refused(text: str) -> None:
    result = await run(anything, call("anything", range=text))
    assert SEEN == []
    assert "range is a text; accepted: an object" in result.results("anything")[0]["reason"]
    await run(chosen, call("chosen", ranges=[text]), call("chosen", ranges=text))
    assert SEEN == []


async def test_what_a_callback_changes_deep_inside_is_bounded_again() -> None:
    def widen(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["range"]["more"][0]["window"] = 999

    asked = {"window": 3, "more": [{"window": 4}]}
    await run(anything, call("anything", range=asked), before_tool_callback=widen)
    assert SEEN == [{"window": 3, "more": [{"window": 60}]}]
    SEEN.clear()
    wide = {"window": 300, "more": [{"window": 4}]}  # amended first, then changed
    await run(anything, call("anything", range=wide), before_tool_callback=widen)
    assert SEEN == [{"window": 60, "more": [{"window": 60}]}]


PAID: list[Any] = []


class Share(BaseModel):
    amount: int


def refund(
    order: str,
    amount: int,
    extra: int | None = None,
    parts: list[int] | None = None,
    either: int | list[int] = 1,
    share: Share | None = None,
) -> dict[str, Any]:
    """Pay back."""
    PAID.append((order, amount, extra, parts, either, share))
    return {"status": "ok"}


UP_TO = {"max": 100}
REFUND = {
    "effect": "write",
    "args": {
        "order": {"allowed": ["A1", "A2"]},
        "amount": UP_TO,
        "extra": UP_TO,
        "parts": UP_TO,
        "either": UP_TO,
    },
}


@pytest.mark.parametrize(
    ("args", "paid"),
    [
        ({}, True),
        ({"amount": [100, 100, 100]}, False),
        ({"amount": []}, False),
        ({"order": ["A1", "A2"]}, False),
        ({"order": []}, False),
        ({"extra": [5]}, False),
        ({"share": {"amount": 5}}, True),
        ({"parts": [1, 100]}, True),
        ({"parts": [1, 101]}, False),
        ({"either": [1, 100]}, True),
        ({"either": [101]}, False),
        ({"either": 101}, False),
    ],
)
async def test_a_list_is_no_way_past_the_bounds_of_one_value(
    args: dict[str, Any], paid: bool
) -> None:
    PAID.clear()
    model = ScriptedModel(
        [call("refund", **{"order": "A1", "amount": 5, "extra": 1, "parts": [1]} | args), "done"]
    )
    agent = LlmAgent(name="clerk", model=model, tools=[refund])
    policy = load_policy("default").with_tools({"refund": REFUND})
    result = await run_guarded(agent, "go", policy)
    assert len(PAID) == int(paid)
    assert result.results("refund")[0]["status"] == ("ok" if paid else "blocked")
