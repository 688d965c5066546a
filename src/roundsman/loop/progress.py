"""What counts as progress: which of a round's claims are new, and are held.

`reference`: a claim is a repeat when it differs from a held one only in case or outer blanks.
`grounded`: blanks, punctuation and case are ignored, and a claim is held only when it is grounded
in results of this run that it cites. The rest is shown as not supported, never dropped silently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roundsman.loop.answer import Claim
from roundsman.loop.grounding import grounded

_NOISE = re.compile(r"[\W_]+")


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
        return data | {k: v for k, v in self.extra.items() if k not in data}


@dataclass
class Held:
    """The findings of a run: `held` carried from round to round, `unsupported` only shown."""

    mode: str = "reference"
    held: list[Finding] = field(default_factory=list)
    unsupported: list[Finding] = field(default_factory=list)
    _keys: set[str] = field(default_factory=set)

    def take(self, claims: tuple[Claim, ...], index: int, results: Mapping[str, str]) -> int:
        """Look at a round's claims; returns how many are new and held.

        Args:
            claims: as the round answered.
            index: number of the round, from 1.
            results: text of every result of this run, by action id.
        """
        new = 0
        for claim in claims:
            key = self._key(claim.statement)
            if key in self._keys:
                continue
            cited = [results[e] for e in claim.evidence if e in results]
            check = grounded(claim.statement, cited)
            finding = Finding(
                f"f{len(self.held) + len(self.unsupported) + 1}",
                claim.statement,
                claim.evidence,
                check.ok,
                index,
                claim.extra,
                check.missing,
            )
            self._keys.add(key)
            if self.mode == "grounded" and not check.ok:
                self.unsupported.append(finding)
                continue
            self.held.append(finding)
            new += 1
        return new

    def _key(self, statement: str) -> str:
        text = statement.strip().casefold()
        return text if self.mode == "reference" else _NOISE.sub(" ", text).strip()
