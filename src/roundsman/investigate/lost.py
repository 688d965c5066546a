"""What was not looked at, where the verdict says on what it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from roundsman.sources.times import iso

if TYPE_CHECKING:
    from roundsman.investigate.incident import Incident

#: whole files and folders of telemetry; what is noted of some lines of a file has another name
_FILE = re.compile(
    r"^(context/)?((deploys|deployments|commits|flags|graph|traces|metrics|alert)"
    r"\.(json|ndjson|jsonl|csv|parquet)(\.gz)?$|"
    r"(metrics|logs|traces)(/.*)?$|context$|service '|log file )"
)
_MOST = 2


def said_of(cause: Mapping[str, Any], incident: Incident) -> dict[str, Any]:
    """The cause with what of the incident was not looked at, as far as the verdict hangs on it."""
    extent, window = incident.source.extent(), incident.window
    cause = with_lost(cause, incident.unseen)
    if extent is None or (extent.end >= window.start and extent.start <= window.end):
        return cause
    inside = f"{iso(extent.start)} to {iso(extent.end)}"
    because = f"all telemetry lies outside the window asked for: it is from {inside}"
    return cause | {
        "because": f"{because}; {cause['because']}",
        "next_action": f"ask again for a window within the telemetry, {inside} (window in "
        "incident.yaml, or --window)",
    }


def with_lost(cause: Mapping[str, Any], unseen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The cause with files that could not be used in its `because`: before the reason why no cause was
    found, which they may be; after the grounds of one that was."""
    lost = [one for one in unseen if _FILE.match(str(one.get("what")))]
    if not lost:
        return dict(cause)
    named = [f"{one['what']} ({_count(one)}{one['why']})" for one in lost[:_MOST]]
    text = "not seen: " + ", ".join(named)
    if len(lost) > _MOST:
        text += f" and {len(lost) - _MOST} more (see what was not seen)"
    parts = [text, str(cause.get("because") or "")]
    if not cause.get("abstained"):
        parts.reverse()
    return {**cause, "because": "; ".join(filter(None, parts))}


def _count(one: Mapping[str, Any]) -> str:
    count = one.get("count")
    return f"{count} " if isinstance(count, int) and count > 1 else ""


def only_what_was_seen(cause: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    """An abstention says "nothing moved" only when somebody looked."""
    stop = report["stop"]
    if not cause.get("abstained"):
        waits = "; the investigation is not over: it waits for a person"
        return (
            cause | {"because": f"{cause['because']}{waits}"}
            if stop["reason"] == "asked"
            else cause
        )
    if stop["reason"] == "asked":
        return cause | {
            "instead": f"Waiting for a person: {stop['detail'] or 'a question'}"[:200],
            "because": "the investigation is not over: it waits for a person",
            "next_action": f"answer it (roundsman pending {report['run_id']}), then resume it",
        }
    if stop["reason"] in ("aborted", "failed"):
        because = f"the investigation ended before it could say: {stop['detail']}"
    elif not any(e["status"] in ("ok", "empty") for e in report["evidence"]):
        because = "nothing was asked of the telemetry, so nothing can be said of it"
    else:
        return cause
    return cause | {"because": because, "next_action": "run the investigation again"}
