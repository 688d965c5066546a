"""What of the metrics goes into a recording: one range query each, asked of Prometheus' HTTP API."""

from __future__ import annotations

from dataclasses import dataclass

from roundsman.drill.names import Names

_RATE = "[10s]"
#: labels that tell series of one metric apart in a recording; the others are summed or dropped
_KEPT = ("code", "reason", "version", "state", "relname", "mountpoint")


@dataclass(frozen=True)
class Query:
    """A metric's name in the recording and the PromQL that gives it; `service` when the result has none."""

    metric: str
    promql: str
    service: str = ""

    def name(self, labels: dict[str, str]) -> str:
        """The metric's name with the labels that tell its series apart."""
        kept = ",".join(f'{key}="{labels[key]}"' for key in _KEPT if labels.get(key))
        return f"{self.metric}{{{kept}}}" if kept else self.metric


def _quantile(metric: str, quantile: float) -> str:
    return (
        f"histogram_quantile({quantile}, "
        f"sum by (service, le) (rate({metric}_bucket{_RATE}))) >= 0"  # NaN when nothing was asked
    )


def queries(names: Names) -> list[Query]:
    """All of them, services first."""
    database, host = names.database, names.host
    ours = f'service=~"{names.gateway}|{names.checkout}"'
    found = [
        Query("http_requests_rate", f"sum by (service, code) (rate(http_requests_total{_RATE}))"),
        Query("http_requests_in_flight", "sum by (service) (http_requests_in_flight)"),
        Query("upstream_failures_rate",
              f"sum by (service, reason) (rate(upstream_failures_total{_RATE}))"),
        Query("checkout_failures_rate",
              f"sum by (service, reason) (rate(checkout_failures_total{_RATE}))"),
        Query("db_queries_rate", f"sum by (service) (rate(db_queries_total{_RATE}))"),
        Query("process_cpu_rate",
              f"sum by (service) (rate(process_cpu_seconds_total{{{ours}}}{_RATE}))"),
        Query("process_resident_memory_bytes",
              f"max by (service) (process_resident_memory_bytes{{{ours}}})"),
        Query("process_open_fds", f"max by (service) (process_open_fds{{{ours}}})"),
        Query("process_uptime_seconds",
              f"min by (service) (time() - process_start_time_seconds{{{ours}}})"),
        Query("instances_up", "sum by (service) (up)"),
        Query("app_build_info", "max by (service, version) (app_build_info)"),
        Query("tls_certificate_expires_in_seconds",
              "min by (service) (tls_certificate_not_after_seconds - time())"),
    ]  # fmt: skip
    for share in (0.5, 0.9, 0.99):
        name = f"p{share * 100:g}_seconds"
        found.append(Query(f"http_request_duration_{name}", _quantile(
            "http_request_duration_seconds", share)))  # fmt: skip
        found.append(Query(f"db_query_duration_{name}", _quantile(
            "db_query_duration_seconds", share)))  # fmt: skip
    for gauge in ("db_pool_size", "db_pool_available", "db_pool_requests_waiting"):
        found.append(Query(gauge, f"sum by (service) ({gauge})"))
    # a setting of each instance; a sum would show the instances that restart
    found.append(Query("db_pool_max", "max by (service) (db_pool_max)"))
    tables = "pg_stat_user_tables_"
    postgres = {
        "pg_up": "pg_up",
        "pg_connections": 'sum by (state) (pg_stat_activity_count{state=~"active|idle|idle in transaction"})',
        "pg_settings_max_connections": "pg_settings_max_connections",
        "pg_commits_rate": f"sum(rate(pg_stat_database_xact_commit{_RATE}))",
        "pg_rollbacks_rate": f"sum(rate(pg_stat_database_xact_rollback{_RATE}))",
        "pg_locks": "sum(pg_locks_count)",
        "pg_longest_transaction_seconds": "max(pg_stat_activity_max_tx_duration)",
        "pg_table_seq_rows_read_rate":
            f"sum by (relname) (rate({tables}seq_tup_read{_RATE}))",
        "pg_table_index_scans_rate": f"sum by (relname) (rate({tables}idx_scan{_RATE}))",
        "pg_table_inserts_rate": f"sum by (relname) (rate({tables}n_tup_ins{_RATE}))",
        "pg_table_live_rows": f"sum by (relname) ({tables}n_live_tup)",
    }  # fmt: skip
    found += [Query(metric, promql, database) for metric, promql in postgres.items()]
    lab = 'mountpoint=~".*receipts"'
    found += [
        Query("node_load1", "node_load1", host),
        Query("node_cpu_busy_ratio",
              f'1 - avg(rate(node_cpu_seconds_total{{mode="idle"}}{_RATE}))', host),
        Query("node_memory_available_bytes", "node_memory_MemAvailable_bytes", host),
        Query("node_filesystem_available_bytes",
              f"node_filesystem_avail_bytes{{{lab}}}", host),
    ]  # fmt: skip
    return found
