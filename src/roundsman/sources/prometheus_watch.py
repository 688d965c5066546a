"""What it takes to watch one metric of a server: which metrics make series of its name, and whether its
service is there at all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from roundsman.sources.prometheus_names import SERVICE, THEIRS, plan


def presence(service: str, labels: Collection[str] | None = None) -> list[str]:
    """Queries of which one has a row when anything a service says of itself is there. Of a target that
    does not answer the server's own words (`up`, `scrape_*`) stay, and tell nothing."""
    name = service.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    own = '__name__!~"up|scrape_.*"'
    known = [n for n in dict.fromkeys((*SERVICE, *THEIRS)) if labels is None or n in labels]
    return [f'count({{{label}="{name}",{own}}})' for label in known]


def makers(name: str, metrics: Sequence[str], types: Mapping[str, str]) -> list[str]:
    """The metrics from which series of this name (without labels) come; `types` are the server's."""

    def makes(metric: str) -> bool:
        kind = types.get(metric.removesuffix("_bucket"), "")
        return any(one.name == name for one in plan(metric, kind, ""))

    return [metric for metric in metrics if makes(metric)]
