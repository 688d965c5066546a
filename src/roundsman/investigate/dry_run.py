"""What a model would be sent, without one: the same run up to the requests, in front of a stand-in."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from roundsman.investigate.analyst import plan
from roundsman.investigate.answers import RESULT
from roundsman.investigate.endpoint import Endpoint
from roundsman.investigate.execute import execute
from roundsman.investigate.models import check_name
from roundsman.investigate.request import Request
from roundsman.investigate.run import prepare
from roundsman.ledger import open_store
from roundsman.policy import Policy


class StandIn(BaseLlm):
    """Keeps what it is sent, asks the analyst's first questions once, and says nothing more."""

    _requests: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What it was sent so far, in order."""
        return self._requests

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self._requests.append(content_of(llm_request))
        parts = [types.Part(text=json.dumps({"findings": [], "done": False}))]
        if len(self._requests) == 1:
            texts = [p.text for c in llm_request.contents for p in c.parts or [] if p.text]
            calls = plan("\n".join(texts), [])
            if isinstance(calls, list):
                asked = [types.FunctionCall(name=c["name"], args=c["args"]) for c in calls]
                parts = [types.Part(function_call=call) for call in asked]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def content_of(request: LlmRequest) -> dict[str, Any]:
    """All of a request that is content: instruction, declared tools, conversation."""
    config = request.config or types.GenerateContentConfig()
    tools = [
        declaration.model_dump(mode="json", exclude_none=True)
        for tool in config.tools or []
        for declaration in getattr(tool, "function_declarations", None) or []
    ]
    return {
        "instruction": config.system_instruction,
        "tools": tools,
        "most_output_tokens": config.max_output_tokens,
        "contents": [c.model_dump(mode="json", exclude_none=True) for c in request.contents],
    }


def dry_run(
    request: Request, policy: Policy, model: str, endpoint: Endpoint | None = None
) -> dict[str, Any]:
    """The first request to a model, and the one after it if it asks the analyst's first questions.

    Telemetry is read, nothing is sent to any model, nothing is kept in the journal. Neither key nor
    server need be there; the name must be one a run would take.

    Returns:
        `model`, `sent` (False), `requests` (content and `characters` of each), `rest`: what may follow.

    Raises:
        SourceError, PolicyError, UsageError: as an investigation does.
    """
    check_name(model, endpoint)
    if model == "analyst":
        rest = "the analyst runs on this machine: no model is sent anything"
        return {"schema_version": 1, "model": model, "sent": False, "requests": [], "rest": rest}
    stand_in = StandIn(model=model)
    with (
        tempfile.TemporaryDirectory(prefix="roundsman-dry-run-") as folder,
        closing(open_store(Path(folder))) as store,
    ):
        case = prepare(request, policy, model, store, chosen=stand_in)
        asyncio.run(execute(case.app, case.begin(store), case.incident.describe()))
    requests = [{"characters": _size(one), **one} for one in stand_in.requests[:2]]
    rounds = case.policy.loop.max_rounds
    rest = (
        f"what follows depends on the model: at most {rounds} rounds, each begins with the first "
        f"request and the findings so far; each question it asks adds a result of at most "
        f"{RESULT:,} characters"
    )
    return {"schema_version": 1, "model": model, "sent": False, "requests": requests, "rest": rest}


def _size(content: Mapping[str, Any]) -> int:
    return len(json.dumps(content, ensure_ascii=False))


def as_text(found: Mapping[str, Any]) -> str:
    """The same for a person: every text in full."""
    lines = [f"Nothing was sent. To {found['model']}:"]
    names = ("first", "second, if it asks the questions the analyst begins with")
    for name, one in zip(names, found["requests"], strict=False):
        lines += ["", f"=== request {name}: {one['characters']:,} characters", ""]
        if name == "first":
            lines += [f"--- instruction\n{one['instruction']}", "--- tools"]
            lines += [json.dumps(tool, ensure_ascii=False, indent=1) for tool in one["tools"]]
        else:
            lines.append("instruction and tools as above, then")
        for content in one["contents"]:
            for part in content.get("parts") or []:
                text = part.get("text") or json.dumps(part, ensure_ascii=False, indent=1)
                lines.append(f"--- {content.get('role')}\n{text}")
    return "\n".join([*lines, "", found["rest"], ""])
