"""Who calls whom decides between two changes that are otherwise alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from roundsman.investigate.analyst import plan
from roundsman.investigate.analyst_model import _read
from roundsman.investigate.collect import collect
from roundsman.investigate.run import investigate
from roundsman.investigate.suspects import suspects
from roundsman.ledger import Store
from roundsman.policy import load_policy


def moved(service: str, at: str) -> dict[str, Any]:
    return {"service": service, "metric": "errors", "moved": "step", "onset": at, "before": 1,
            "after": 90, "score": 20.0, "setting": False}  # fmt: skip


def deploy(service: str, at: str) -> dict[str, Any]:
    return {"at": at, "kind": "deploy", "service": service, "name": "v2", "diff": {}, "text": ""}


METRICS = {
    "status": "ok",
    "evidence_id": "a1",
    "series": [moved("web", "2026-01-01T10:00:00Z"), moved("db", "2026-01-01T10:00:10Z")],
}
CHANGES = {
    "status": "ok",
    "evidence_id": "a2",
    "changes": [deploy("web", "2026-01-01T09:59:30Z"), deploy("db", "2026-01-01T09:59:00Z")],
}


def first_suspect(traces: dict[str, Any]) -> str:
    results = [("a1", "query_metrics", METRICS), ("a2", "list_deploys", CHANGES)]
    return suspects(collect([*results, ("a3", "query_traces", traces)]))[0].change.service


def test_a_change_where_failures_began_goes_before_one_of_a_victim() -> None:
    assert first_suspect({"status": "empty"}) == "web"
    assert first_suspect({"origins": [{"service": "db", "errors": 4}], "victims": ["web"]}) == "db"
    assert first_suspect({"origins": [{"service": "web", "errors": 4}], "victims": ["db"]}) == "web"


def test_without_failed_spans_the_deepest_service_that_moved_goes_first() -> None:
    assert first_suspect({"graph": [["web", "db"]]}) == "db"
    assert first_suspect({"graph": [["web", "api"], ["api", "db"]]}) == "db"
    assert first_suspect({"graph": [["db", "web"]]}) == "web"
    assert first_suspect({"graph": [["web", "db"], ["db", "web"]]}) == "web"
    assert first_suspect({"graph": "nonsense", "origins": [None, 3], "victims": None}) == "web"


def test_the_analyst_asks_for_traces_only_where_there_are_some() -> None:
    def asked(prompt: str) -> list[str]:
        calls = plan(prompt, [])
        assert isinstance(calls, list)
        return [call["name"] for call in calls]

    assert "query_traces" not in asked("Why?\nTelemetry: metrics, logs.\nround 1: look at traces")
    assert "query_traces" in asked("Why?\nTelemetry: metrics, call graph.\n")
    assert "query_traces" in asked("Why?\nTelemetry: logs, traces.\n")


def test_results_without_call_ids_keep_their_tools_and_arguments() -> None:
    def call(name: str, **args: Any) -> types.Part:
        return types.Part(function_call=types.FunctionCall(name=name, args=args))

    def answer(name: str, n: int) -> types.Part:
        response = types.FunctionResponse(name=name, response={"n": n})
        return types.Part(function_response=response)

    asked = [call("query_logs", text="a"), call("list_deploys"), call("query_logs", text="b")]
    given = [answer("query_logs", 1), answer("list_deploys", 2), answer("query_logs", 3)]
    request = LlmRequest(
        contents=[types.Content(role="model", parts=asked), types.Content(role="user", parts=given)]
    )
    assert _read(request)[1] == [
        ("query_logs", {"text": "a"}, {"n": 1}),
        ("list_deploys", {}, {"n": 2}),
        ("query_logs", {"text": "b"}, {"n": 3}),
    ]


def test_a_quiet_folder_is_an_answer_in_one_round(tmp_path: Path) -> None:
    lines = "".join(f"2026-01-31T10:{n:02d}:00Z INFO hello {n}\n" for n in range(10, 60))
    (tmp_path / "logs.log").write_text(lines)
    store = Store(tmp_path / "runs.sqlite")
    report, _ = investigate(tmp_path, load_policy("default"), store=store)
    assert (report["rounds"], report["stop"]["reason"]) == (1, "done")
    assert [f["grounded"] for f in report["findings"]] == [True]
    assert report["cause"]["abstained"]
