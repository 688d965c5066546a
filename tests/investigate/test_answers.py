"""A tool of the investigator answers every call with a status, whatever a model passes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roundsman.investigate import investigate, load_incident
from roundsman.investigate.answers import RESULT
from roundsman.investigate.models import model_named
from roundsman.investigate.tools import make_tools
from roundsman.ledger import Store
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
