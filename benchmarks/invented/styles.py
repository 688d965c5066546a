"""How systems name things: services, metrics with their units, log lines. One style a case, by seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

#: role -> name, in the order edge, two services behind it, worker, batch, stores, resolver
ROLES = ("edge", "left", "right", "worker", "batch", "db", "cache", "queue", "resolver")
_NAMES = (
    ("gateway", "basket", "pricing", "parcel-worker", "nightly-report", "basket-pg", "basket-redis",
     "parcel-mq", "cluster-dns"),
    ("PublicFront", "SeatService", "FareService", "TicketPrinter", "SettlementJob", "SeatStore",
     "SeatCache", "PrintBus", "NameServer"),
    ("web_bff", "svc_profile", "svc_feed", "svc_mailer", "svc_rollup", "mysql_profile",
     "memcached_profile", "kafka_mail", "unbound"),
    ("portal.prod", "ledger.prod", "quotes.prod", "payout.prod", "reconcile.prod", "ledgerdb.prod",
     "ledgercache.prod", "payoutq.prod", "resolv.prod"),
)  # fmt: skip


@dataclass(frozen=True)
class Style:
    """names: role -> service. metrics: what is measured -> (name, factor from SI units). step: seconds
    between samples. line: how a log line is written, None for JSON lines."""

    names: dict[str, str]
    metrics: dict[str, tuple[str, float]]
    step: float
    plain: bool
    long: bool


_METRICS: tuple[dict[str, tuple[str, float]], ...] = (
    {
        "rate": ("http_server_requests_per_second", 1), "error": ("http_server_errors_per_second", 1),
        "latency": ("http_server_duration_seconds_p95", 1), "cpu": ("process_cpu_cores", 1),
        "memory": ("process_resident_memory_bytes", 2**20), "up": ("up", 1),
        "node_cpu": ("node_cpu_busy_ratio", 1), "steal": ("node_cpu_steal_ratio", 1),
        "depth": ("queue_messages_ready", 1), "consumed": ("queue_messages_acked_per_second", 1),
        "hits": ("cache_hit_ratio", 1), "evicted": ("cache_evictions_per_second", 1),
        "queries": ("db_queries_per_second", 1), "servfail": ("dns_responses_servfail_per_second", 1),
        "locks": ("db_lock_waits", 1), "threads": ("worker_threads_busy", 1),
    },
    {
        "rate": ("web.hits", 1), "error": ("web.fail.count", 1), "latency": ("web.response.p99_ms", 1e3),
        "cpu": ("system.cpu.pct", 100), "memory": ("system.mem.used_mb", 1), "up": ("healthy", 1),
        "node_cpu": ("host.cpu.pct", 100), "steal": ("host.cpu.stolen_pct", 100),
        "depth": ("mq.backlog", 1), "consumed": ("mq.consumed", 1), "hits": ("cache.hit_pct", 100),
        "evicted": ("cache.evicted", 1), "queries": ("sql.statements", 1),
        "servfail": ("dns.servfail", 1), "locks": ("sql.lock_waiters", 1), "threads": ("pool.active", 1),
    },
    {
        "rate": ("RequestCount", 60), "error": ("HTTPCode_Target_5XX_Count", 60),
        "latency": ("TargetResponseTime", 1), "cpu": ("CPUUtilization", 100),
        "memory": ("MemoryUtilization", 0.1), "up": ("HealthyHostCount", 3),
        "node_cpu": ("NodeCPUUtilization", 100), "steal": ("NodeCPUSteal", 100),
        "depth": ("ApproximateNumberOfMessagesVisible", 1), "consumed": ("NumberOfMessagesDeleted", 60),
        "hits": ("CacheHitRate", 100), "evicted": ("Evictions", 60),
        "queries": ("QueriesExecuted", 60), "servfail": ("DNSServfailCount", 60),
        "locks": ("BlockedTransactions", 1), "threads": ("BusyWorkers", 1),
    },
    {
        "rate": ("rpc.server.request.rate", 1), "error": ("rpc.server.failed.rate", 1),
        "latency": ("rpc.server.duration.p99", 1e6), "cpu": ("process.cpu.utilization", 1),
        "memory": ("process.memory.usage", 2**20), "up": ("target.available", 1),
        "node_cpu": ("system.cpu.utilization", 1), "steal": ("system.cpu.steal", 1),
        "depth": ("messaging.consumer.lag", 1), "consumed": ("messaging.process.rate", 1),
        "hits": ("cache.hits.share", 1), "evicted": ("cache.removed.rate", 1),
        "queries": ("db.client.calls.rate", 1), "servfail": ("dns.lookup.failed.rate", 1),
        "locks": ("db.lock.waiting", 1), "threads": ("executor.active", 1),
    },
)  # fmt: skip


def style(number: int) -> Style:
    """One of the ways, by number: names and measures change apart, so that no pair is always together."""
    names = dict(zip(ROLES, _NAMES[number % len(_NAMES)], strict=True))
    metrics = _METRICS[(number // 2 + number) % len(_METRICS)]
    return Style(
        names, metrics, (10.0, 15.0, 30.0, 20.0)[number % 4], number % 3 == 1, number % 2 == 0
    )


def plain(at: Callable[[float], str], when: float, level: str, text: str) -> str:
    """A line of a text log."""
    return f"{at(when)} {level:5} {text}"
