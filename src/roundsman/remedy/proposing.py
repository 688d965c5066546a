"""Which remedies fit a finding, and the exact call each would make. Nothing is changed here."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from roundsman.errors import RoundsmanError, SourceError, UsageError
from roundsman.guard.asking import exact_digest
from roundsman.ledger import Store
from roundsman.remedy.base import Remedy
from roundsman.remedy.catalogue import Catalogue
from roundsman.remedy.config import Verifying
from roundsman.remedy.finding import Finding, finding_of, verdict_of, why_nothing
from roundsman.remedy.names import apply_tool
from roundsman.remedy.telemetry import Reads, limit, reader, sources_of, state_now
from roundsman.sources.spec import SourceSpec


@dataclass(frozen=True)
class Proposal:
    """One remedy for a finding: its call, or why it does not fit."""

    remedy: Remedy
    args: dict[str, Any] | None
    why_not: str = ""

    @property
    def tool(self) -> str:
        """The tool of the call."""
        return apply_tool(self.remedy.name)

    def to_json(self) -> dict[str, Any]:
        """As `--json` gives it."""
        one = self.remedy
        row: dict[str, Any] = {
            "remedy": one.name,
            "about": one.about,
            "fits": self.args is not None,
        }
        if self.args is None:
            return row | {"why_not": self.why_not}
        return row | {
            "effect": one.effect,
            "resource": one.resource(**self.args),
            "call": {"tool": self.tool, "args": self.args},
            "digest": exact_digest(self.tool, self.args),
            "dry_run": [str(line) for line in one.dry_run(**self.args)],
            "undo": one.undoing,
            "undo_by_hand": one.undo_by_hand(**self.args),
            "afterwards": one.afterwards(**self.args),
        }


def proposals(catalogue: Catalogue, finding: Finding) -> list[Proposal]:
    """Every remedy of the catalogue, those that fit first."""
    found = [proposal(one, finding) for one in catalogue.remedies.values()]
    return sorted(found, key=lambda one: one.args is None)


def proposal(remedy: Remedy, finding: Finding) -> Proposal:
    """What one remedy says of a finding; a remedy that fails while it is asked does not fit."""
    try:
        said = remedy.call_for(finding)
    except RoundsmanError as error:
        return Proposal(remedy, None, str(error))
    except Exception as error:  # somebody's code
        return Proposal(
            remedy, None, f"it failed when asked: {type(error).__name__}: {error}"[:500]
        )
    if isinstance(said, str):
        return Proposal(remedy, None, said)
    try:
        args = json.loads(json.dumps(dict(said), allow_nan=False))
        one = Proposal(remedy, args)
        one.to_json()
    except Exception as error:
        why = f"its call cannot be shown exactly: {type(error).__name__}: {error}"[:500]
        return Proposal(remedy, None, why)
    return one


@dataclass(frozen=True)
class Watching:
    """How it will be told whether a remedy helped. `why_not`: why it cannot be, empty when it can."""

    reads: Reads | None
    looks: list[dict[str, Any]]
    why_not: str

    def to_json(self, finding: Finding, verifying: Verifying) -> dict[str, Any]:
        """As `--json` gives it."""
        return {
            "metrics": [
                {
                    "service": one.service,
                    "metric": one.metric,
                    "before": one.before,
                    "broken": one.after,
                    "back": limit(one).text,
                }
                for one in finding.broken
            ],
            "now": self.looks,
            "settle_s": verifying.settle,
            "looks": verifying.looks,
            "every_s": verifying.every,
            "within_s": verifying.within,
            "why_not": self.why_not,
        }


def watching(finding: Finding, spec: SourceSpec, verifying: Verifying) -> Watching:
    """Whether the metrics that broke can be watched, and how they are now."""
    try:
        reads = reader(spec)
        looks, why = state_now(reads, finding.broken, verifying)
    except (SourceError, UsageError) as error:
        return Watching(None, [], str(error))
    rows = [
        {"service": one.broken.service, "metric": one.broken.metric, "value": one.value,
         "back": one.back}
        for one in looks
    ]  # fmt: skip
    return Watching(reads, rows, why)


def propose(store: Store, run_id: str, catalogue: Catalogue, sources: SourceSpec) -> dict[str, Any]:
    """What `roundsman remedy propose` says: the cause, what fits it, and how it would be verified.
    `because` says why nothing is proposed at all.

    Raises:
        UsageError: the run is no finished investigation.
    """
    cause = verdict_of(store, run_id)
    shown = {
        k: cause.get(k) for k in ("service", "change", "kind", "confidence", "statement", "since")
    }
    found: dict[str, Any] = {"run_id": run_id, "cause": shown, "proposals": [], "verify": None,
                             "remedies": list(catalogue.given)}  # fmt: skip
    if because := why_nothing(run_id, cause):
        return found | {"because": because}
    finding = finding_of(store, run_id)
    rows = proposals(catalogue, finding)
    seen = watching(finding, sources or sources_of(store, run_id), catalogue.config.verify)
    return found | {
        "because": "",
        "proposals": [one.to_json() for one in rows],
        "verify": seen.to_json(finding, catalogue.config.verify),
    }
