"""Alert rules: what would call somebody."""

from __future__ import annotations

from typing import Any

from roundsman.drill.names import Names

#: longer than the window: what lasted a moment has left the window before somebody is called
FOR_SECONDS = 12
#: seconds that one answer in ten may take: a busy machine reaches half of it by itself
SLOW = 0.75


def error_ratio(service: str, window: str = "8s") -> str:
    """Share of a service's answers that are 5xx; no series before the first of them."""
    bad = f'sum(rate(http_requests_total{{service="{service}",code=~"5.."}}[{window}]))'
    return f'{bad} / sum(rate(http_requests_total{{service="{service}"}}[{window}]))'


def latency(service: str, quantile: float, window: str = "8s") -> str:
    """A quantile of a service's latency in seconds."""
    rate = f'rate(http_request_duration_seconds_bucket{{service="{service}"}}[{window}])'
    return f"histogram_quantile({quantile}, sum by (le) ({rate}))"


def alert_rules(names: Names) -> list[dict[str, Any]]:
    """Symptoms customers feel, at the gateway: errors and slowness."""
    gateway = names.gateway
    return [
        {
            "alert": "HighErrorRate",
            "expr": f"{error_ratio(gateway)} > 0.05",
            "for": f"{FOR_SECONDS}s",
            "labels": {"severity": "critical", "service": gateway},
            "annotations": {"summary": f"{gateway}: more than 5% of answers are errors"},
        },
        {
            "alert": "HighLatency",
            "expr": f"{latency(gateway, 0.9)} > {SLOW}",
            "for": f"{FOR_SECONDS}s",
            "labels": {"severity": "warning", "service": gateway},
            "annotations": {"summary": f"{gateway}: one answer in ten takes over 750 ms"},
        },
    ]


def trouble(names: Names) -> str:
    """A query that has a value as long as customers feel something, whatever it is."""
    gateway = names.gateway
    return f"({error_ratio(gateway)} > 0.05) or ({latency(gateway, 0.9)} > {SLOW})"
