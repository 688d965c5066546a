"""One reply of a model on its way out: held back as far as its checks need, ended when one blocks."""

from __future__ import annotations

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.adk.part_texts import part_text
from roundsman.adk.screening import Blocked, Screen, blocked, is_safe_reply
from roundsman.guard import Judgement, Kind, Verdict
from roundsman.guard.checks.stream import Held
from roundsman.guard.events import Ruled
from roundsman.guard.said import Said
from roundsman.ledger import LiveRun


class Reply:
    """One reply of a model on its way out, whole or in pieces."""

    def __init__(self, screen: Screen, run: LiveRun, agent: str, hidden: str) -> None:
        self._screen, self._run, self._agent, self._hidden = screen, run, agent, hidden
        self._held: dict[bool, Held] = {}
        self._beside = screen.beside(run)
        screen.told.setdefault(run, {})[agent] = hidden
        self._text = ""
        self._why: Judgement | None = None
        self._late: set[str] = set()
        self.was_blocked = False
        self.pending = False
        """Pieces came, and the whole has not."""

    def piece(self, response: LlmResponse) -> LlmResponse | None:
        """A piece of a stream as far as it may leave; None: the reply ends here, see `instead`."""
        self.pending = True
        parts = response.content.parts if response.content else None
        self._text += "".join(map(part_text, parts or []))
        try:
            released = self._released(response)
        except Blocked as found:
            if found.verdict is not None:
                self._why = Judgement(found.verdict, ((found.verdict, True),))
                self._run.note(self._why, self._said("", whole=False))
            return None
        except Exception:  # a check that raises blocks
            return None
        return released if self.goes_on(self._text) else None

    def goes_on(self, text: str) -> bool:
        """Whether the heavy checks have nothing against what has come of the reply up to now."""
        if self._beside and self._why is None:
            self._why = self._beside.more(self._said(text, whole=False))
        return self._why is None

    def tail(self) -> LlmResponse | None:
        """What was held back, the reply being whole; None when that is nothing."""
        parts = []
        try:
            for thought, held in self._held.items():
                if text := held.end():
                    parts.append(types.Part(text=text, thought=thought or None))
        except Exception:  # the whole reply is judged next, and says why
            return None
        content = types.Content(role="model", parts=parts)
        return LlmResponse(content=content, partial=True) if parts else None

    async def whole(self, response: LlmResponse) -> LlmResponse:
        """A whole reply as it may leave."""
        self.pending = False
        passed = await self._screen.reply(
            self._run, self._agent, self._hidden, response, self._beside
        )
        self.was_blocked = is_safe_reply(passed)
        return passed

    def so_far(self) -> LlmResponse:
        """The text of all pieces as a reply."""
        content = types.Content(role="model", parts=[types.Part(text=self._text)])
        return LlmResponse(content=content, partial=False)

    async def last_word(self, spoken: str) -> LlmResponse | None:
        """What replaces a spoken reply once the heavy checks have seen all of it; None: it stays."""
        if not self._beside:
            return None
        judged = await self._beside.end(self._said(spoken, whole=True))
        return blocked(judged, LlmResponse()) if judged.verdict.kind > Kind.AMEND else None

    def instead(self, response: LlmResponse) -> LlmResponse:
        """What stands in place of a reply that `piece` ended; on record."""
        if self._why is not None:
            return blocked(self._why, response)
        judged = self._screen.judge(self._run, self._said(self._text, whole=False))
        if judged.verdict.kind <= Kind.AMEND:  # a check raised on a piece, and not on the whole
            why = "a check of the reply failed while it came"
            ruled = Ruled(
                verdict="refuse", rule="conversation", layer="conversation", reason=why,
                subject="said", agent=self._agent,
            )  # fmt: skip
            self._run.write(ruled)
            judged = Judgement(Verdict(Kind.REFUSE))
        return blocked(judged, response)

    def _said(self, text: str, whole: bool) -> Said:
        hidden = (self._hidden,) if self._hidden else ()
        return Said(where="reply", text=text, agent=self._agent, hidden=hidden, whole=whole)

    def _released(self, response: LlmResponse) -> LlmResponse:
        if response.content is None:
            return response
        parts = []
        for part in response.content.parts or []:
            other = "" if part.text else part_text(part)
            if other and self._screen.hits(self._said(other, whole=False), self._passed):
                raise Blocked  # code and its output come at once: nothing of it can be held back
            parts.append(self._cut(part) if part.text else part)
        content = types.Content(role=response.content.role, parts=parts)
        return response.model_copy(update={"content": content})

    def _cut(self, part: types.Part) -> types.Part:
        held = self._of(bool(part.thought))
        return part.model_copy(update={"text": held.add(part.text or "")})

    def _of(self, thought: bool) -> Held:
        if thought not in self._held:
            look = lambda text: self._screen.hits(  # noqa: E731
                self._said(text, whole=False), self._passed
            )
            self._held[thought] = Held(look, self._screen.look_back)
        return self._held[thought]

    def _passed(self, verdict: Verdict) -> None:
        """A check was late and the policy lets that pass: once a reply is enough to know."""
        if verdict.rule not in self._late:
            self._late.add(verdict.rule)
            self._run.note(Judgement(verdict, ((verdict, True),)), self._said("", whole=False))
