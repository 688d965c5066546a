"""Does what a finding claims occur in the results it cites?

Numbers, times and quoted or identifier-like names of the statement are looked for in the text of
the cited results. Wording is free; facts are not. A claim that cites nothing is not grounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NAME = re.compile(r"`([^`]+)`|\"([^\"]{2,})\"|\b([A-Za-z][A-Za-z0-9]*(?:[-_./][A-Za-z0-9]+)+)\b")
_TIME = re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?\b")
_NUMBER = re.compile(r"(?<![\w.:-])\d[\d,]*(?:\.\d+)?(?![\w:]*:\d)")


@dataclass(frozen=True, slots=True)
class Grounding:
    """`ok`, and the facts of the statement that no cited result holds."""

    ok: bool
    missing: tuple[str, ...] = ()


def grounded(statement: str, results: Sequence[str]) -> Grounding:
    """Check a statement against the texts of the results it cites."""
    if not results:
        return Grounding(False, ("no result cited",))
    text = "\n".join(results)
    lowered = text.casefold()
    numbers = {float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text) if n}
    missing = [t for t in _TIME.findall(statement) if t not in text]
    for groups in _NAME.findall(statement):
        name = next(g for g in groups if g)
        if name.casefold() not in lowered:
            missing.append(name)
    bare = _TIME.sub(" ", _NAME.sub(" ", statement))
    for number in _NUMBER.findall(bare):
        value = float(number.replace(",", ""))
        if not any(_near(value, n) for n in numbers):
            missing.append(number)
    return Grounding(not missing, tuple(missing))


def _near(claimed: float, seen: float) -> bool:
    """Equal after rounding as prose rounds: 18 % for 0.1803, 5.6 for 5.604."""
    for scaled in (seen, seen * 100):
        if claimed == scaled or abs(claimed - scaled) <= 0.005 * max(abs(claimed), 1e-9):
            return True
        if claimed == round(scaled) and abs(scaled) >= 10:
            return True
    return False
