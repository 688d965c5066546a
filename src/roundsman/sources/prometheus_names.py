"""What a metric of Prometheus is asked as, whose it is, and what its series are called.

Counters are asked as rates (`x_total` -> `x_rate`), histograms as two quantiles (`x_seconds` ->
`x_p50_seconds`, `x_p99_seconds`), gauges as they are. Labels that tell instances of a
service apart are summed over (gauges: averaged): instances come and go with every release.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

#: labels that name the service, the likeliest first
SERVICE = (
    "service", "service_name", "app", "app_kubernetes_io_name", "deployment", "container", "job",
)  # fmt: skip
#: exporters that speak of others: their own `service` and `job` are the exporter's
_ABOUT_OTHERS = ("container_", "kube_", "namedprocess_")
THEIRS = ("exported_service", "deployment", "container", "exported_container", "daemonset",
           "statefulset", "groupname", "app")  # fmt: skip
#: exporters whose every instance is a host of its own
_HOSTS = ("node_", "windows_")
_HOST = ("nodename", "node", "instance")
#: labels that tell instances apart
INSTANCE = (
    "instance", "pod", "pod_name", "pod_ip", "pod_uid", "uid", "host", "hostname", "host_name", "node",
    "nodename", "node_name", "id", "container_id", "image", "image_id", "replica", "pid", "process_id",
    "service_instance_id", "exported_instance", "exported_pod", "prometheus", "prometheus_replica",
    "cpu",
)  # fmt: skip
#: what runtimes, exporters and the store say of themselves
_OF_THEMSELVES = (
    "go_gc_", "go_memstats_", "go_sched_", "go_sync_", "go_cgo_", "go_cpu_", "go_godebug_", "go_info",
    "go_threads", "promhttp_", "scrape_", "python_gc_", "python_info", "net_conntrack_", "ALERTS",
    "prometheus_", "node_scrape_", "vm_", "flag",
)  # fmt: skip
#: of the thousand counters of a kernel, those that say how full, busy or broken a host is: the others
#: wander by themselves, and would be onsets of everything
_OF_HOSTS = (
    "node_load", "node_cpu_seconds_total", "node_memory_MemAvailable_bytes", "node_memory_SwapFree_bytes",
    "node_filesystem_avail_bytes", "node_filesystem_files_free", "node_filesystem_readonly",
    "node_disk_io_time_seconds_total", "node_network_receive_bytes_total",
    "node_network_transmit_bytes_total", "node_network_receive_errs_total",
    "node_network_transmit_errs_total", "node_network_receive_drop_total", "node_netstat_Tcp_RetransSegs",
    "node_pressure_", "node_vmstat_oom_kill", "node_vmstat_pgmajfault", "node_filefd_allocated",
    "node_nf_conntrack_entries", "node_boot_time_seconds", "node_procs_blocked", "node_md_disks",
    "node_timex_offset_seconds", "node_up",
)  # fmt: skip
_EXPORTER = ("_exporter_", "exporter_build_info")
_UNITS = ("_seconds", "_milliseconds", "_ms", "_bytes")


@dataclass(frozen=True)
class Asked:
    """One range query: the name its series get, its PromQL and how many series are behind it.

    `merge` says how two series of one name become one: sum, mean or max.
    """

    name: str
    promql: str
    summed: str
    merge: str


def of_itself(metric: str) -> bool:
    """Whether a metric is about a runtime, an exporter, the store or a kernel's inside, and not about a
    service's work or how full its host is."""
    if metric.startswith("node_"):
        return not metric.startswith(_OF_HOSTS)
    return metric.startswith(_OF_THEMSELVES) or any(part in metric for part in _EXPORTER)


def _quoted(metric: str) -> str:
    text = metric.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{__name__="{text}"}}'


def selector(metric: str) -> str:
    plain = metric.replace("_", "a").replace(":", "a")
    good = plain.isascii() and plain.isalnum() and not metric[:1].isdigit()
    return metric if good else _quoted(metric)


def plan(metric: str, kind: str, window: str, labels: Collection[str] | None = None) -> list[Asked]:
    """The queries for one metric; none for parts of others (`_sum`, `_created`).

    `kind` is the server's word for it, "" when it has none; `window` what rates look back, as `[60s]`;
    `labels` those that exist at all (None: not known), so that a query names no others.
    """
    keep = [n for n in dict.fromkeys((*SERVICE, *THEIRS)) if labels is None or n in labels]
    drop = [n for n in INSTANCE if labels is None or n in labels]
    if metric.startswith(_HOSTS):  # the host is what they are about
        drop = [name for name in drop if name not in _HOST]
        keep += [name for name in _HOST if labels is None or name in labels]
    without, by = f"without ({', '.join(drop)})", ", ".join(keep)
    one = selector(metric)
    if metric.endswith("_bucket"):
        base = metric.removesuffix("_bucket")
        stem, unit = next(
            ((base.removesuffix(u), u) for u in _UNITS if base.endswith(u)), (base, "")
        )
        le = ", ".join(["le", *keep])
        return [
            Asked(
                f"{stem}_p{share * 100:g}{unit}",
                f"histogram_quantile({share}, sum {without} (rate({one}{window})))",
                f"histogram_quantile({share}, sum by ({le}) (rate({one}{window})))",
                "max",
            )
            for share in (0.5, 0.99)
        ]
    if metric.endswith(("_sum", "_created")) and kind != "gauge":
        return []
    if kind == "counter" or (metric.endswith(("_total", "_count")) and kind != "gauge"):
        rate = f"rate({one}{window})"
        name = metric.removesuffix("_total") + "_rate"
        return [Asked(name, f"sum {without} ({rate})", f"sum by ({by}) ({rate})", "sum")]
    return [Asked(metric, f"avg {without} ({one})", f"avg by ({by}) ({one})", "mean")]


def owner(metric: str, labels: Mapping[str, str]) -> str:
    """The service a series belongs to, or an empty text."""
    names: tuple[str, ...] = SERVICE
    if metric.startswith(_ABOUT_OTHERS):
        names = (*THEIRS, *SERVICE)
    elif metric.startswith(_HOSTS):
        names = ("service", *_HOST, *SERVICE)
    return next((labels[name] for name in names if labels.get(name)), "")


def told_apart(name: str, labels: Mapping[str, str], among: Sequence[Mapping[str, str]]) -> str:
    """The name with the labels in which it differs from those among it, of one metric and service."""
    left_out = {"__name__", "le", *SERVICE, *THEIRS, *INSTANCE}
    kept = ",".join(
        f'{key}="{labels[key]}"'
        for key in sorted(labels)
        if key not in left_out and any(other.get(key) != labels[key] for other in among)
    )
    return f"{name}{{{kept}}}" if kept else name
