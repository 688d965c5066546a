"""What is kept, and in which form it leaves the store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from roundsman.errors import LedgerError, UsageError
from roundsman.ledger.records import RunInfo
from roundsman.ledger.stop import IDLE, OVER
from roundsman.ledger.store import Store

_AGE = re.compile(r"(?=\d)" + "".join(rf"(?:(\d{{1,6}}){unit})?" for unit in "wdhms"), re.ASCII)
_UNITS_S = (7 * 86400, 86400, 3600, 60, 1)


def parse_age(text: str) -> float:
    """Seconds of an age such as `30d`, `2w`, `12h`, `90s` or `1d12h`.

    Raises:
        UsageError: it is none, or zero.
    """
    match = _AGE.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"{text!r} is no age; write a number and its unit: 30d, 2w, 12h, 5m or 90s"
        )
    seconds = sum(
        int(part or 0) * unit for part, unit in zip(match.groups(), _UNITS_S, strict=True)
    )
    if seconds == 0:
        raise UsageError(f"{text!r} is no time at all; write an age above zero, such as 30d")
    return float(seconds)


def old_runs(store: Store, before: float, unfinished: bool = False) -> list[RunInfo]:
    """Runs that began before this time (seconds since the epoch) and are over, oldest first.

    Args:
        unfinished: also those that can be taken up; never one that runs.
    """
    wanted = (*OVER, *IDLE) if unfinished else OVER
    return [r for r in reversed(store.runs()) if r.started < before and r.status in wanted]


def prune(store: Store, runs: list[RunInfo]) -> tuple[list[RunInfo], list[tuple[RunInfo, str]]]:
    """Forget these runs and their journals: (those forgotten, those kept and why)."""
    gone, kept = list[RunInfo](), list[tuple[RunInfo, str]]()
    for one in runs:
        try:
            store.delete(one.run_id)
        except (LedgerError, UsageError) as error:  # taken up, or deleted, meanwhile
            kept.append((one, str(error)))
        else:
            gone.append(one)
    return gone, kept


def export_lines(store: Store, info: RunInfo) -> Iterator[str]:
    """A run as JSON lines: what it is, then its records.

    The body of a record is the text its hash covers, as it is stored.
    """
    head: dict[str, Any] = {
        "run_id": info.run_id,
        "status": info.status,
        "started": info.started,
        "question": info.question,
        "report": store.report(info.run_id),
    }
    yield json.dumps({"run": head}, default=str, separators=(",", ":"))
    for seq, kind, at, body, digest in store.rows(info.run_id):
        fields = f'"seq":{seq},"kind":{json.dumps(kind)},"at":{at!r}'
        # a body that is damaged is shown as text: the line stays JSON
        shown = body if _is_object(body) else json.dumps(body)
        yield f'{{{fields},"body":{shown},"hash":{json.dumps(digest)}}}'


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict) and "\n" not in text
    except (ValueError, RecursionError):
        return False
