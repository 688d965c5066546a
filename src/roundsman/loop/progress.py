"""What counts as progress: which of a round's claims are new, and are held.

`reference`: a claim is a repeat when it differs from a held one only in case or outer blanks.
`grounded`: a claim is a repeat when it says nothing that a held one does not (`loop/meaning.py`), and
it is held only when it is grounded in results of this run that it cites. The rest is shown as not
supported, never dropped silently; told again with results that support it, it is held.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roundsman.loop.answer import Claim
from roundsman.loop.grounding import Grounding, grounded
from roundsman.loop.meaning import Said


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding as the report shows it. `id` is f1, f2 ... in the order they came."""

    id: str
    statement: str
    evidence: tuple[str, ...]
    grounded: bool
    round: int
    extra: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    resembles: str = ""

    def to_json(self) -> dict[str, Any]:
        """As in report.json."""
        data: dict[str, Any] = {
            "id": self.id,
            "statement": self.statement,
            "evidence": list(self.evidence),
            "grounded": self.grounded,
            "round": self.round,
        }
        if self.missing:
            data["missing"] = list(self.missing)
        if self.resembles:
            data["possible_duplicate_of"] = self.resembles
        return data | {k: v for k, v in self.extra.items() if k not in data}


@dataclass
class Held:
    """The findings of a run: `held` carried from round to round, `unsupported` only shown."""

    mode: str = "reference"
    held: list[Finding] = field(default_factory=list)
    unsupported: list[Finding] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)
    _said: list[Said] = field(default_factory=list)
    _count: int = 0

    def take(self, claims: tuple[Claim, ...], index: int, results: Mapping[str, str]) -> int:
        """Look at a round's claims; returns how many are new and held.

        Args:
            claims: as the round answered.
            index: number of the round, from 1.
            results: text of every result of this run, by action id.
        """
        new = 0
        for claim in claims:
            key = claim.statement.strip().casefold()
            if key in self._keys or any(said.says(claim.statement) for said in self._said):
                continue
            cited = [results[e] for e in claim.evidence if e in results]
            check = grounded(claim.statement, cited)
            if self.mode == "reference" or check.ok:
                self._keys.add(key)
                like = self._like(claim.statement) if self.mode != "reference" else ""
                if self.mode != "reference":
                    self._said.append(Said(claim.statement))
                self.held.append(self._finding(claim, check, index, like))
                new += 1
            elif not any(key == one.statement.strip().casefold() for one in self.unsupported):
                self.unsupported.append(self._finding(claim, check, index))
        if new:
            self.unsupported = [one for one in self.unsupported if not self._is_held(one)]
        return new

    def _is_held(self, finding: Finding) -> bool:
        return finding.statement.strip().casefold() in self._keys

    def _like(self, statement: str) -> str:
        """The id of a held finding this one may repeat: said, never merged on a guess."""
        pairs = zip(self.held, self._said, strict=True)
        return next((one.id for one, said in pairs if said.resembles(statement)), "")

    def _finding(self, claim: Claim, check: Grounding, index: int, like: str = "") -> Finding:
        self._count += 1
        return Finding(
            f"f{self._count}",
            claim.statement,
            claim.evidence,
            check.ok,
            index,
            claim.extra,
            check.missing,
            like,
        )
