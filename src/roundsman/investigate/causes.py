"""Competing causes over the facts of a run, weighed on one scale; which one stands out, or why none does.

Used twice: the analyst words its proposal from here, and the verdict accepts no other, whoever proposes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from roundsman.analysis.clocks import Skew
from roundsman.investigate.clocks import doubtful_order, skews
from roundsman.investigate.conditions import Condition, conditions
from roundsman.investigate.facts import CLOCK, Facts
from roundsman.investigate.harm import Harm, harm_of
from roundsman.investigate.place import NOWHERE, Place, place_of
from roundsman.investigate.steps import attempt
from roundsman.investigate.suspects import Suspect, suspects
from roundsman.investigate.wording import say_change

#: least a cause must weigh, and by how much it must lead the next
ENOUGH, LEAD = 2.75, 0.5
#: weight and lead from which a cause is called likely, and as good as certain
_MEDIUM, _MEDIUM_LEAD = 4.0, 1.0
_HIGH, _HIGH_LEAD = 5.5, 2.0
#: why a candidate is not chosen that nothing speaks against
LESS = "less speaks for it"
#: steps without which no cause is more than a guess
_HARM, _CHANGES = "what users suffered", "weighing the changes"


@dataclass(frozen=True)
class Candidate:
    """A cause that is weighed: a change, or a condition without one."""

    suspect: Suspect | None
    condition: Condition | None

    @property
    def score(self) -> float:
        one = self.suspect or self.condition
        return one.score if one else 0.0

    @property
    def speaks_for(self) -> tuple[str, ...]:
        one = self.suspect or self.condition
        return one.speaks_for if one else ()

    @property
    def speaks_against(self) -> tuple[str, ...]:
        return self.suspect.speaks_against if self.suspect else ()

    @property
    def statement(self) -> str:
        """The cause in words."""
        if self.suspect:
            return say_change(self.suspect.change, self.suspect.keys)
        return self.condition.statement if self.condition else ""


@dataclass(frozen=True)
class Judgement:
    """candidates: the weightiest first. best: the one that stands out. why_none: why none does."""

    harm: Harm
    place: Place
    candidates: tuple[Candidate, ...]
    best: Candidate | None
    why_none: str = ""
    skews: tuple[Skew, ...] = ()

    def rival(self, one: Candidate) -> Candidate | None:
        """The weightiest other candidate."""
        return next((other for other in self.candidates if other is not one), None)

    def confidence(self, one: Candidate, facts: Facts) -> str:
        """high, medium or low (see docs/investigate.md for what each is worth)."""
        if (
            facts.broken or self.skews
        ):  # what was not weighed, or came at another time, might have won
            return "low"
        rival = self.rival(one)
        lead = one.score - max(0.0, rival.score) if rival else one.score
        metric = any(not sign.log for sign in (*self.harm.signs, *self.harm.resources))
        seen_twice = metric + bool(facts.bad_logs) + bool(facts.along.origins) >= 2
        grounds = len(one.speaks_for) >= 2
        if one.score >= _HIGH and lead >= _HIGH_LEAD and seen_twice and grounds:
            return "high"
        return "medium" if one.score >= _MEDIUM and lead >= _MEDIUM_LEAD else "low"


def judge(facts: Facts) -> Judgement:
    """Weigh every cause that results allow.

    A step that raises is named in `facts.broken`; the others are weighed without it. A change of which it
    depends on a clock whether it came before the harm is not chosen.
    """
    found = attempt(facts.broken, "whether clocks differ", partial(skews, facts)) or []
    judged = replace(_weigh(facts), skews=tuple(found))
    best = judged.best.suspect if judged.best else None
    if best is None or not found:
        return judged
    doubt = doubtful_order(best.change, judged.harm, found)
    if doubt is None:
        return judged
    what = f"{best.change.row.get('kind')} {best.change.name}"
    why = f"whether {what} came before the harm depends on whose clock is right: {doubt.said}"
    return replace(judged, best=None, why_none=why)


def _weigh(facts: Facts) -> Judgement:
    lost = facts.broken
    harm = attempt(lost, _HARM, partial(harm_of, facts)) or Harm((), (), {})
    place = attempt(lost, "where it began", partial(place_of, facts, harm)) or NOWHERE
    weighed = attempt(lost, _CHANGES, partial(suspects, facts)) or []
    found = [Candidate(one, None) for one in weighed]
    found += [Candidate(None, one) for one in conditions(facts, harm, place)]
    ranked = tuple(sorted(found, key=lambda one: -one.score))
    if not harm.signs:
        if _HARM in lost:
            return Judgement(harm, place, ranked, None, "what users suffered could not be told")
        why = "something moved, but nothing that users feel"
        return Judgement(harm, place, ranked, None, why)
    if harm.over:
        return Judgement(harm, place, ranked, None, harm.over)
    if not ranked or ranked[0].score < ENOUGH:
        why = "something moved, but no grounded finding names what stands out as its cause"
        return Judgement(harm, place, ranked, None, why)
    close = [one for one in ranked if ranked[0].score - one.score < LEAD]
    if len(close) > 1:
        why = (
            "something moved, but no grounded finding names what stands out as its cause: "
            f"{len(close)} changes before it are about as likely"
        )
        return Judgement(harm, place, ranked, None, why)
    return Judgement(harm, place, ranked, ranked[0])


def against(one: Candidate, judgement: Judgement, chosen: Candidate | None) -> str:
    """Why a candidate is not the cause, in one sentence."""
    shared = chosen.speaks_against if chosen else ()
    apart = [why for why in one.speaks_against if why not in shared]
    if apart:
        return "; ".join(apart[:2])
    if chosen is not None:
        return _behind(one, chosen)
    if judgement.harm.over:
        return judgement.harm.over
    if one.score < ENOUGH:
        return "too little speaks for it"
    return "another change is nearly as likely, and too little speaks for either"


def _behind(one: Candidate, chosen: Candidate) -> str:
    """What the chosen cause has and this one lacks: a reason that acquits both is none."""
    mine, other = one.suspect, chosen.suspect
    if mine and other and not mine.explains:
        if other.change.diff and not mine.change.diff:
            return "names no changed setting"
        if other.explains:
            return "has less to do with what moved"
    more = ahead_by(one, chosen)
    return f"{LESS} than for the cause: {more}" if more else LESS


def ahead_by(one: Candidate, chosen: Candidate) -> str:
    """The weightiest ground of the chosen cause that this one has not; empty when there is none."""
    return next((why for why in chosen.speaks_for if why not in one.speaks_for), "")


def came_after(at: float, judgement: Judgement, onset: float | None) -> bool:
    """Whether a moment is after the harm began, beyond what clocks may differ."""
    begun = judgement.harm.onset if judgement.harm.onset is not None else onset
    return begun is not None and at > begun + CLOCK
