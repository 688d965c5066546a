"""Assertions on what a guard did."""

from __future__ import annotations

from collections import Counter
from typing import Any


def assert_refused(run: Any, tool: str, times: int | None = None) -> None:
    """Fail unless `tool` was refused in this run (exactly `times` when given).

    Args:
        run: a `report.json` as a dict, a `GuardedResult`, or a run's records
            (`store.records(run_id)`).
        tool: the tool's name.
        times: how often; None means at least once.

    Raises:
        AssertionError: naming what was refused instead.
    """
    refused = _refused(run)
    count = refused[tool]
    listed = ", ".join(f"{n} ({_times(c)})" for n, c in sorted(refused.items())) or "nothing"
    if times is None:
        assert count > 0, f"{tool} was not refused; refused: {listed}"
    else:
        assert count == times, f"{tool} was refused {_times(count)}, not {times}; refused: {listed}"


def _refused(run: Any) -> Counter[str]:
    counts: Counter[str] = Counter()
    if isinstance(run, dict):
        for entry in run.get("refused", []):
            counts[entry["tool"]] += int(entry.get("count", 1))
        return counts
    for record in getattr(run, "records", run):
        body = record.body
        action = str(body.get("subject_id", "")).startswith("a")
        if record.kind == "ruled" and body["applied"] and action:
            counts[body["subject"]] += body["verdict"] in ("refuse", "ask", "cut", "stop")
    return +counts


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
