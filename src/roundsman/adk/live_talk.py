"""What a live session knows beyond one connection: what was blocked, and what is said instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from roundsman.adk.beside import Beside
from roundsman.adk.screening import Screen, blocked
from roundsman.guard import Kind
from roundsman.guard.events import UserTurn
from roundsman.guard.prints import digest
from roundsman.guard.said import Said
from roundsman.guard.trust import FILES, said_print
from roundsman.ledger import LiveRun

GONE = "[this message was blocked]"
_BLOCKED_PRINTS = "roundsman_blocked_prints"
"""In the metadata of an event that took the place of blocked turns: digests of them."""
_WINDOW = 2_000
"""Characters of a growing transcript that are looked at: what is older has been."""


@dataclass
class LiveTalk:
    """One live session.

    `spoken` is what the person last said aloud, `instead` what replaces a reply that was blocked.
    """

    spoken: str = ""
    instead: types.Content | None = None
    agent: str = ""
    cleaned: set[str] = field(default_factory=set)
    """Ids of calls whose results the after-tool hook has put through the checks."""
    heavy: tuple[Beside, Said] | None = None
    """The heavy checks of what was said aloud: the model has heard it, so it is they who run after."""
    _blocked: list[str] = field(default_factory=list)
    SIGN: ClassVar[str] = "[roundsman: this reply was blocked]"

    def block(self, text: str) -> None:
        """Remember a turn that must not be sent again."""
        if text.strip():
            self._blocked.append(text)

    @property
    def metadata(self) -> dict[str, Any]:
        """What the event that takes a turn's place says of it, for later runs of the session."""
        return {_BLOCKED_PRINTS: [_print(text) for text in self._blocked]}

    def scrubbed(self, content: types.Content) -> types.Content:
        """A content of the history without blocked turns."""
        parts = [self._part(p) for p in content.parts or []]
        if all(a is b for a, b in zip(parts, content.parts or [], strict=True)):
            return content
        return content.model_copy(update={"parts": parts})

    def scrub(self, session: Any) -> None:
        """Take blocked turns out of the session's events in memory: the next history is made of them."""
        for event in session.events:
            if event.content is not None:
                event.content = self.scrubbed(event.content)
            said = event.input_transcription
            if said is not None and said.text and self._clean(said.text) != said.text:
                event.input_transcription = said.model_copy(update={"text": GONE})

    def _part(self, part: types.Part) -> types.Part:
        if not part.text or (clean := self._clean(part.text)) == part.text:
            return part
        return part.model_copy(update={"text": clean})

    def _clean(self, text: str) -> str:
        for said in self._blocked:
            text = text.replace(said, GONE)
        return text

    async def heard(
        self, screen: Screen, run: LiveRun, content: types.Content
    ) -> tuple[types.Content | None, str]:
        """(what is said in place of an answer, None: the turn may go on; the turn's text).

        A typed text is redacted in place; what was spoken the model has heard, so there a redaction
        blocks.
        """
        texts = [p for p in content.parts or [] if p.text]
        text = "\n".join(p.text or "" for p in texts)
        if not text or not screen:
            return None, text
        said, aloud = Said(where="input", text=text), text == self.spoken
        judged = screen.judge(run, said) if aloud else await screen.all_say(run, said)
        event = judged.verdict.event
        changed = event.text if isinstance(event, Said) else text
        if judged.verdict.kind <= Kind.AMEND and changed == text:
            if aloud and (beside := screen.beside(run)):
                beside.begin(said)
                self.heavy = (beside, said)
            return None, text
        if judged.verdict.kind > Kind.AMEND or aloud:
            self.block(text)
            why = judged if judged.verdict.kind > Kind.AMEND else None
            return blocked(why, LlmResponse()).content, ""
        for part in texts[1:]:
            part.text = ""
        texts[0].text = changed
        return None, changed

    async def heard_after_all(self, wait: bool) -> LlmResponse | None:
        """What the heavy checks have against what was said aloud: the safe reply, None while they
        have nothing. With `wait` they come to an end first."""
        if self.heavy is None:
            return None
        beside, said = self.heavy
        judged = beside.poll()
        if judged is None and wait:
            judged, self.heavy = await beside.end(said), None
        if judged is None or judged.verdict.kind <= Kind.AMEND:
            return None
        self.heavy = None
        self.block(said.text)
        return blocked(judged, LlmResponse())

    def spoken_reply(
        self, screen: Screen, run: LiveRun, text: str, hidden: str, whole: bool = True
    ) -> LlmResponse | None:
        """What replaces a spoken reply, None: it may go on. Audio cannot be redacted: that blocks."""
        said = Said(
            where="reply", text=text[-_WINDOW:] if not whole else text, agent=self.agent,
            hidden=(hidden,) if hidden else (), whole=whole,
        )  # fmt: skip
        judged = screen.judge(run, said)
        event = judged.verdict.event
        changed = isinstance(event, Said) and event.text != said.text
        if judged.verdict.kind > Kind.AMEND:
            return blocked(judged, LlmResponse())
        return blocked(None, LlmResponse()) if changed else None


def forget_blocked(session: Any) -> None:
    """Take out of a session's memory what earlier turns had blocked and its storage still holds: the
    engine stores a live turn before it can be judged. The events that took its place say which."""
    prints = {p for e in session.events for p in (e.custom_metadata or {}).get(_BLOCKED_PRINTS, ())}
    if not prints:
        return
    for event in session.events:
        parts = event.content.parts if event.content is not None else None
        if _print("\n".join(p.text for p in parts or [] if p.text)) in prints:
            kept = [p for p in parts or [] if not p.text]
            event.content.parts = [types.Part(text=GONE), *kept]
        for name in ("input_transcription", "output_transcription"):
            said = getattr(event, name)
            if said is not None and _print(said.text or "") in prints:
                setattr(event, name, said.model_copy(update={"text": GONE}))


def user_turn(run: LiveRun, kept: str, gone: list[str]) -> UserTurn:
    """A person's words as the journal keeps them (`Screen.kept`)."""
    return UserTurn(text=kept, held_back=tuple(said_print(run.run_id, value) for value in gone))


def files_of(content: types.Content | None) -> tuple[str, ...]:
    """The source that is named for files in a content: what stands in them is nobody's word."""
    parts = content.parts if content is not None else None
    return (FILES,) if any(p.file_data or p.inline_data for p in parts or []) else ()


def _print(text: str) -> str:
    return digest(text.strip())


TALKS: WeakKeyDictionary[LiveRun, LiveTalk] = WeakKeyDictionary()
"""The live session of each run."""


def talk_of(run: LiveRun) -> LiveTalk:
    """The run's session, made when it is first asked for."""
    return TALKS.setdefault(run, LiveTalk())
