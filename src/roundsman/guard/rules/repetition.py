"""The same again: the plain rule of the reference, and the one that tells stuck from busy."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from roundsman.guard.account import Account
from roundsman.guard.asking import wanted
from roundsman.guard.events import ActionBegins, ActionEnds, Event, RoundEnds, StepBegins
from roundsman.guard.evolve import evolve
from roundsman.guard.stuck import foresee, gathered, proposed
from roundsman.guard.stuck.conversations import of, where_of
from roundsman.guard.stuck.fold import RULE, asked_of
from roundsman.guard.stuck.memory import Conversation, Where
from roundsman.guard.stuck.narration import MOST_BLANKS, MOST_TALK
from roundsman.guard.stuck.polling import waited
from roundsman.guard.stuck.score import NEW_CALL
from roundsman.guard.verdicts import Kind, Verdict


@dataclass(frozen=True, slots=True)
class SimpleRepetition:
    """The reference: the last `window` calls are remembered, and the `limit`-th identical call
    (tool and canonical arguments) is not run. It never ends the run."""

    window: int
    limit: int
    name: ClassVar[str] = RULE
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = frozenset({ActionBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, ActionBegins)
        begun = of(account.stuck, where_of(event)).begun[-self.window :]
        times = sum(call == event.call for _, call in begun) + 1
        if times < self.limit:
            return None
        why = (
            f"{event.tool} was asked for with the same arguments {times} times in the last "
            f"{self.window + 1} calls; change the question or give your answer"
        )
        return Verdict(Kind.REFUSE, self.name, self.layer, why, numbers={"times": times})


@dataclass(frozen=True, slots=True)
class Stuck:
    """Evidence that nothing new comes of the calls adds up to points (`guard.stuck`): at `warn`
    the model is told with the result, at `withhold` a call that repeats is not run, at `stop` the
    run ends (never before a call was withheld). In a loop that holds a finding the first stop only cuts
    the round: the next one is told the findings. One that begins with the very call the round before was
    cut for begins like it and ends the run.

    A loop that holds none would begin its next round with the words of this one, so a round that was cut is
    its last (`another_round`: `with_findings`; `always` gives it another), and the very call whose
    result the model was just told it knows ends the round without being withheld first.

    A poll is withheld when its answer has not changed for `poll` seconds. Of the tools in `by_person` a
    person is asked about each call, also about one that is under way already.
    """

    signals: Collection[str]
    warn: float
    withhold: float
    stop: float
    poll: float | None
    final: Collection[str] = frozenset()
    another_round: str = "with_findings"
    by_person: Collection[str] = frozenset()
    name: ClassVar[str] = RULE
    layer: ClassVar[str] = "tool"
    watches: ClassVar[frozenset[str]] = frozenset(
        {ActionBegins.kind, ActionEnds.kind, RoundEnds.kind}
    )

    def judge(self, account: Account, event: Event) -> Verdict | None:
        if isinstance(event, ActionEnds):
            return self._warned(account, event)
        if isinstance(event, RoundEnds):
            return self._over(account, event)
        assert isinstance(event, ActionBegins)
        if event.tool in self.final:
            return None
        if wanted(account.asks, event.tool, event.args, event.at):
            return None  # who said yes knew better than points do
        mine, call = of(account.stuck, where_of(event)), asked_of(event)
        if event.tool in self.by_person and any(o.call == call.call for o in mine.flying.values()):
            call = evolve(call, alters="seems")
        if event.effect == "poll":
            return self._polled(account, mine, event)
        if "repeat" in self.signals and _begins_like_the_last(account, mine, event):
            why = f"the round begins with the {event.tool} call that the round before was cut for"
            return Verdict(Kind.STOP, self.name, self.layer, why, "repetition")
        weight = proposed(mine, call, self.signals)
        before = gathered(mine, self.signals)
        points = before + weight
        # what one call weighs by itself withholds it, but ends nothing: the model was not told yet
        if before + min(weight, 1.0) >= self.stop and mine.withheld:
            return self._end(account, event, points)
        if points >= self.withhold and weight > -NEW_CALL:
            known = self._ends_at_once(account, event.loop, points)
            if known and _at_once_again(mine, event):
                return self._end(account, event, points)
            return self._refuse(event, points, _why(event))
        return None

    def _over(self, account: Account, event: RoundEnds) -> Verdict | None:
        """A round that was cut for repeating itself is the last of a loop that holds nothing."""
        cut = account.loop(event.loop).cut
        if cut is None or cut.rule != self.name or event.held or self.another_round == "always":
            return None
        why = f"{cut.detail}, and no finding is held that another round could begin with"
        return Verdict(Kind.STOP, self.name, "loop", why, "repetition")

    def _last_round(self, account: Account, loop: str) -> bool:
        """Whether no round may follow one of this loop that repeats itself."""
        known = account.loop(loop)
        return bool(known.rounds) and not known.held and self.another_round == "with_findings"

    def _ends_at_once(self, account: Account, loop: str, points: float) -> bool:
        """Whether a call with so many points that was just told of ends the round without being withheld
        first: only where a refusal, and the call once more, would bring it to the end as well."""
        again = "repeat" in self.signals and points + 1 >= self.stop
        return again and self._last_round(account, loop)

    def _warned(self, account: Account, event: ActionEnds) -> Verdict | None:
        where = account.stuck.open.get(event.id, Where())
        if of(account.stuck, where).warned or event.tool in self.final:
            return None
        after = of(foresee(account.stuck, event), where)
        if event.effect == "poll":
            return self._waits_long(waited(after, event.call, event.at))
        points = gathered(after, self.signals)
        if points < self.warn:
            return None
        ends = (
            self._ends_at_once(account, where.loop, points + 1)
            and points + 1 >= self.withhold
            and _known(after, event.call)
        )
        same = "asking the same again will not be answered"
        same = "if your next call is the same, the round ends" if ends else same
        why = (
            f"this result was known already; {same}. Ask something else, or give your answer with "
            "what you have"
        )
        numbers = {"points": round(points, 2)}
        return Verdict(Kind.AMEND, self.name, self.layer, why, numbers=numbers)

    def _waits_long(self, spent: float) -> Verdict | None:
        if "poll" not in self.signals or self.poll is None or spent < self.poll / 2:
            return None
        why = f"the same answer for {spent:.0f} s; it will be asked for no longer than {self.poll:g} s"
        numbers = {"seconds": round(spent, 1)}
        return Verdict(Kind.AMEND, self.name, self.layer, why, numbers=numbers)

    def _polled(self, account: Account, mine: Conversation, event: ActionBegins) -> Verdict | None:
        spent = waited(mine, event.call, event.at)
        if "poll" not in self.signals or self.poll is None or spent < self.poll:
            return None
        if mine.withheld >= 3:
            return self._end(account, event, spent)
        why = f"{event.tool} has given the same answer for {spent:.0f} s (limit {self.poll:g} s)"
        return self._refuse(event, spent, f"{why}; go on without it or say what is not finished")

    def _refuse(self, event: ActionBegins, points: float, why: str) -> Verdict:
        numbers = {"points": round(points, 2), "call": event.call}
        return Verdict(Kind.REFUSE, self.name, self.layer, why, numbers=numbers)

    def _end(self, account: Account, event: ActionBegins, points: float) -> Verdict:
        first = account.loop(event.loop).rounds and not account.stuck.cuts.get(event.loop)
        kind = Kind.CUT if first else Kind.STOP
        why = f"{_why(event)}; it was told so and went on"
        numbers = {"points": round(points, 2)}
        return Verdict(kind, self.name, self.layer, why, "repetition", numbers=numbers)


@dataclass(frozen=True, slots=True)
class OnlyTalk:
    """An agent that announces the same thing again without a call, or says nothing at all, takes
    no further step."""

    signals: Collection[str]
    name: ClassVar[str] = RULE
    layer: ClassVar[str] = "model"
    watches: ClassVar[frozenset[str]] = frozenset({StepBegins.kind})

    def judge(self, account: Account, event: Event) -> Verdict | None:
        assert isinstance(event, StepBegins)
        known = account.stuck.talking.get(where_of(event))
        talk = known.talks.get(event.agent) if known is not None else None
        if talk is None:
            return None
        if "blank" in self.signals and talk.blanks >= MOST_BLANKS:
            why = f"{talk.blanks} empty replies in a row"
        elif "narration" in self.signals and talk.again >= MOST_TALK:
            why = f"{talk.again} replies in a row announced the same and called no tool"
        else:
            return None
        return Verdict(Kind.STOP, self.name, self.layer, why, "repetition")


def _begins_like_the_last(account: Account, mine: Conversation, event: ActionBegins) -> bool:
    """Whether a round that was cut left this call behind, and nothing else was asked since."""
    return (
        bool(event.call) and not mine.past and account.stuck.cut_for.get(event.loop) == event.call
    )


def _known(mine: Conversation, call: str) -> bool:
    """Whether the last outcome is of this call, and is what this call gave before. A failure may pass, and
    a blank result says less: neither counts."""
    last = mine.past[-1] if mine.past else None
    if last is None or last.asked.call != call or not last.print or last.fault:
        return False
    return any(o.asked.call == call and o.print == last.print for o in mine.past[:-1])


def _at_once_again(mine: Conversation, event: ActionBegins) -> bool:
    """Whether the reply that follows what the model was told asks for that very call. Who was told is the
    agent that asked last: another one has to be told first."""
    last = mine.past[-1] if mine.warned and mine.past else None
    if last is None or last.asked.agent != event.agent or last.step == mine.step:
        return False
    return _known(mine, event.call)


def _why(event: ActionBegins) -> str:
    return (
        f"{event.tool}: calls like this one have brought nothing new; change the question or "
        "give your answer"
    )
