"""Telemetry that is there and was not read, where the verdict says on what it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

#: whole files and folders of an incident folder; what is noted of some lines of a file has another name
_FILE = re.compile(
    r"^(context/)?((deploys|deployments|commits|flags|graph|traces|metrics|alert)"
    r"\.(json|ndjson|jsonl|csv|parquet)(\.gz)?$|"
    r"(metrics|logs|traces)(/.*)?$|context$)"
)
_MOST = 2


def with_lost(cause: Mapping[str, Any], unseen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The cause with files that could not be used in its `because`: before the reason why no cause was
    found, which they may be; after the grounds of one that was."""
    lost = [one for one in unseen if _FILE.match(str(one.get("what")))]
    if not lost:
        return dict(cause)
    named = [f"{one['what']} ({_count(one)}{one['why']})" for one in lost[:_MOST]]
    text = "not used: " + ", ".join(named)
    if len(lost) > _MOST:
        text += f" and {len(lost) - _MOST} more (see what was not seen)"
    parts = [text, str(cause.get("because") or "")]
    if not cause.get("abstained"):
        parts.reverse()
    return {**cause, "because": "; ".join(filter(None, parts))}


def _count(one: Mapping[str, Any]) -> str:
    count = one.get("count")
    return f"{count} " if isinstance(count, int) and count > 1 else ""
