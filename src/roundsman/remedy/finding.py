"""What a finished investigation found, as remedies need it: the cause, and the metrics that broke."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from roundsman.analysis.symptoms import kinds_of
from roundsman.errors import UsageError
from roundsman.investigate.causes import judge
from roundsman.investigate.collect import collect
from roundsman.investigate.facts import Changed, Facts, Moved
from roundsman.investigate.harm import harm_of
from roundsman.investigate.wording import say_change
from roundsman.ledger import Record, Store
from roundsman.ledger.stop import OVER
from roundsman.ledger.view import INVESTIGATION, evidence, kind_of_run
from roundsman.sources.times import parse_time

_MOST_WATCHED = 3
_WHOLE = 500


@dataclass(frozen=True)
class Broken:
    """A metric that broke: its level before the onset (None: it had no samples), its level after it, how
    many times its noise that is, and the onset (epoch seconds)."""

    service: str
    metric: str
    before: float | None
    after: float
    far: float
    onset: float

    @property
    def text(self) -> str:
        """In words."""
        was = "no samples" if self.before is None else f"{self.before:.4g}"
        return f"{self.service} {self.metric}: {was} before, {self.after:.4g} since"


@dataclass(frozen=True)
class Finding:
    """The cause an investigation named.

    `kind` is the verdict's (`config_change`, `deploy`, `disk` ...), `change` the change in words,
    `settings` its keys with their values before and after (None: not there), `commit` the one it ships.
    `broken` are the metrics that show the harm, the most telling first.
    """

    run_id: str
    service: str
    kind: str
    confidence: str
    statement: str
    since: float
    change: str = ""
    settings: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    commit: str = ""
    broken: tuple[Broken, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For the journal."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        """The reverse of `to_json`."""
        settings = {str(k): (v[0], v[1]) for k, v in (data.get("settings") or {}).items()}
        broken = tuple(Broken(**row) for row in data.get("broken") or ())
        return cls(**{**data, "settings": settings, "broken": broken})


def verdict_of(store: Store, run_id: str) -> Mapping[str, Any]:
    """The `cause` of a finished investigation's report.

    Raises:
        UsageError: it is no investigation, or not over.
    """
    info, records = store.info(run_id), store.records(run_id)
    if kind_of_run(records) != INVESTIGATION:
        raise UsageError(
            f"run {run_id} is no investigation: a remedy needs the cause one has named"
        )
    if info.status not in OVER:
        raise UsageError(
            f"run {run_id} is {info.status}, so its cause is not settled; roundsman resume {run_id}"
        )
    cause = (store.report(run_id) or {}).get("cause")
    if not isinstance(cause, Mapping) or not cause:
        raise UsageError(
            f"run {run_id} has no verdict on record; roundsman resume {run_id} makes it"
        )
    return cause


def why_nothing(run_id: str, cause: Mapping[str, Any]) -> str:
    """Why nothing is proposed on a verdict; empty when it names a cause."""
    if not cause.get("abstained"):
        return ""
    return (
        f"run {run_id} named no cause ({cause.get('because')}), so nothing is proposed: a change made "
        "on a guess is a second incident"
    )


def finding_of(store: Store, run_id: str) -> Finding:
    """The finding of a finished investigation.

    Raises:
        UsageError: it is none, is not over, or named no cause.
    """
    cause = verdict_of(store, run_id)
    if why := why_nothing(run_id, cause):
        raise UsageError(why)
    return _finding(run_id, cause, store.records(run_id))


def _finding(run_id: str, cause: Mapping[str, Any], records: Sequence[Record]) -> Finding:
    rows = evidence(records, _WHOLE)
    facts = collect((str(r["id"]), str(r["tool"]), r["result"]) for r in rows)
    service = str(cause.get("service") or "")
    change = next(
        (
            one.suspect.change
            for one in judge(facts).candidates
            if one.suspect
            and say_change(one.suspect.change, one.suspect.keys) == cause.get("change")
        ),
        None,
    )
    diff = change.diff if change is not None else {}
    return Finding(
        run_id=run_id,
        service=service,
        kind=str(cause.get("kind") or ""),
        confidence=str(cause.get("confidence") or "low"),
        statement=str(cause.get("statement") or ""),
        since=parse_time(cause.get("since")) or 0.0,
        change=str(cause.get("change") or ""),
        settings={
            str(key): (pair[0], pair[1])
            for key, pair in diff.items()
            if isinstance(pair, list) and len(pair) == 2
        },
        commit=_commit_of(change) if change is not None else "",
        broken=tuple(broken_in(facts)),
    )


def _commit_of(change: Changed) -> str:
    """A deploy ships a commit; a commit is named by its own id."""
    return change.commit or (change.name if change.row.get("kind") == "commit" else "")


def broken_in(facts: Facts) -> list[Broken]:
    """Metrics that hurt, one of each name of a service: errors before anything else, then what moved
    furthest."""
    signs = [m for m in harm_of(facts).signs if not m.log]
    signs.sort(key=lambda m: ("error" not in kinds_of(m.name), -_far(m), m.at))
    found: dict[tuple[str, str], Broken] = {}
    for one in signs:
        after = one.level("after")
        if after is None:  # it has no samples any more: what would be back cannot be said
            continue
        row = Broken(one.service, one.name, one.level("before"), after, _far(one), one.at)
        found.setdefault((one.service, one.name.partition("{")[0]), row)
    return list(found.values())[:_MOST_WATCHED]


def _far(one: Moved) -> float:
    far = one.row.get("far")
    return float(far) if isinstance(far, int | float) else 0.0
