"""Exporters: what PostgreSQL and the machine say of themselves."""

from __future__ import annotations

from pathlib import Path

from roundsman.drill.backends.http import answers
from roundsman.drill.backends.postgres import Postgres
from roundsman.drill.supervisor import Spec

#: tables are not among the exporter's own metrics
_QUERIES = """
pg_stat_user_tables:
  query: "SELECT relname, seq_scan, seq_tup_read, coalesce(idx_scan, 0) AS idx_scan,
    n_tup_ins, n_live_tup FROM pg_stat_user_tables"
  metrics:
    - relname: {usage: LABEL, description: table}
    - seq_scan: {usage: COUNTER, description: sequential scans}
    - seq_tup_read: {usage: COUNTER, description: rows read by sequential scans}
    - idx_scan: {usage: COUNTER, description: index scans}
    - n_tup_ins: {usage: COUNTER, description: rows inserted}
    - n_live_tup: {usage: GAUGE, description: live rows}
"""


def postgres_exporter(program: Path, folder: Path, port: int, database: Postgres) -> Spec:
    """Connects as the superuser: in an outage of connections the others are taken."""
    queries = folder / "exporter-queries.yaml"
    queries.write_text(_QUERIES)
    address = f"127.0.0.1:{database.port}/postgres?sslmode=disable"
    return Spec(
        name="prometheus-postgres-exporter",
        args=[
            str(program),
            f"--web.listen-address=127.0.0.1:{port}",
            f"--extend.query-path={queries}",
            "--log.level=warn",
        ],
        output=folder / "postgres-exporter.log",
        env={"DATA_SOURCE_NAME": f"postgresql://{database.superuser}@{address}"},
        ready=answers(f"http://127.0.0.1:{port}/metrics", "pg_up 1"),
    )


def node_exporter(program: Path, folder: Path, port: int) -> Spec:
    """Only what a drill records; the machine may be busy with other things, and that shows."""
    collectors = ("cpu", "loadavg", "meminfo", "filesystem")
    return Spec(
        name="prometheus-node-exporter",
        args=[
            str(program),
            f"--web.listen-address=127.0.0.1:{port}",
            "--collector.disable-defaults",
            *(f"--collector.{name}" for name in collectors),
            "--log.level=warn",
        ],
        output=folder / "node-exporter.log",
        ready=answers(f"http://127.0.0.1:{port}/metrics"),
    )
