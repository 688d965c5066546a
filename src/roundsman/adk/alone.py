"""For guards that are put on one agent by hand: they work towards the run's account where the app is
guarded, and towards one of their own, in memory, where it is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from google.adk.tools.function_tool import FunctionTool

from roundsman.adk.current import current_action_id, current_run
from roundsman.guard import Account, Kind, Placed, Rule, Verdict, apply, decide
from roundsman.guard.events import Event, Ruled

MOST_KEPT = 1000
"""Activations remembered; one that was cancelled says no goodbye."""


class OwnTool(FunctionTool):
    """A tool of the guard itself: it reaches nothing outside, so no allowlist has to name it."""


class Book(Protocol):
    """What judges and remembers: a `LiveRun` or a `Tally`."""

    account: Account

    def judge(self, event: Event) -> Verdict: ...

    def write(self, event: Event) -> None: ...


class Tally:
    """An account without a journal."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.account = Account()
        self._rules = [Placed(rule) for rule in rules]

    def judge(self, event: Event) -> Verdict:
        """The strictest verdict of the rules."""
        return decide(self._rules, self.account, event).verdict

    def write(self, event: Event) -> None:
        """Fold the event into the account."""
        self.account = apply(self.account, event)


@dataclass(frozen=True)
class Activation:
    """One run of an agent: its book, its name and the action it runs in."""

    book: Book
    agent: str
    within: str
    guarded: bool

    def propose(self, event: Event, own: Rule) -> Verdict:
        """Judge by the guard's own rule and by the book's; a refusal is on record, and what may be
        is written."""
        verdict = decide([Placed(own)], self.book.account, event).verdict
        if verdict.kind > Kind.AMEND:
            self.book.write(
                Ruled(
                    verdict=verdict.kind.name.lower(),
                    rule=verdict.rule,
                    layer=verdict.layer,
                    reason=verdict.reason,
                    subject=event.kind,
                    numbers=verdict.numbers,
                )
            )
            return verdict
        verdict = self.book.judge(event)
        if verdict.kind <= Kind.AMEND:
            self.book.write(event)
        return verdict


class Activations:
    """The activation a callback or tool belongs to, by invocation, agent and branch."""

    def __init__(self, rules: Callable[[], Sequence[Rule]]) -> None:
        self._rules = rules
        self._known: dict[tuple[str, str, str], Activation] = {}

    def enter(self, context: Any) -> Activation:
        """An activation that begins."""
        run = _guarded_run(context)
        agent = context._invocation_context.agent.name
        book = Tally(self._rules()) if run is None else run
        if len(self._known) >= MOST_KEPT:
            del self._known[next(iter(self._known))]
        made = Activation(book, agent, current_action_id(), run is not None)
        self._known[_key(context)] = made
        return made

    def of(self, context: Any) -> Activation:
        """The activation under way; one that begins when there is none."""
        return self._known.get(_key(context)) or self.enter(context)

    def leave(self, context: Any) -> None:
        """Forget an activation."""
        self._known.pop(_key(context), None)


def put_on(agent: Any, what: str, tools: Sequence[Any] = (), **callbacks: Any) -> None:
    """Add tools and callbacks to an agent; what it had comes after.

    Raises:
        TypeError: it is no LLM agent, so it calls neither models nor tools of its own.
    """
    if not hasattr(agent, "before_model_callback"):
        kind = type(agent).__name__
        raise TypeError(f"a {what} goes on an LlmAgent, not on a {kind}; put it on one below it")
    agent.tools = [*agent.tools, *tools]
    for name, ours in callbacks.items():
        theirs = getattr(agent, name)
        rest = theirs if isinstance(theirs, list) else [theirs] if theirs is not None else []
        setattr(agent, name, [ours, *rest])


def texts(given: Any, most: int = 50, longest: int = 300) -> tuple[str, ...]:
    """Text a model gave as a list (or as one text): stripped, without empty ones, bounded."""
    items = given if isinstance(given, list | tuple) else [given] if given is not None else []
    cleaned = (" ".join(str(item).split())[:longest] for item in items[:most])
    return tuple(text for text in cleaned if text)


def _guarded_run(context: Any) -> Any:
    from roundsman.adk.plugin import GuardPlugin

    for plugin in context._invocation_context.plugin_manager.plugins:
        if isinstance(plugin, GuardPlugin):
            return plugin.run_of(context.invocation_id) or current_run()
    return None


def _key(context: Any) -> tuple[str, str, str]:
    inner = context._invocation_context
    return context.invocation_id, inner.agent.name, inner.branch or ""
