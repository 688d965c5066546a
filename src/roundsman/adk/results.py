"""What a tool's result says of itself, and what the guard adds to it."""

from __future__ import annotations

from typing import Any

from roundsman.guard import Verdict


def amended(tool: Any, result: Any, verdict: Verdict) -> dict[str, Any] | None:
    """The result with what ran instead of what was asked; None when nothing was changed."""
    if not verdict.changes or (result is None and getattr(tool, "is_long_running", False)):
        return None  # a long-running tool without a result waits; a result would end that
    # what is no mapping the engine itself would put under "result"
    body = dict(result) if isinstance(result, dict) else {"result": result}
    key = "amended" if "amended" not in body else "roundsman_amended"
    return {**body, key: [dict(c) for c in verdict.changes]}


def noted(result: Any, note: str) -> dict[str, Any]:
    """The result as a mapping, with what the model is told beside it; the tool's own note stays."""
    body = dict(result) if isinstance(result, dict) else {"result": result}
    return {**body, ("note" if "note" not in body else "roundsman_note"): note} if note else body


def status_of(result: Any) -> str:
    """`ok`, `empty`, `error` or `blocked`: what the tool said, else what it looks like."""
    if isinstance(result, dict):
        status = result.get("status")
        if status in ("ok", "empty", "error", "blocked"):
            return str(status)
        if "error" in result:
            return "error"
    return "ok" if result not in (None, "", [], {}) else "empty"


def says_status(result: Any) -> bool:
    """Whether the tool itself said that it went well."""
    return isinstance(result, dict) and result.get("status") in ("ok", "empty")


def without_ids(result: Any) -> Any:
    """The result without what the run itself put in, so that equal answers have equal prints."""
    if isinstance(result, dict) and "evidence_id" in result:
        return {k: v for k, v in result.items() if k != "evidence_id"}
    return result
