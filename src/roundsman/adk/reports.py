"""Replies the guard gives in a model's place: empty answers and reports, in the agent's own format."""

from __future__ import annotations

import json
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.guard.work import Report

STOP_CODE = "ROUNDSMAN_STOP"


def report_reply(node: Any, report: Report) -> LlmResponse:
    """The agent's report as its last answer; where its output schema takes neither the report nor
    an empty answer, an error without content."""
    schema = getattr(node, "output_schema", None)
    text: str | None = report.text()
    if schema is not None:
        values = {
            "summary": report.summary,
            "complete": report.complete,
            "not_done": list(report.undone),
        }
        text = _valid(schema, values) or empty_answer(schema)
    if text is None:
        return LlmResponse(error_code=STOP_CODE, error_message=report.line())
    return LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


def empty_answer(schema: Any) -> str | None:
    """A valid empty answer in the agent's own format, None when there is none."""
    if schema is None:
        return json.dumps({"findings": [], "done": False})
    return _valid(schema, {}) or _valid(schema, {"findings": [], "done": False})


def _valid(schema: Any, values: dict[str, Any]) -> str | None:
    try:
        return str(schema.model_validate(values).model_dump_json())
    except (ValueError, AttributeError, TypeError):
        return None
