"""The checks of a policy, put on texts where they pass: what a person says, what models answer, what
tools give back. What they say of a text is on record; the text is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.adk.beside import Beside, both
from roundsman.adk.part_texts import all_text, part_text, with_text
from roundsman.adk.results import noted
from roundsman.adk.timed import timed
from roundsman.guard import Account, Judgement, Kind, Placed, Verdict, decide
from roundsman.guard.checks.base import Hit, TooSlow, without
from roundsman.guard.prints import as_json
from roundsman.guard.rules import ANSWERS
from roundsman.guard.rules.conversation import TextRule
from roundsman.guard.said import Said
from roundsman.ledger import LiveRun
from roundsman.policy.conversation import SAFE_REPLY

_BLOCKED = "roundsman_blocked"
"""In a response's metadata: it stands in place of one that was blocked."""
_KEPT = "record"


class Screen:
    """The checks of one policy.

    Args:
        rules: all rules of the policy; those on texts are kept.
        look_back: characters of a streamed reply that are held back.
    """

    def __init__(self, rules: Sequence[Placed], look_back: int) -> None:
        placed = [timed(p) for p in rules if Said.kind in p.rule.watches]
        self._rules = tuple(p for p in placed if not getattr(p.rule, "heavy", False))
        self._heavy = tuple(p for p in placed if getattr(p.rule, "heavy", False))
        self.look_back = look_back
        self.told: WeakKeyDictionary[LiveRun, dict[str, str]] = WeakKeyDictionary()
        """Instructions of each agent of a run: what its calls must not repeat."""

    def __bool__(self) -> bool:
        return bool(self._rules or self._heavy)

    def beside(self, run: LiveRun | None) -> Beside:
        """The heavy checks, for one text."""
        return Beside(self._heavy, run)

    def judge(self, run: LiveRun | None, said: Said) -> Judgement:
        """What the light checks say of a text, on record when there is a run."""
        judged = decide(self._rules, run.account if run else Account(), said)
        if run is not None:
            run.note(judged, said)
        return judged

    def clean(self, text: str) -> str:
        """A text the journal keeps (why a run failed), without what is redacted from results. Whose text
        it is nobody knows, so what is meant for some tools is meant here, too. Heavy checks redact
        nothing, and nobody waits for them here."""
        rules = tuple(
            replace(p, rule=replace(p.rule, tools=())) if isinstance(p.rule, TextRule) else p
            for p in self._rules
        )
        return text_of(decide(rules, Account(), Said(where="result", text=text)), text)

    def kept(self, text: str) -> tuple[str, list[str]]:
        """What the journal may keep of a person's words: without what the policy takes out of any text,
        and what that was. A check that fails keeps all of it out."""
        hits: list[Hit] = []
        for placed in self._rules:
            rule = placed.rule
            if (
                placed.mode != "enforce"
                or not isinstance(rule, TextRule)
                or rule.action != "redact"
            ):
                continue
            try:
                anywhere = replace(rule, where=(_KEPT,), tools=())
                hits += anywhere.found(Said(where=_KEPT, text=text))
            except Exception:
                return f"[not kept: the check {rule.name} failed]", []
        return without(text, hits), [text[h.start : h.end] for h in hits]

    async def all_say(self, run: LiveRun | None, said: Said) -> Judgement:
        """What the light checks say of a whole text and, unless that blocks it, the heavy ones."""
        judged = self.judge(run, said)
        if not self._heavy or judged.verdict.kind > Kind.AMEND:
            return judged
        left = replace(said, text=text_of(judged, said.text))
        return both(judged, await self.beside(run).end(left))

    async def message(self, content: types.Content) -> tuple[types.Content, Judgement] | None:
        """A person's message as it may go on, and what was said of it; None: nothing against it.

        A blocked text is gone from the message: what is kept of it would be the model's history.
        """
        parts = content.parts or []
        text, said = all_text(parts), Said(where="input", text=all_text(parts))
        if not text:
            return None
        judged = await self.all_say(None, said)
        if not judged.said:
            return None
        if judged.verdict.kind > Kind.AMEND:
            kept = [types.Part(text="[this message was blocked]")]
            return types.Content(role=content.role, parts=kept), judged
        changed = text_of(judged, text)
        if changed == text:
            return content, judged
        return types.Content(role=content.role, parts=self._clean(parts, said, changed)), judged

    async def result(self, run: LiveRun, tool: str, agent: str, result: Any) -> Any:
        """A tool's result as the model and the journal may have it."""
        if not self or result is None:
            return result
        text = _shown(result)
        judged = await self.all_say(run, Said(where="result", text=text, tool=tool, agent=agent))
        if judged.verdict.kind > Kind.AMEND:
            why = judged.verdict.reason
            return {"status": "withheld", "tool": tool, "reason": f"not shown: {why}"}
        changed = text_of(judged, text)
        if changed != text:
            result = _parsed(changed)
        for verdict, applied in judged.said:
            if applied and verdict.kind is Kind.AMEND and verdict.event is None:
                result = noted(result, verdict.reason)
        return result

    async def call(
        self, run: LiveRun, tool: str, agent: str, args: dict[str, Any], answers: bool
    ) -> Verdict | None:
        """What keeps a tool from being called so; None: nothing. With `answers` the arguments are the
        agent's reply (structured output): they are judged as one, and redacted in place."""
        if not self:
            return None
        text, hidden = _shown(args), self.told.get(run, {}).get(agent)
        place, whose = ("reply", "") if answers else ("call", tool)
        told = (hidden,) if hidden else ()
        said = Said(where=place, text=text, tool=whose, agent=agent, hidden=told)
        # nothing waits before a write has its turn, or the model's order would be lost
        judged = await self.all_say(run, said) if answers else self.judge(run, said)
        if judged.verdict.kind > Kind.AMEND:
            return replace(judged.verdict, reason=f"not called: {judged.verdict.reason}")
        changed = text_of(judged, text)
        cleaned = args if changed == text else _parsed(changed)
        if not isinstance(cleaned, dict) or cleaned.keys() != args.keys():
            return Verdict(Kind.REFUSE, "conversation", "conversation", "not called: reply")
        args.update(cleaned)
        return None

    async def reply(
        self, run: LiveRun, agent: str, hidden: str, response: LlmResponse, beside: Beside
    ) -> LlmResponse:
        """A whole reply as it may leave: parts without what was redacted, or a safe reply."""
        if not self or response.content is None:
            return response
        for part in response.content.parts or []:
            asked = part.function_call
            if asked is not None and asked.name in ANSWERS and asked.args:
                refused = await self.call(run, asked.name, agent, asked.args, answers=True)
                if refused is not None:
                    return blocked(Judgement(refused), response)
        whole = all_text(response.content.parts or [])
        if not whole:
            return response
        said = Said(where="reply", text=whole, agent=agent, hidden=(hidden,) if hidden else ())
        judged = self.judge(run, said)
        if beside and judged.verdict.kind <= Kind.AMEND:
            left = replace(said, text=text_of(judged, whole))
            judged = both(judged, await beside.end(left))
        if judged.verdict.kind > Kind.AMEND:
            return blocked(judged, response)
        if text_of(judged, whole) == whole:
            return response
        parts = self._clean(response.content.parts or [], said, text_of(judged, whole))
        content = types.Content(role=response.content.role, parts=parts)
        return response.model_copy(update={"content": content})

    def _clean(self, parts: list[types.Part], said: Said, clean: str) -> list[types.Part]:
        """The parts whose text all in all is to be `clean`."""
        one_by_one = [self._redacted(p, said) if part_text(p) else p for p in parts]
        if all_text(one_by_one) == clean:
            return one_by_one
        # what was found runs over the edge of a part: one part then holds the whole text
        return [types.Part(text=clean), *(p for p in parts if not part_text(p))]

    def _redacted(self, part: types.Part, said: Said) -> types.Part:
        alone = replace(said, text=part_text(part))
        changed = text_of(decide(self._rules, Account(), alone), alone.text)
        return part if changed == alone.text else with_text(part, changed)

    def hits(self, said: Said, passed: Callable[[Verdict], None]) -> list[Hit]:
        """What is to be taken out of a piece of a reply. What passes because a check was late is told
        to `passed`.

        Raises:
            Blocked: the reply must not go on.
        """
        found: list[Hit] = []
        for placed in self._rules:
            if placed.mode != "enforce" or not isinstance(placed.rule, TextRule):
                continue
            try:
                here = placed.rule.found(said)
            except TooSlow as late:
                verdict = placed.rule.late(said, late)
                if verdict.kind > Kind.AMEND:
                    raise Blocked(verdict) from None
                passed(verdict)
                continue
            if here and placed.rule.action != "redact":
                raise Blocked
            found += here
        return found


class Blocked(Exception):
    """A piece of a reply that must not go on; `verdict`: why, when it is known without another look."""

    def __init__(self, verdict: Verdict | None = None) -> None:
        super().__init__()
        self.verdict = verdict


def text_of(judged: Judgement, text: str) -> str:
    """The text after all amendments."""
    event = judged.verdict.event
    return event.text if isinstance(event, Said) else text


def blocked(judged: Judgement | None, response: LlmResponse) -> LlmResponse:
    """The safe reply in place of a blocked one: no call of it runs, nothing of it stays."""
    event = judged.verdict.event if judged is not None else None
    text = event.text if isinstance(event, Said) else SAFE_REPLY
    content = types.Content(role="model", parts=[types.Part(text=text)])
    said = {**(response.custom_metadata or {}), _BLOCKED: True}
    return response.model_copy(
        update={"content": content, "partial": False, "custom_metadata": said}
    )


def is_safe_reply(response: LlmResponse) -> bool:
    """Whether this stands in place of a blocked reply."""
    return _BLOCKED in (response.custom_metadata or {})


def _shown(result: Any) -> str:
    """A result as JSON in its own letters: escaped ones would hide what a check looks for."""
    try:
        return json.dumps(result, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return as_json(result)


def _parsed(text: str) -> Any:
    """The result of a redacted JSON text. A hit that ran over the edge of a string leaves no JSON: the
    text itself then stands for the result."""
    try:
        return json.loads(text)
    except ValueError:
        return {"result": text}
