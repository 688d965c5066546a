"""Entries of tool results as facts keep them: a movement, a change, a service that stands out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roundsman.analysis.settings import setting_effects


@dataclass(frozen=True)
class Moved:
    """A metric or a kind of log line that moved; `row` is the tool's own entry."""

    evidence: str
    at: float
    service: str
    name: str
    row: Mapping[str, Any]
    log: bool = False

    @property
    def bad(self) -> bool:
        """Whether it is a log line that says something failed."""
        return self.log and bool(self.row.get("bad")) and self.row.get("moved") != "vanished"

    @property
    def warns(self) -> bool:
        """Whether it is a log line that warns."""
        level = str(self.row.get("level") or "").upper()
        return self.log and level.startswith("WARN") and self.row.get("moved") != "vanished"

    @property
    def said(self) -> str:
        """Its name, and for a log line the example it was seen in."""
        return f"{self.name} {self.row.get('example') or ''}" if self.log else self.name

    def level(self, side: str) -> float | None:
        """The value `before` or `after`, None when there was no sample."""
        found = self.row.get(side)
        return float(found) if isinstance(found, int | float) else None


@dataclass(frozen=True)
class Changed:
    """A change as list_deploys returned it."""

    evidence: str
    at: float
    row: Mapping[str, Any]

    @property
    def service(self) -> str:
        return str(self.row.get("service") or "")

    @property
    def name(self) -> str:
        return str(self.row.get("name") or "")

    @property
    def diff(self) -> Mapping[str, Any]:
        found = self.row.get("diff")
        return found if isinstance(found, Mapping) else {}

    @property
    def commit(self) -> str:
        """The commit a deploy ships."""
        return str(self.row.get("commit") or "")

    @property
    def effects(self) -> list[tuple[str, frozenset[str], str]]:
        """(what was seen in the change, kinds of trouble it can produce, the line that shows it)."""
        found = self.row.get("effects")
        if found is None:  # a result of another source: its settings still say something
            return [
                (kind, frozenset(can), f"{key} from {pair[0]} to {pair[1]}")
                for key, pair in self.diff.items()
                if isinstance(pair, list) and len(pair) == 2
                for kind, can in setting_effects(str(key), *pair)
            ]
        return [
            (str(one.get("what")), frozenset(map(str, one.get("can") or ())), str(one.get("line")))
            for one in (found if isinstance(found, list) else [])
            if isinstance(one, Mapping)
        ]

    @property
    def names(self) -> list[str]:
        """Identifiers of the changed lines that few other changes touch."""
        found = self.row.get("names")
        return [str(one) for one in found] if isinstance(found, list) else []


@dataclass(frozen=True)
class Standing:
    """How far a service stands out in one signal, since when, and by which series or kind of line."""

    evidence: str
    service: str
    far: float
    at: float
    name: str
    felt: bool = True


@dataclass(frozen=True)
class Condition:
    """A cause without a change. `signs` are what shows it; `statement` is worded from them."""

    kind: str
    service: str
    score: float
    statement: str
    signs: tuple[Moved, ...]
    speaks_for: tuple[str, ...]
