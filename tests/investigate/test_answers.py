"""A tool of the investigator answers every call with a status, whatever a model passes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import PrivateAttr

from roundsman.guard import rules_for
from roundsman.investigate import investigate, load_incident
from roundsman.investigate.answers import RESULT, finish
from roundsman.investigate.dry_run import content_of, dry_run
from roundsman.investigate.execute import execute
from roundsman.investigate.models import model_named
from roundsman.investigate.request import Request
from roundsman.investigate.run import prepare
from roundsman.investigate.tools import make_tools
from roundsman.ledger import LiveRun, Store, open_store
from roundsman.loop.carry import LONGEST, MOST
from roundsman.policy import load_policy
from roundsman.testing import ScriptedModel, call

OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"
TOOLS: dict[str, Callable[..., Any]] = {t.__name__: t for t in make_tools(load_incident(OUTAGE))}
READS = ["query_metrics", "query_logs", "list_deploys"]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
names = st.sampled_from(["service", "metric", "text", "window_minutes", "end_minutes_ago", "other"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tool=st.sampled_from(READS), args=st.dictionaries(names, anything, max_size=4))
def test_any_call_is_answered(tool: str, args: dict[str, Any]) -> None:
    result = TOOLS[tool](**args)
    assert result["status"] in ("ok", "empty", "error")
    assert len(json.dumps(result, ensure_ascii=False)) <= RESULT
    if result["status"] == "error":
        assert result["error"]


@pytest.mark.parametrize("tool", READS)
def test_null_is_the_default(tool: str) -> None:
    plain = TOOLS[tool]()
    nulls = dict.fromkeys(plain["query"].keys() & {"service", "metric", "text"})
    assert TOOLS[tool](**nulls, window_minutes=None, end_minutes_ago=None) == plain


@pytest.mark.parametrize(
    ("tool", "args", "says"),
    [
        ("query_logs", {"service": ["a"]}, "service must be a text, got list"),
        ("query_metrics", {"metric": {}}, "metric must be a text, got dict"),
        ("query_logs", {"window_minutes": "60"}, "window_minutes must be a number, got '60'"),
        ("query_logs", {"window_minutes": True}, "window_minutes must be a number, got True"),
        ("list_deploys", {"end_minutes_ago": -1}, "end_minutes_ago must be 0"),
        ("list_deploys", {"services": "x"}, "no argument 'services'; there are: window_minutes"),
        ("query_logs", {"text": "x" * 501}, "text has 501 characters"),
    ],
)
def test_a_wrong_argument_is_named(tool: str, args: dict[str, Any], says: str) -> None:
    result = TOOLS[tool](**args)
    assert result["status"] == "error"
    assert says in result["error"]


def test_a_number_is_searched_for_as_text() -> None:
    assert TOOLS["query_logs"](text=503)["query"]["text"] == "503"


def test_a_source_that_breaks_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    incident = load_incident(OUTAGE)

    def broken(*_: object) -> None:
        raise OSError("stale file handle")

    monkeypatch.setattr(incident.source, "series", broken)
    result = make_tools(incident)[0]()
    assert result["status"] == "error"
    assert "query_metrics failed: OSError: stale file handle" in result["error"]


def test_a_model_that_passes_nonsense_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [
        [call("query_logs", service=None, text=7), call("query_metrics", metric=["x"])],
        '{"findings": [{"statement": "nothing", "evidence": ["a1"]}], "done": true}',
    ]
    monkeypatch.setattr(
        "roundsman.investigate.run.model_named",
        lambda name, *_: ScriptedModel(script) if name == "scripted" else model_named(name),
    )
    store = Store(tmp_path / "s.sqlite")
    report, _ = investigate(OUTAGE, load_policy("default"), model="scripted", store=store)
    assert report["stop"]["reason"] != "failed"
    assert [row["status"] for row in report["evidence"]] == ["ok", "error"]


big = st.integers(0, 3).flatmap(lambda n: st.just("größe" * 10**n))
values = st.recursive(
    big | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(big, inner, max_size=3),
    max_leaves=60,
)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(
        st.sampled_from(["query", "series", "services", "next", "steady", "x"]), values
    ),
    st.integers(1, 400),
)
def test_an_answer_never_exceeds_its_cap_whatever_is_in_it(parts: dict[str, Any], n: int) -> None:
    many = [{"service": "s" * 300, "n": i} for i in range(n)]
    found = finish({"status": "ok", **parts, "many": many, "left_out": {}}, ("many",))
    assert len(json.dumps(found, ensure_ascii=False)) <= RESULT
    assert found["status"] == "ok"
    kept = len(found.get("many", []))
    assert kept == n or found["left_out"]["many"] == n - kept


class Recorder(BaseLlm):
    """Asks three questions and answers with one new finding each round; keeps the size of each request."""

    _sizes: list[int] = PrivateAttr(default_factory=list)
    _long: bool = PrivateAttr(default=False)
    _first: dict[str, Any] = PrivateAttr(default_factory=dict)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        content = content_of(llm_request)
        self._first = self._first or content
        self._sizes.append(len(json.dumps(content, ensure_ascii=False)))
        number = len(self._sizes)
        parts = [types.Part(function_call=types.FunctionCall(name=name, args={})) for name in READS]
        if number % 2 == 0:
            finding = f"thing {number} is {number} " + "very " * (2000 if self._long else 4)
            answer = {"findings": [{"statement": finding}], "done": False}
            parts = [types.Part(text=json.dumps(answer))]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


@pytest.mark.parametrize("long", [False, True])
def test_what_a_model_is_sent_a_round_does_not_grow_with_the_rounds(
    long: bool, tmp_path: Path
) -> None:
    text = "version: 1\nextends: baseline\nloop: {max_rounds: 18}\nrun: {tokens: 9000000}\n"
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    model = Recorder(model="recorder")
    model._long = long
    with closing(open_store(tmp_path)) as store:
        case = prepare(Request.of_folder(OUTAGE), load_policy(str(file)), "m", store, chosen=model)
        run = LiveRun.start(store, rules_for(case.policy), policy="p", question="q", model="m")
        asyncio.run(execute(case.app, run, case.incident.describe()))
    shown = dry_run(Request.of_folder(OUTAGE), load_policy(str(file)), "gemini-x")["requests"][0]
    assert shown == {"characters": model._sizes[0], **model._first}  # what would leave, and left
    first, second = model._sizes[::2], model._sizes[1::2]
    assert run.account.rounds == len(first) == len(second) == 18
    told = MOST + 200 if long else 18 * 60
    assert max(first) - first[0] <= told
    assert max(second) - second[0] <= told
    if long:  # full from some round on, and flat after it
        assert max(first[-3:]) - min(first[-3:]) <= LONGEST + 10
