"""Settles one model call: what it used, once, however its reply arrived."""

from __future__ import annotations

from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.adk.current import GUARDS
from roundsman.adk.tokens import CHARS_PER_TOKEN
from roundsman.adk.usage import NOTHING, Usage
from roundsman.guard.events import StepBegins, StepEnds
from roundsman.guard.gist import gist
from roundsman.guard.streaming import StepStreams
from roundsman.guard.stuck.narration import announces
from roundsman.ledger import LiveRun


class Settler:
    """Final replies count; partial chunks are running totals and are never added. A stream that
    dies is charged its last partial. A reply that reports nothing is charged an estimate, marked,
    and corrected if the usage comes after it. The same message twice counts once.
    """

    def __init__(self, run: LiveRun, step: StepBegins) -> None:
        self._run, self._step = run, step
        self._usage = self._partial = NOTHING
        self._charged: StepEnds | None = None
        self._last: Any = None
        self._text: list[str] = []
        self._size = 0

    def saw(self, response: LlmResponse) -> None:
        """Take in one response or chunk."""
        self._last = response
        if response.partial:
            self._partial = self._partial.most(Usage.of(response))
            self._read(response)
            return
        self._usage = self._usage.most(Usage.of(response))
        if self._charged is None:
            if not self._size and self._usage.tokens is None:
                self._read(response)
            self._charge(response)
        else:
            self._more()

    def died(self, error: BaseException) -> None:
        """The call ended by an error, or nobody reads on. One that says `unspent` never reached a
        model: it is charged nothing."""
        if self._charged is None:
            told = f"{type(error).__name__}: {error}"
            guard = GUARDS.get(self._run)
            unspent = self._last is None and bool(getattr(error, "unspent", False))
            self._charge(self._last, (guard.screen.clean(told) if guard else told)[:300], unspent)

    def close(self) -> None:
        """The call is over."""
        if self._charged is None:
            self._charge(self._last, "" if self._last else "no reply")

    def streaming(self) -> StepStreams | None:
        """How far a stream has come, None when the call has no limit of its own."""
        most = self._step.max_output_tokens
        if most is None or self._charged is not None:
            return None
        known = self._partial.produced
        # four characters a token: an estimate that must not cut a reply before its time
        output = self._size // 4 if known is None else known
        return StepStreams(
            id=self._step.id,
            agent=self._step.agent,
            output=output,
            most=most,
            estimated=known is None,
        )

    def so_far(self) -> LlmResponse:
        """The reply as far as it came, ended as a provider would have ended it; not taken in yet."""
        text = "".join(self._text)
        content = types.Content(role="model", parts=[types.Part(text=text)])
        return LlmResponse(content=content, finish_reason=types.FinishReason.MAX_TOKENS)

    @property
    def prompt(self) -> int | None:
        """Tokens of the prompt as reported."""
        return self._usage.or_else(self._partial).prompt

    def _read(self, response: LlmResponse) -> None:
        for part in (response.content.parts if response.content else None) or []:
            self._size += len(part.text or "")
            if part.text and not part.thought:
                self._text.append(part.text)
            if part.function_call is not None:
                self._size += len(str(part.function_call.name)) + len(_text(part))

    def _charge(self, response: Any, error: str = "", unspent: bool = False) -> None:
        usage = self._usage.or_else(self._partial)
        if unspent:
            usage = Usage(prompt=0, output=0)
        tokens, estimated = usage.tokens, usage.tokens is None
        if tokens is None:
            tokens = self._step.prompt_tokens + int(self._size / CHARS_PER_TOKEN)
        reply, calls, text = None, None, ""
        if response is not None and response.content is not None and not response.partial:
            reply = _kept(response.content)
            if reply is None:
                error = error or "the reply is nested too deep to be kept"
            parts = response.content.parts or []
            calls = sum(p.text is None for p in parts)  # code and data are no talk either
            text = " ".join(p.text for p in parts if p.text and not p.thought)
        self._write(
            usage,
            tokens,
            estimated=estimated,
            error=error,
            reply=reply,
            calls=calls,
            said=gist(text),
            announces=announces(text),
        )

    def _more(self) -> None:
        """A later message of the same call that reports more, or what was only estimated."""
        first, usage = self._charged, self._usage.or_else(self._partial)
        tokens = usage.tokens
        assert first is not None
        if tokens is None or (not first.estimated and tokens <= first.tokens):
            return
        self._write(usage, tokens, before=first)

    def _write(
        self, usage: Usage, tokens: int, before: StepEnds | None = None, **said: Any
    ) -> None:
        """Charge the whole, less what was charged `before`."""
        step, was = self._step, before or StepEnds()
        guess = Usage(prompt=step.prompt_tokens)
        now = StepEnds(
            id=step.id,
            agent=step.agent,
            tokens=tokens,
            usd=(usage if usage.tokens is not None else guess).cost(tokens, step.prices),
            prompt=usage.prompt or 0,
            output=usage.produced or 0,
            thoughts=usage.thoughts or 0,
            cached=min(usage.cached or 0, tokens),
            over=_over(usage, step),
            **said,
        )
        takes_back = was.tokens if was.estimated else 0
        self._run.settle(
            now
            if before is None
            else StepEnds(
                id=step.id,
                agent=step.agent,
                tokens=tokens - was.tokens + takes_back,
                usd=now.usd - was.usd,
                prompt=now.prompt - was.prompt,
                output=now.output - was.output,
                thoughts=now.thoughts - was.thoughts,
                cached=now.cached - was.cached,
                over=now.over - was.over,
                corrects=takes_back,
            )
        )
        self._charged = now


def _kept(content: types.Content) -> dict[str, Any] | None:
    """The reply for the journal; None for one that no store takes, which is charged all the same."""
    try:
        return content.model_dump(mode="json", exclude_none=True)
    except ValueError:  # nested deeper than pydantic writes
        return None


def _over(usage: Usage, step: StepBegins) -> int:
    if step.max_output_tokens is None or usage.produced is None:
        return 0
    return max(0, usage.produced - step.max_output_tokens)


def _text(part: Any) -> str:
    from roundsman.guard.prints import canonical

    return canonical(part.function_call.args)
