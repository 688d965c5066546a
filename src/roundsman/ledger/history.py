"""What a journal holds for the process that takes an interrupted run up again.

Finished rounds come from here and are not repeated. In the round that was interrupted, recorded
replies and results are given back in place of calling again: same calls, same arguments, nothing
paid twice, and a write at most once even when a model asked anew would answer differently.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from roundsman.errors import Divergence
from roundsman.guard.events import (
    ActionBegins,
    ActionEnds,
    ActionSettled,
    Chance,
    Event,
    RoundBegins,
    RoundEnds,
    Ruled,
    RunResumes,
    StepBegins,
    StepEnds,
)
from roundsman.guard.prints import canonical
from roundsman.ledger.fold import event_of
from roundsman.ledger.records import Record

READS = ("read", "poll")
LIKELY_REPLY = 1000
"""Output tokens charged for a reply nobody saw. A reservation may hold all that is left of the
budget; to charge that would end every run that is resumed."""


@dataclass(slots=True)
class Past:
    """A step or action as it was: its intent, what was said of it, and its outcome if any. `within` is
    the action it was part of."""

    id: str
    key: tuple[str, str]
    loop: str = ""
    within: str = ""
    begins: StepBegins | ActionBegins | None = None
    ends: StepEnds | ActionEnds | None = None
    ruled: list[Ruled] = field(default_factory=list)
    settled: ActionSettled | None = None

    @property
    def refusal(self) -> Ruled | None:
        """The verdict that kept it from running, None when it ran."""
        if self.ends is not None:
            return None
        said = (r for r in self.ruled if r.applied and r.verdict not in ("amend", "ask"))
        return next(said, None)  # what a person was asked about is judged anew

    @property
    def note(self) -> str:
        """What the model was told along with the result, without a change of the call."""
        notes = (
            r.reason for r in self.ruled if r.applied and r.verdict == "amend" and not r.changes
        )
        return next(notes, "") if isinstance(self.ends, ActionEnds) else ""

    @property
    def known(self) -> bool:
        """Whether it is known how it ended: an outcome, a refusal, or a person's word. A step that
        brought no reply (the provider failed) is asked anew, as it would have been."""
        if isinstance(self.ends, StepEnds):
            return self.ends.reply is not None
        if isinstance(self.ends, ActionEnds) and self.ends.effect in READS:
            # broken off, or too long to be kept: it is read again
            return self.ends.status != "unknown" and not _is_cut(self.ends.result)
        return self.ends is not None or self.refusal is not None or self._answered

    @property
    def _answered(self) -> bool:
        return self.settled is not None and self.settled.decision != "again"

    def result(self) -> Any:
        """What the model is given in place of running the action again."""
        if isinstance(self.ends, ActionEnds):
            return self.ends.result
        done = self.settled is not None and self.settled.decision == "done"
        return {
            "status": "ok" if done else "error",
            "note": "the process died during this call; a person has looked: it "
            + ("was carried out" if done else "was not carried out"),
        }


class Replay:
    """The calls of an interrupted round, each given back once, by who asked and what. With an action
    goes all that was done within it: it will not be asked for again, and a later call of the same agent
    has not been made yet.

    Args:
        changed: a person has accepted that the setup is not what it was: an agent's recorded steps are
            then given back in their order, whatever its request is now.
    """

    def __init__(self, pasts: Iterable[Past], changed: bool = False) -> None:
        self._changed = changed
        self.missed: Past | None = None
        """What was on record of the call that was asked for last, when its end is not known."""
        self._steps: dict[tuple[str, str], deque[Past]] = {}
        self._actions: dict[tuple[str, str], deque[Past]] = {}
        self._below: dict[str, list[Past]] = {}
        for past in sorted(pasts, key=lambda p: not p.known):  # the known of equal calls first
            self._shelf(past).setdefault(past.key, deque()).append(past)
            if past.within:
                self._below.setdefault(past.within, []).append(past)

    def _shelf(self, past: Past) -> dict[tuple[str, str], deque[Past]]:
        return self._steps if past.id.startswith("s") else self._actions

    def step(self, agent: str, request: str) -> Past | None:
        """The recorded step of this agent with this request; None: not known, ask anew.

        Raises:
            Divergence: the agent's recorded steps are of other requests.
        """
        if self._changed and (agent, request) not in self._steps:
            request = next((key[1] for key in self._steps if key[0] == agent), request)
        return self._take(self._steps, agent, request, "step")

    def action(self, agent: str, call: str, tool: str) -> Past | None:
        """The recorded action of this agent with this call; None: not known, run it.

        Raises:
            Divergence: the agent's recorded actions are of other calls.
        """
        return self._take(self._actions, agent, call, f"action {tool}")

    def _take(
        self, shelf: dict[tuple[str, str], deque[Past]], agent: str, what: str, name: str
    ) -> Past | None:
        waiting = shelf.get((agent, what))
        self.missed = None
        if waiting:
            past = waiting.popleft()
            self.missed = None if past.known else past
            if not waiting:
                del shelf[agent, what]
            if not past.known:
                return None
            self._clear(past.id)
            return past
        left = [p for key, ps in shelf.items() if key[0] == agent for p in ps if p.known]
        if left:
            ids = ", ".join(p.id for p in left[:3])
            raise Divergence(
                f"{name} of agent {agent!r} is not the one on record ({ids}): the agent, its "
                f"instruction or its tools changed since; start a new run"
            )
        return None

    def _clear(self, action: str) -> None:
        for past in self._below.pop(action, ()):
            shelf = self._shelf(past)
            if waiting := [one for one in shelf.pop(past.key, ()) if one is not past]:
                shelf[past.key] = deque(waiting)
            self._clear(past.id)


class History:
    """A journal read for resuming: `finished` rounds of each loop by its path, the round each was
    in (`open_rounds`), `results` of every action as text, and the `replay` of what belongs to no
    finished round. `changed`: see `Replay`."""

    def __init__(self, records: Sequence[Record], changed: bool = False) -> None:
        self.finished: dict[str, list[RoundEnds]] = {}
        self.results: dict[str, str] = {}
        self.open_rounds: dict[str, int] = {}
        pasts: dict[str, Past] = {}
        self.unknown: list[ActionBegins] = []
        self.chance: dict[tuple[str, str], deque[float]] = {}
        for record in records:
            event = event_of(record)
            if isinstance(event, Chance):
                self.chance.setdefault((event.what, event.name), deque()).append(event.value)
            elif isinstance(event, RoundBegins):
                self.open_rounds[event.loop] = event.index
            elif isinstance(event, RoundEnds):
                self.finished.setdefault(event.loop, []).append(event)
                self.open_rounds.pop(event.loop, None)
                pasts = {name: past for name, past in pasts.items() if past.loop != event.loop}
            else:
                _enter(pasts, event)
            if isinstance(event, ActionEnds):
                text = json.dumps(event.result, default=str, ensure_ascii=False)
                self.results[event.id] = text
        self.unknown = [
            p.begins
            for p in pasts.values()
            if isinstance(p.begins, ActionBegins)
            and not p.known
            and p.settled is None
            and p.begins.effect not in READS
            and not p.begins.nested
        ]
        self.replay = Replay(pasts.values(), changed)

    def question(self, run_id: str) -> str:
        """What a person has to say before the run can go on."""
        shown = "; ".join(f"{a.id} {a.tool}({canonical(a.args)})" for a in self.unknown[:3])
        return (
            f"run {run_id} died during {len(self.unknown)} write(s), and nobody knows whether they "
            f"were carried out: {shown}; look, then: roundsman settle {run_id} "
            f"{self.unknown[0].id} done|not-done|again"
        )


def _is_cut(result: Any) -> bool:
    """Whether the journal holds only the beginning of a result."""
    return isinstance(result, dict) and result.keys() == {"cut", "characters"}


def charges(records: Sequence[Record]) -> dict[str, tuple[int, float]]:
    """What the steps in flight are charged, by step: (tokens, dollars) of their prompt and a
    likely reply, at most what was reserved."""
    begun: dict[str, StepBegins] = {}
    for record in records:
        if record.kind == StepBegins.kind:
            event = event_of(record)
            assert isinstance(event, StepBegins)
            begun[event.id] = event
        elif record.kind == StepEnds.kind:
            begun.pop(record.body["id"], None)
        elif record.kind == RunResumes.kind:
            begun.clear()  # charged then
    found = {}
    for step in begun.values():
        reply = min(step.max_output_tokens or LIKELY_REPLY, LIKELY_REPLY)
        tokens = min(step.prompt_tokens + reply, step.reserved_tokens)
        prices = step.prices or (0.0, 0.0)
        usd = (step.prompt_tokens * prices[0] + reply * prices[1]) / 1e6
        found[step.id] = (tokens, min(usd, step.reserved_usd))
    return found


def _enter(pasts: dict[str, Past], event: Event) -> None:
    if isinstance(event, StepBegins):
        _past(pasts, event.id, (event.agent, event.request), event).begins = event
    elif isinstance(event, ActionBegins):
        _past(pasts, event.id, (event.agent, event.call), event).begins = event
    elif isinstance(event, StepEnds | ActionEnds):
        if event.id in pasts and pasts[event.id].ends is None:
            pasts[event.id].ends = event
    elif isinstance(event, ActionSettled):
        if event.id in pasts:
            pasts[event.id].settled = event
    elif isinstance(event, Ruled) and event.subject_id in pasts:  # of an outcome, too
        pasts[event.subject_id].ruled.append(event)
    elif isinstance(event, Ruled) and event.subject_id and event.agent:
        key = (event.agent, event.call)
        _past(pasts, event.subject_id, key, event).ruled.append(event)


def _past(
    pasts: dict[str, Past],
    name: str,
    key: tuple[str, str],
    event: StepBegins | ActionBegins | Ruled,
) -> Past:
    return pasts.setdefault(name, Past(name, key, event.loop, event.within))
