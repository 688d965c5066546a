"""A change's diff as changed lines: files, hunks, and pairs of lines that differ in one value.

Reads unified diffs and the shortened forms change systems keep (`@@ path @@` and changed lines only).
Languages are not parsed: what is told apart holds in most of them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

_HEAD = re.compile(r"^(?:diff --git|index |new file|deleted file|similarity|rename |\\ No newline)")
_FILE = re.compile(r"(?:[ab]/)?((?:[\w.@-]+/)*[\w.@-]+\.[A-Za-z]\w{0,7})")
_UNITS = {
    "nanosecond": 1e-9, "ns": 1e-9, "microsecond": 1e-6, "us": 1e-6, "millisecond": 1e-3,
    "millis": 1e-3, "ms": 1e-3, "second": 1.0, "sec": 1.0, "s": 1.0, "minute": 60.0, "min": 60.0,
    "m": 60.0, "hour": 3600.0, "h": 3600.0, "day": 86400.0, "d": 86400.0,
    "kb": 1024.0, "ki": 1024.0, "mb": 1024.0**2, "mi": 1024.0**2, "gb": 1024.0**3, "gi": 1024.0**3,
}  # fmt: skip
_NUMBER = re.compile(
    r"(?<![\w.])(\d[\d_]*(?:\.\d+)?)(?:\s*\*\s*(?:\w+\.)?|\s?)"
    r"((?:nano|micro|milli)?seconds?|millis|minutes?|hours?|days?|min|sec|[num]?s|[KMG]i?[bB]?|[smhd])?"
    r"(?![\w])",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"([^\"\n]{1,80})\"|'([^'\n]{1,80})'|`([^`\n]{1,80})`")
_BARE = re.compile(r"^\s*[\w.-]+\s*[:=]\s*([A-Za-z][\w.-]*)\s*$")
_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"^\s*(?://|#(?!include|define|if)|--\s|\*|/\*|\"\"\"|'''|<!--)")


@dataclass(frozen=True)
class Hunk:
    """Lines of one place, in order: (sign, text) with sign '+', '-' or ' '."""

    file: str
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Patch:
    """What a diff changes. Lines are without their sign; blank ones and comments are left out of
    `added` and `removed`, and stay in the hunks."""

    hunks: tuple[Hunk, ...]
    files: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """Removed and added lines."""
        return (*self.removed, *self.added)


def is_comment(line: str) -> bool:
    """Whether a line holds a comment and nothing else (or nothing at all)."""
    return not line.strip() or bool(_COMMENT.match(line))


def parse_patch(text: str) -> Patch:
    """The changed lines of a diff; lines of its headers name the files."""
    hunks: list[Hunk] = []
    files: list[str] = []
    lines: list[tuple[str, str]] = []
    file = ""

    def close() -> None:
        if lines:
            hunks.append(Hunk(file, tuple(lines)))
            lines.clear()

    for raw in text.splitlines():
        if raw.startswith(("+++ ", "--- ", "@@", "diff --git")) or _HEAD.match(raw):
            close()
            found = _FILE.search(raw.split("@@")[1] if raw.startswith("@@") else raw)
            if found and not raw.startswith("index"):
                file = found[1]
                if file not in files:
                    files.append(file)
        elif raw[:1] in ("+", "-", " "):
            lines.append((raw[0], raw[1:]))
    close()
    sides: dict[str, list[str]] = {"+": [], "-": [], " ": []}
    for hunk in hunks:
        for sign, line in hunk.lines:
            if not is_comment(line):
                sides[sign].append(line)
    return Patch(tuple(hunks), tuple(files), tuple(sides["+"]), tuple(sides["-"]))


def value_of(number: str, unit: str) -> float:
    """A number with its unit in seconds or bytes; without one, as it is."""
    factor = _UNITS.get(unit.lower(), _UNITS.get(unit.lower().removesuffix("s"), 1.0))
    return float(number.replace("_", "")) * factor


@dataclass(frozen=True)
class Altered:
    """One line before and after that says the same of another value.

    Numbers are in seconds or bytes where a unit stands beside them; texts are None for numbers.
    """

    before: str
    after: str
    low: float | None = None
    high: float | None = None
    was: str = ""
    now: str = ""

    @property
    def factor(self) -> float | None:
        """How many times the number is after what it was before."""
        if self.low is None or self.high is None or not self.low:
            return None
        return self.high / self.low


def _numbers(line: str) -> list[tuple[str, str]]:
    return [(found[1], found[2] or "") for found in _NUMBER.finditer(line)]


def _skeleton(line: str) -> Counter[str]:
    bare = _NUMBER.sub(" ", line)
    return Counter(_WORD.findall(bare))


def _alike(left: Counter[str], right: Counter[str]) -> float:
    both, either = (left & right).total(), (left | right).total()
    return both / either if either else 1.0


def altered(patch: Patch) -> list[Altered]:
    """Pairs of a removed and an added line that differ in one number or one quoted text."""
    out: list[Altered] = []
    for hunk in patch.hunks:
        old = [line for sign, line in hunk.lines if sign == "-" and not is_comment(line)]
        new = [line for sign, line in hunk.lines if sign == "+" and not is_comment(line)]
        for before in old:
            if before in new:
                continue
            ranked = sorted(
                (one for one in new if one not in old),
                key=lambda one: -_alike(_skeleton(before), _skeleton(one)),
            )
            pair = _pair(before, ranked[0]) if ranked else None
            if pair:
                out.append(pair)
                new.remove(ranked[0])
    return out


def _pair(before: str, after: str) -> Altered | None:
    was, now = _texts(before), _texts(after)
    alike = _alike(_skeleton(_QUOTED.sub(" ", before)), _skeleton(_QUOTED.sub(" ", after)))
    if was and len(was) == len(now) and (alike >= 0.5 or _BARE.match(before)):
        texts = [(a, b) for a, b in zip(was, now, strict=True) if a != b]
        if len(texts) == 1 and not _NUMBER.fullmatch(texts[0][0].strip()):
            return Altered(before.strip(), after.strip(), None, None, *texts[0])
    old, new = _numbers(before), _numbers(after)
    if old and len(old) == len(new) and _alike(_skeleton(before), _skeleton(after)) >= 0.6:
        moved = [(a, b) for a, b in zip(old, new, strict=True) if value_of(*a) != value_of(*b)]
        if len(moved) == 1:
            (low, high) = moved[0]
            return Altered(before.strip(), after.strip(), value_of(*low), value_of(*high))
    return None


def _texts(line: str) -> list[str]:
    """Texts in quotes, or the bare word a setting has."""
    bare = _BARE.match(line)
    return [bare[1]] if bare else quoted(line)


def quoted(line: str) -> list[str]:
    """Texts in quotes."""
    return [next(filter(None, found.groups()), "") for found in _QUOTED.finditer(line)]


def net(lines: tuple[str, ...], against: tuple[str, ...], pattern: re.Pattern[str]) -> list[str]:
    """Lines that match a pattern beyond as many as the other side has."""
    mine = [line for line in lines if pattern.search(line)]
    other = sum(1 for line in against if pattern.search(line))
    return mine[: max(0, len(mine) - other)]
