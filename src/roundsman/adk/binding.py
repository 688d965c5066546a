"""Which run an invocation of the engine belongs to, and when that run ends. Part of the plugin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from google.adk.models.llm_response import LlmResponse

from roundsman.adk.cancelled import CancelWatch
from roundsman.adk.coverage import Coverage
from roundsman.adk.current import (
    GUARDS,
    current_action_id,
    current_loop,
    current_run,
    current_scope,
)
from roundsman.adk.doors import not_run
from roundsman.adk.engine_asks import asked_elsewhere, note_answers
from roundsman.adk.kinds import is_reminded
from roundsman.adk.live import is_live
from roundsman.adk.live_talk import files_of, forget_blocked, user_turn
from roundsman.adk.outcomes import settle
from roundsman.adk.scheduler import Scheduler
from roundsman.adk.screening import Screen, blocked
from roundsman.adk.tool_calls import OPEN
from roundsman.guard import Judgement, Kind
from roundsman.guard.events import UserTurn
from roundsman.guard.said import Said
from roundsman.guard.trust import BETWEEN, INPUT, MEMORY
from roundsman.ledger import LiveRun, Store
from roundsman.ledger.judging import Operator

_QUESTION = 500
"""Characters of a message that name the run in listings."""


class Opener(Protocol):
    """Makes the run of a new root invocation, and finds one to go on with."""

    def __call__(self, invocation: str, question: str, /) -> LiveRun: ...

    def reopen(self, run_id: str) -> LiveRun: ...

    @property
    def store(self) -> Store: ...


class RunBinding:
    """Runs by invocation: the account in flight, one that was announced, or a new one."""

    coverage: Coverage
    opener: Opener
    _taints: bool
    _scheduler: Scheduler
    _runs: dict[str, LiveRun]
    _nested: set[str]
    _expected: dict[str, tuple[LiveRun, bool]]
    _pending: dict[str, set[str]]
    _watches: dict[str, CancelWatch]
    _heard: dict[str, Judgement]
    _elsewhere: dict[str, str]
    screen: Screen
    operator: Operator | None

    def expect(self, session_id: str, run: LiveRun, ends: bool = False) -> None:
        """The next run of this session is this one; its caller ends it, unless `ends`."""
        self._expected[session_id] = (run, ends)

    def run_of(self, invocation_id: str) -> LiveRun | None:
        """The run an invocation belongs to."""
        return self._runs.get(invocation_id)

    async def before_run_callback(self, *, invocation_context: Any) -> Any:
        """Bind the invocation to its run: the account in flight, one announced, one that waited
        for a person, or a new one. An answer to a run of another process begins none."""
        invocation = invocation_context.invocation_id
        if (elsewhere := self._elsewhere.pop(invocation, "")) and current_run() is None:
            return not_run(elsewhere)
        invocation_context.run_config = self._scheduler.threads(invocation_context.run_config)
        forget_blocked(invocation_context.session)
        run = self._bind(invocation_context, _text(invocation_context))
        if invocation in self._nested:
            return None
        if self._taints and (earlier := earlier_texts(invocation_context.session, invocation)):
            words = user_turn(run, *self.screen.kept(earlier.text))
            run.write(replace(words, sources=earlier.sources), durable=False)
        return self._hear(run, invocation)

    def _bind(self, invocation_context: Any, question: str) -> LiveRun:
        """The run of an invocation, bound to its runner's call."""
        invocation, outer = invocation_context.invocation_id, current_run()
        expected = self._expected.pop(invocation_context.session.id, None)
        if outer is not None and outer is self._runs.get(invocation):
            return outer  # a plugin's model was asked before the run began
        if outer is not None and _in_flight(outer):
            self._runs[invocation] = outer
            self._nested.add(invocation)
        elif expected is not None:
            self._runs[invocation], ends = expected
            if not ends:
                self._nested.add(invocation)
        elif invocation not in self._runs:
            kept, gone = self.screen.kept(question)
            run = self._runs[invocation] = self.opener(invocation, kept[:_QUESTION])
            files = files_of(invocation_context.user_content)
            if self._taints and (gone or files or len(kept) > _QUESTION):
                run.write(replace(user_turn(run, kept, gone), sources=files), durable=False)
            self._watches[invocation] = CancelWatch(
                lambda: self._end(invocation, "aborted", "the task that ran it was cancelled")
            )
        run = self._runs[invocation]
        run.cannot_wait, run.operator = is_live(invocation_context), self.operator
        run.go_on()
        GUARDS.setdefault(run, self)
        scope = current_scope()
        if scope is not None:
            scope.run = run
            if invocation not in self._nested:  # left or cancelled in the middle: no hook tells
                scope.close = lambda: self._end(invocation, "aborted", "left before its end")
                if scope.watch is not None:
                    scope.watch(run)
        return run

    def _remembers(self, run: LiveRun, agent: Any) -> None:
        """Note an agent to whose prompts the engine adds earlier conversations by itself."""
        if self._taints and MEMORY not in run.account.trust.sources and is_reminded(agent):
            run.write(UserTurn(sources=(MEMORY,)), durable=False)

    def _fed(self, run: LiveRun, place: str, request: Any) -> None:
        """Note a node of a graph whose input is not what the user said: another node fetched or wrote it.
        What a loop gives its rounds is the loop's own."""
        if (
            not self._taints
            or "@" not in place
            or current_loop()
            or INPUT in run.account.trust.sources
        ):
            return
        first = next((c for c in request.contents or [] if c.role == "user"), None)
        text = _text_of(first)
        if text and not run.account.trust.has_heard(self.screen.kept(text)[0]):
            run.write(UserTurn(sources=(INPUT,)), durable=False)

    def _hear(self, run: LiveRun, invocation: str) -> Any:
        """Put on record what was said of the person's message; a blocked one is answered here."""
        judged = self._heard.pop(invocation, None)
        if judged is None:
            return None
        run.note(judged, Said(where="input"))
        if judged.verdict.kind <= Kind.AMEND:
            return None
        return blocked(judged, LlmResponse()).content

    async def on_user_message_callback(self, *, invocation_context: Any, user_message: Any) -> Any:
        """Look at what a person says, and note what they, or whoever was waited for, answered."""
        answers = {p.function_response.id for p in user_message.parts or [] if p.function_response}
        for pending in self._pending.values():
            pending -= answers
        waiting = self._runs.get(invocation_context.invocation_id)
        if waiting is not None and answers:
            waiting.go_on()
            note_answers(waiting, answers)
        session = invocation_context.session
        new = bool(answers) and waiting is None and session.id not in self._expected
        if new and (why := asked_elsewhere(self.opener.store, session, answers)):
            self._elsewhere[invocation_context.invocation_id] = why
            return None
        if current_run() is not None:
            return None
        screened = await self.screen.message(user_message) if self.screen else None
        message = None
        if screened is not None:
            message, self._heard[invocation_context.invocation_id] = screened
        scope, said = current_scope(), message or user_message
        if scope is not None:
            scope.open = lambda: self._bind(invocation_context, _text_of(said))
        return message

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        """Close the run of a root invocation, unless it waits for somebody's answer."""
        invocation = invocation_context.invocation_id
        run = self._runs.get(invocation)
        waits = bool(self._pending.get(invocation)) and invocation not in self._nested
        if waits and run is not None and run.account.stopped is None:
            scope = current_scope()
            if scope is not None:
                scope.close = None
            if run.account.asks.open:  # whoever answers, in the session or elsewhere, finds it free
                run.pause()
            return
        self._close(invocation_context.invocation_id, "done", "")

    async def on_run_error_callback(self, *, invocation_context: Any, error: Exception) -> None:
        """Close the run as failed."""
        text = self.screen.clean(f"{type(error).__name__}: {error}")
        self._close(invocation_context.invocation_id, "failed", text)

    def _close(self, invocation: str, reason: str, detail: str) -> None:
        """End the run when its runner is through: a summariser may come after the last event."""
        scope = current_scope()
        if scope is not None and scope.close is not None and invocation not in self._nested:
            scope.close = lambda: self._end(invocation, reason, detail)
        else:
            self._end(invocation, reason, detail)

    def _end(self, invocation: str, reason: str, detail: str) -> None:
        run = self._runs.pop(invocation, None)
        nested = invocation in self._nested
        self._nested.discard(invocation)
        self._pending.pop(invocation, None)
        self._watches.pop(invocation, None)
        if run is None or nested:
            return
        inner = [i for i, r in self._runs.items() if r is run]
        for below in inner:
            del self._runs[below]
        self._nested.difference_update(inner)
        self.coverage.forget(run, [invocation, *inner])
        if run.waits and reason != "failed":
            for key in [k for k, o in OPEN.items() if o.run is run]:
                del OPEN[key]  # no outcome: a read is asked again, a write is for a person
            run.pause()
            return
        for key in [k for k, o in OPEN.items() if o.run is run]:  # left in the middle
            left = OPEN.pop(key)
            if left.proposed:
                settle(run, left.action, None, "unknown")
        stopped = run.account.ending
        if stopped is not None:
            run.end(stopped.reason, stopped.rule, stopped.layer, stopped.detail)
        else:
            run.end(reason, detail=detail[:500])

    def _run(self, context: Any) -> LiveRun:
        run = self._runs.get(context.invocation_id) or current_run()
        if run is None:
            run = self.opener(context.invocation_id, "")
            self._runs[context.invocation_id] = run
        return run


def _in_flight(outer: LiveRun) -> bool:
    """Whether code of this run is running: an action in flight, or a node's body. What a finished
    action left behind is not."""
    action = current_action_id()
    return not outer.account.ended and (not action or action in outer.account.open_actions)


def _text(invocation_context: Any) -> str:
    return _text_of(invocation_context.user_content)


def _text_of(content: Any) -> str:
    parts = content.parts if content is not None else None
    return " ".join(p.text for p in parts or [] if p.text)


def earlier_texts(session: Any, invocation: str) -> UserTurn | None:
    """What the session already holds: what its user said, and whose results are in it."""
    said, sources = list[str](), dict[str, None]()
    for event in session.events:
        if event.invocation_id == invocation or event.content is None:
            continue
        for part in event.content.parts or []:
            if event.author == "user" and part.text:
                said.append(part.text)
            elif part.function_response is not None and part.function_response.name:
                sources[part.function_response.name] = None
        sources.update(dict.fromkeys(files_of(event.content)))
    if not said and not sources:
        return None
    return UserTurn(text=BETWEEN.join(said), sources=tuple(sources))
