"""Which changes could have caused the harm: what speaks for each, what against, the likeliest first.

The verdict accepts no change that is not in this list, whoever proposes it: a model is measured by it
as the analyst is. Weights are plain and few (docs/rca.md says what they were set on), and
the order of importance is: can it produce what was seen, does a message name what it touched, is it
where failures began, and only then time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial

from roundsman.analysis import shared_words, words
from roundsman.investigate.facts import CLOCK, LOOK_BACK, Changed, Facts, echoes
from roundsman.investigate.harm import Harm, harm_of
from roundsman.investigate.place import Place, place_of
from roundsman.investigate.steps import attempt

#: how much a kind of trouble tells, when a change can produce it
_STRENGTH = {
    "memory": 3.0, "disk": 3.0, "panic": 3.0, "race": 3.0, "missing": 3.0, "rejected": 3.0,
    "certificate": 3.0, "parse": 3.0, "name": 3.0, "pool": 2.5, "queries": 2.5, "timeout": 2.0,
    "cpu": 2.0,
}  # fmt: skip
_VAGUE, _SWITCH = 1.0, 0.5
_SWITCHED = frozenset({"switched on", "switched off"})
_NOT_SEEN, _CANNOT, _FIRST, _NOT_DEPLOYED = -1.5, -4.0, -3.0, -2.0
_NAMED, _NAMED_TWICE = 1.5, 2.5
_ECHOED, _SHARED, _TEXT = 1.5, 1.0, 0.1
_NOTHING, _ALREADY, _GREW, _APART = -1.0, -0.5, 2.0, -0.5
_SOON, _MINUTES = 120.0, 600.0
#: names this short stand in too many lines to tell anything
_SHORTEST = 5


@dataclass(frozen=True)
class Suspect:
    """A change before the harm. `speaks_for` and `speaks_against` are its grounds in words, the weightiest
    first; `keys` of its diff, related first; `explains` the kinds of trouble seen that it can produce."""

    change: Changed
    score: float
    keys: tuple[str, ...]
    same_service: bool
    words: tuple[str, ...]
    speaks_for: tuple[str, ...] = ()
    speaks_against: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()


@dataclass
class _Scale:
    grounds: list[tuple[float, str]] = field(default_factory=list)

    def put(self, weight: float, why: str) -> None:
        if weight:
            self.grounds.append((weight, why))

    @property
    def score(self) -> float:
        return round(sum(weight for weight, _ in self.grounds), 2)

    def words(self, sign: int) -> tuple[str, ...]:
        ranked = sorted(self.grounds, key=lambda one: -sign * one[0])
        return tuple(why for weight, why in ranked if weight * sign > 0)


def _telling_words(text: str, names: list[str], own: set[str]) -> list[str]:
    return [
        word
        for word in shared_words(text, names)
        if word not in own and not any(word in name for name in own if len(word) > 4)
    ]


def suspects(facts: Facts) -> list[Suspect]:
    """Changes that precede the harm, the likeliest first; none when nothing moved."""
    onset = facts.onset()
    if onset is None:
        return []
    harm = harm_of(facts)
    begun = harm.onset if harm.onset is not None else onset
    anchor = max(begun, facts.anchor() or begun)
    place = place_of(facts, harm)
    symptoms = facts.symptoms()
    services = {one.service.lower() for one in symptoms if one.service}
    names = [one.name for one in symptoms]
    # a service's own name in a change's name or text connects nothing
    own = set().union(*(words(name) for name in {*services, *(c.service for c in facts.changes)}))

    def weighed(change: Changed) -> Suspect | None:
        scale = _Scale()
        echoed = [key for setting in facts.settings for key in echoes(setting, change)]
        related = {key: _telling_words(str(key), names, own) for key in change.diff}
        keys = sorted(change.diff, key=lambda k: (k not in echoed, -len(related[k]), str(k)))
        told = sorted({word for found in related.values() for word in found})
        text = _telling_words(f"{change.row.get('text') or ''} {change.name}", names, own)
        explains = _weigh_effects(scale, change, harm)
        _weigh_names(scale, change, facts)
        near = _weigh_place(scale, change, place)
        scale.put(_ECHOED * bool(echoed), "a metric repeats its new value")
        scale.put(
            _SHARED * bool(told), "its setting is named like what moved: " + ", ".join(told[:4])
        )
        scale.put(_TEXT * min(len(text), 4), "its text shares words with what moved")
        _weigh_time(scale, change, begun, harm, facts)
        read = change.row.get("read") or (change.diff and "effects" not in change.row)
        if read and not (change.effects or change.row.get("cannot") or told or echoed):
            scale.put(_NOTHING, "nothing in it can bring about such trouble, as far as is known")
        if not (near or told or explains or len(text) > 1):
            return None
        strong = tuple(str(k) for k in keys if k in echoed or related[k]) or tuple(map(str, keys))
        return Suspect(
            change,
            scale.score,
            strong,
            near,
            tuple(told + text),
            scale.words(1),
            scale.words(-1),
            explains,
        )

    out = []
    for change in facts.changes:
        back = LOOK_BACK if not facts.grew_with(change) else float("inf")
        if begun - back <= change.at <= anchor + CLOCK:
            what = f"weighing {change.row.get('kind')} {change.name}"[:120]
            out.append(attempt(facts.broken, what, partial(weighed, change)))
    found = [one for one in out if one is not None]
    return sorted(found, key=lambda one: (-one.score, -one.change.at))


def _weigh_effects(scale: _Scale, change: Changed, harm: Harm) -> tuple[str, ...]:
    """Can it produce what was seen? The kinds it explains."""
    if change.row.get("cannot"):
        scale.put(_CANNOT, str(change.row["cannot"]))
        return ()
    best, grounds = 0.0, ""
    kinds: list[str] = []
    for what, can, line in change.effects:
        for kind in sorted(can & harm.telling.keys() | can & harm.vague.keys()):
            kinds.append(kind)
            strength = _STRENGTH.get(kind, _VAGUE)
            if what in _SWITCHED:  # a switch can bring about anything, so it tells little
                strength = _SWITCH
            if strength > best:
                best, grounds = (
                    strength,
                    f"{what}, which can bring about what was seen ({kind}): {line}",
                )
    scale.put(best, grounds)
    if change.effects and not kinds and harm.signs:
        could = sorted({kind for _, some, _ in change.effects for kind in some})
        why = f"could bring about {', '.join(could[:3])} trouble, which was not seen"
        scale.put(_NOT_SEEN, why)
    return tuple(dict.fromkeys(kinds))


def _weigh_names(scale: _Scale, change: Changed, facts: Facts) -> None:
    """Does an error name what the change touched?"""
    said = [one.said for one in facts.logs if one.bad or one.warns]
    said += [str(one.row.get("message") or "") for one in facts.along.origins]
    text = " ".join(said)
    own = {one.lower() for one in facts.known_services()}
    hits = [
        name
        for name in change.names
        if len(name) >= _SHORTEST
        and name.lower() not in own
        and re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text)
    ]
    if hits:
        weight = _NAMED_TWICE if len(hits) > 1 else _NAMED
        scale.put(weight, "errors name what it touched: " + ", ".join(hits[:3]))


def _weigh_place(scale: _Scale, change: Changed, place: Place) -> bool:
    """Is it where failures began? Whether its service suffered at all."""
    service = change.service.lower()
    if not service:
        return False
    weight, why = place.weight(service)
    scale.put(weight, why)
    if service in place.began and len(place.apart) > 1:
        others = ", ".join(sorted(place.apart - {service})[:3])
        scale.put(_APART, f"failures began in {others} too, apart from it")
    return weight > 0


def _weigh_time(scale: _Scale, change: Changed, begun: float, harm: Harm, facts: Facts) -> None:
    gap = begun - change.at
    if gap < -CLOCK:
        scale.put(_ALREADY, f"something hurt {round(-gap)} s before it already")
        later = [one.at for one in harm.signs if one.at >= change.at - CLOCK]
        gap = min(later, default=change.at) - change.at
    if facts.grew_with(change):
        scale.put(_GREW, "what filled up began to grow when it was made")
    elif gap <= _SOON:
        scale.put(1.0, f"came {max(0, round(gap))} s before the harm")
    elif gap <= _MINUTES:
        scale.put(0.7, f"came {round(gap / 60)} min before the harm")
    else:
        scale.put(0.7 * max(0.0, 1 - gap / LOOK_BACK), f"came {round(gap / 60)} min before")
    if change.row.get("first"):
        scale.put(_FIRST, "the first version of its service: it changed nothing that ran")
    if change.row.get("deployed") is False:
        scale.put(_NOT_DEPLOYED, "no deploy ships it")
