"""Does a statement say something that another one does not?

Numbers, names and times decide; wording does not. A statement with a fact that the other has not is
new. With the same facts it is a repeat, but for three things: it says the opposite; it is the same
sentence with another word in one place (`the read path` for `the write path`); or the facts are too few
to decide, and its words are others. When unsure it is new: a finding is not merged away by guess.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from roundsman.loop.facts import Facts, facts_of
from roundsman.loop.grounding import Seen

_WORD = re.compile(r"[^\W_]+(?:[’'][^\W_]+)?")
_NOT = re.compile(r"\b(?:no|not|never|none|without|neither|nor|cannot|\w+n[’']t)\b", re.IGNORECASE)
_UP = re.compile(
    r"\b(?:rose|rise[sn]?|rising|raise[sd]?|increas(?:e[sd]?|ing)|grew|grow(?:s|n|ing)?|higher|climb(?:s|ed|ing)?"
    r"|jump(?:s|ed|ing)?)\b"
)
_DOWN = re.compile(
    r"\b(?:fell|falls?|falling|fallen|drop(?:s|ped|ping)?|decreas(?:e[sd]?|ing)|lower(?:s|ed)?"
    r"|declin(?:e[sd]?|ing)|cuts?|shr[aiu]nk|reduc(?:e[sd]?|ing))\b"
)
_BEGINS = re.compile(
    r"\b(?:start(?:ed|s|ing)?|since|began|begins?|beginning|onset)\b", re.IGNORECASE
)
#: how far apart, in seconds, two estimates of one beginning may be
_SAME_BEGINNING = 300
_SMALL = re.compile(
    r"(?:an?|and|are|as|at|be|been|by|for|from|ha[sd]|have|in|is|its?|of|on|or|th(?:at|e|en|is)|to"
    r"|was|were|when|with)"
)
#: where the letter a is no article
_LETTERED = re.compile(
    r"\b(zone|region|shard|partition|replica|group|rack|az|cluster|class|phase|side|site|cell|pool) a\b"
)
#: share of a statement's words that must be the other's, by the number of facts they share
_ALIKE = {0: 0.8, 1: 0.6, 2: 0.34}
#: up to so many words say too little for one of them to be another
_SHORT = 8
#: shares of words from which two statements may be the same
_HALF, _THIRD = 0.5, 1 / 3
#: how equal two sentences are that differ in a word only
_SAME_SENTENCE = 0.6


class Said:
    """A statement that is held, ready to be compared with others."""

    def __init__(self, statement: str) -> None:
        self.statement = statement
        self._seen = Seen(statement)
        self._numbers = facts_of(statement).numbers
        self._words = _words(statement)

    def says(self, statement: str) -> bool:
        """Whether `statement` says nothing that this one does not."""
        facts = facts_of(statement)
        if not self._has(facts):
            return self._begins_with(statement, facts)
        words = _words(statement)
        if words == self._words:
            return True
        if _opposed(statement, self.statement) or _word_replaced(self._words, words):
            return False
        count = len(facts.names) + len(facts.numbers) + len(facts.times) + len(facts.days)
        if not count and not words:
            return False
        named = {word for name in facts.names for word in _words(name)}
        content = _worded(words) - named
        alike = len(content & set(self._words)) / len(content) if content else 1.0
        if not count and len(content) < _SHORT:
            return alike == 1.0
        return alike >= _ALIKE.get(count, 0.0)

    def _begins_with(self, statement: str, facts: Facts) -> bool:
        """Whether it is the same sentence and only dates the same beginning a few minutes apart.

        When something began is estimated from one signal or another; events are told apart by their times,
        so the sentence must say that it speaks of a beginning, and nothing else may differ.
        """
        mine = facts_of(self.statement)
        if not (len(mine.times) == len(facts.times) == 1 and _BEGINS.search(statement)):
            return False
        one, other = mine.times[0], facts.times[0]
        if (
            self.statement.replace(one.text, "", 1).split()
            != statement.replace(other.text, "", 1).split()
        ):
            return False
        (day, clock), (other_day, other_clock) = one.utc(), other.utc()
        return day == other_day and abs(clock - other_clock) <= _SAME_BEGINNING

    def resembles(self, statement: str) -> bool:
        """Whether `statement` may well be told here already, although that is not sure.

        Half of the words of the shorter one are the other's, or a third and a name or number of it.
        """
        mine, yours = _worded(self._words), _worded(_words(statement))
        shorter = min(len(mine), len(yours))
        if shorter < 2:
            return False
        share = len(mine & yours) / shorter
        if share >= _HALF:
            return True
        facts = facts_of(statement)
        told = [*facts.names, *(number.text for number in facts.numbers)]
        missing = set(self._seen.missing(Facts((), (), facts.names, facts.numbers)))
        return share >= _THIRD and any(one not in missing for one in told)

    def _has(self, facts: Facts) -> bool:
        """Whether all facts are said here, also where this one rounds what they give exactly."""
        missing = self._seen.missing(facts)
        exact = [Seen(number.whole) for number in facts.numbers if number.text in missing]
        if len({number.text for number in facts.numbers} & set(missing)) != len(missing):
            return False
        return all(any(one.has_number(own) for own in self._numbers) for one in exact)


def _words(statement: str) -> list[str]:
    """Words in order, lower case, without the small ones; all that say up alike, all that say down."""
    text = _DOWN.sub("down", _UP.sub("up", statement.casefold()))
    text = _LETTERED.sub(r"\1 letter-a", text)
    return [_stem(word) for word in _WORD.findall(text) if not _SMALL.fullmatch(word)]


def _stem(word: str) -> str:
    return re.sub(r"(?:ing|ed|es|s)$", "", word) if len(word) > 4 and word.isalpha() else word


def _opposed(one: str, other: str) -> bool:
    """Whether one denies what the other says, or says down where the other says up."""
    if (len(_NOT.findall(one)) - len(_NOT.findall(other))) % 2:
        return True
    mine, yours = set(_words(one)), set(_words(other))
    return ("up" in mine, "down" in mine) == ("down" in yours, "up" in yours) and (
        ("up" in mine) != ("down" in mine)
    )


def _word_replaced(held: list[str], said: list[str]) -> bool:
    """Whether two sentences are alike but for words that stand in others' places.

    Or with the same words, and marks with digits in another order: `db-0 behind db-1`.
    """
    if sorted(held) == sorted(said):
        return [w for w in held if _digit(w)] != [w for w in said if _digit(w)]
    # a time that only one of them tells makes them no less alike
    held, said = ([word for word in words[:200] if not _digit(word)] for words in (held, said))
    matcher = SequenceMatcher(None, held, said, autojunk=False)
    if matcher.ratio() < _SAME_SENTENCE:
        return False
    return any(
        kind == "replace" and _worded(held[a:b]) - set(said) and _worded(said[c:d]) - set(held)
        for kind, a, b, c, d in matcher.get_opcodes()
    )


def _worded(words: list[str]) -> set[str]:
    return {word for word in words if not _digit(word)}


def _digit(word: str) -> bool:
    return any(mark.isdigit() for mark in word)
