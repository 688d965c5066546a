"""One complete report for the tests of the renderers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

BEGIN = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def iso(minute: float) -> str:
    return (BEGIN + timedelta(minutes=minute)).isoformat().replace("+00:00", "Z")


def full_report() -> dict[str, Any]:
    return {
        "schema_version": 1,
        "run_id": "r-20260131-abc123",
        "question": "Why do orders fail since ten?",
        "model": "analyst",
        "policy": {"name": "default", "digest": "0123456789abcdef" * 4},
        "stop": {"reason": "done", "rule": None, "layer": "loop", "detail": None},
        "rounds": 3,
        "usage": {
            "steps": 9,
            "actions": 7,
            "tokens": 13500,
            "tokens_estimated": 0,
            "usd": 0.0,
        },
        "findings": [
            {
                "id": "f1",
                "statement": "orders-api answers 18 % of requests with 5xx since 10:07",
                "evidence": ["a1"],
                "grounded": True,
                "round": 1,
            },
            {
                "id": "f2",
                "statement": "stock-db refuses connections from 10:06",
                "evidence": ["a3", "a4"],
                "grounded": True,
                "round": 2,
            },
            {
                "id": "f3",
                "statement": "the moon is full",
                "evidence": [],
                "grounded": False,
                "round": 3,
            },
        ],
        "evidence": [
            {
                "id": "a1",
                "tool": "query_metrics",
                "args": {"service": "orders-api"},
                "query": 'sum(rate(http_requests_total{service="orders-api",code=~"5.."}[5m]))',
                "excerpt": "0.18 at 10:07",
                "status": "ok",
            },
            {
                "id": "a3",
                "tool": "query_logs",
                "args": {"service": "stock-db", "window_minutes": 60},
                "query": {"raw": "SELECT * FROM logs WHERE message LIKE '%too many%'"},
                "excerpt": "FATAL: sorry, too many clients already",
                "status": "ok",
            },
            {
                "id": "a4",
                "tool": "list_deploys",
                "args": {"window_minutes": 60},
                "query": None,
                "excerpt": ["v2.1 10:00 orders-api"],
                "status": "ok",
            },
        ],
        "cause": {
            "service": "orders-api",
            "change": "v2.1 lowered the pool size",
            "kind": "deploy",
            "confidence": 0.86,
            "abstained": False,
            "because": "the deploy of v2.1 came 6 minutes before the first refused connection",
            "since": "2026-01-31T10:06:00Z",
            "statement": "orders-api v2.1 lowered the connection pool from 50 to 20",
            "affected": ["web", "billing"],
            "mechanism": "callers wait for a connection and time out",
            "next_action": "Roll orders-api back to v2.0",
        },
        "alternatives": [{"statement": "a slow disk", "why_not": "its latency is flat"}],
        "refused": [{"tool": "restart_pod", "reason": "not on the list", "count": 2}],
        "amended": [{"tool": "query_logs", "arg": "window_minutes", "from": 240, "to": 60}],
        "cuts": [{"round": 2, "reason": "8 model calls"}],
        "blocks": [{"tool": "query_logs", "reason": "third identical call"}],
        "unseen": [{"what": "traces", "why": "the folder holds none", "count": 1}],
        "timeline": [
            {"at": iso(37), "what": "errors rise", "kind": "onset", "service": "orders-api"},
            {"at": iso(30), "what": "v2.1", "kind": "deploy", "service": "orders-api"},
        ],
        "charts": [
            {
                "title": "5xx share, orders-api",
                "service": "orders-api",
                "metric": "error_share",
                "points": [
                    [iso(i), (0.01 if i < 37 else 0.17) + (i % 5) * 0.003] for i in range(61)
                ],
                "onset": iso(37),
                "marks": [{"at": iso(30), "label": "deploy v2.1"}],
            }
        ],
        "started": "2026-01-31T11:00:00Z",
        "finished": "2026-01-31T11:00:42Z",
    }
