"""Which changes came before what moved and touch it, the likeliest first.

The verdict accepts no change that is not in this list, whoever proposes it: a model is measured by it
as the analyst is.
"""

from __future__ import annotations

from dataclasses import dataclass

from roundsman.analysis import shared_words, words
from roundsman.investigate.facts import CLOCK, LOOK_BACK, Changed, Facts, echoes


@dataclass(frozen=True)
class Suspect:
    """A change before the onset and why it is suspected; `keys` of its diff, related first."""

    change: Changed
    score: float
    keys: tuple[str, ...]
    same_service: bool
    words: tuple[str, ...]


def _telling(text: str, names: list[str], own: set[str]) -> list[str]:
    return [
        word
        for word in shared_words(text, names)
        if word not in own and not any(word in name for name in own if len(word) > 4)
    ]


def suspects(facts: Facts) -> list[Suspect]:
    """Changes that precede the onset and touch something that moved, the likeliest first."""
    onset = facts.onset()
    if onset is None:
        return []
    symptoms = facts.symptoms()
    services = {one.service.lower() for one in symptoms if one.service}
    first = symptoms[0].service.lower()
    said = " ".join(one.name for one in facts.bad_logs).lower()
    names = [one.name for one in symptoms]
    # a service's own name in a change's name or text connects nothing
    own = set().union(*(words(name) for name in {*services, *(c.service for c in facts.changes)}))
    out = []
    for change in facts.changes:
        if not onset - LOOK_BACK <= change.at <= onset + CLOCK:
            continue
        echoed = [key for setting in facts.settings for key in echoes(setting, change)]
        related = {key: _telling(str(key), names, own) for key in change.diff}
        keys = sorted(change.diff, key=lambda k: (k not in echoed, -len(related[k]), str(k)))
        told = sorted({word for found in related.values() for word in found})
        text = _telling(f"{change.row.get('text') or ''} {change.row.get('name')}", names, own)
        service = change.service.lower()
        place = facts.along.place(service, services)
        same = bool(service) and (service in services or service in said or place > 0)
        if not (same or told or len(text) > 1):
            continue
        score = 2.0 * same + 1.0 * (service == first) + 2.0 * bool(told) + 0.5 * min(len(text), 4)
        score += (
            place + 1.0 * bool(change.diff) + 1.0 * bool(echoed) - (onset - change.at) / LOOK_BACK
        )
        strong = tuple(str(k) for k in keys if k in echoed or related[k]) or tuple(map(str, keys))
        out.append(Suspect(change, round(score, 2), strong, same, tuple(told + text)))
    return sorted(out, key=lambda one: -one.score)
