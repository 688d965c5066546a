"""One turn of the model in a live session: a step, charged as far as it has come."""

from __future__ import annotations

from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.adk.replies import Reply
from roundsman.adk.settling import Settler
from roundsman.guard import Kind
from roundsman.guard.events import StepBegins
from roundsman.ledger import LiveRun


class LiveTurn:
    """From the step's intent to its outcome; pieces of it are counted once.

    Args:
        run: whose account it is.
        step: what was proposed and may run.
        reply: what looks at the model's words; None when the policy has nothing to say of replies.
    """

    def __init__(self, run: LiveRun, step: StepBegins, reply: Reply | None) -> None:
        self.reply = reply
        self.spoken = ""
        """What was transcribed of it and not judged as a whole yet."""
        self._run, self._settler = run, Settler(run, step)
        self._text = ""

    def count(self, response: LlmResponse) -> None:
        """Take in what came, written or spoken."""
        parts = list((response.content.parts if response.content else None) or [])
        told = response.output_transcription
        if told is not None and told.text and not told.finished:
            parts.append(types.Part(text=told.text))
        if response.content is not None and response.partial is False and self._text:
            parts = [p for p in parts if not p.text]  # the pieces were counted
        self._text += "".join(p.text or "" for p in parts)
        self._settler.saw(
            LlmResponse(
                content=types.Content(role="model", parts=parts),
                partial=True,
                usage_metadata=response.usage_metadata,
            )
        )

    def is_too_long(self) -> bool:
        """Whether it goes on beyond what it was allowed, and the policy ends it there."""
        far = self._settler.streaming()
        return far is not None and far.output > far.most and self._run.judge(far).kind > Kind.AMEND

    def end(self, usage: Any) -> None:
        """Charge it, by the `usage` reported last where there is any."""
        content = types.Content(role="model", parts=[])
        self._settler.saw(LlmResponse(content=content, partial=False, usage_metadata=usage))
        self._settler.close()
