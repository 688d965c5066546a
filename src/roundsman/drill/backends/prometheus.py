"""Prometheus: scrapes every second, judges the alert rules, writes on to VictoriaMetrics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from roundsman.drill.backends.http import answers
from roundsman.drill.supervisor import Spec
from roundsman.errors import DrillFailed, SourceError
from roundsman.sources.prometheus_api import PrometheusApi


class Prometheus:
    """One server; the targets of services come and go with their processes."""

    def __init__(self, program: Path, folder: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._program, self._folder, self._port = program, folder, port
        self._targets = folder / "targets"
        self._targets.mkdir()

    def configure(
        self,
        fixed: Mapping[str, tuple[str, int]],
        rules: list[dict[str, Any]],
        alertmanager: str,
        write_url: str,
    ) -> None:
        """Write the configuration. `fixed`: job -> (service, port); `rules`: alerting rules."""
        jobs: list[dict[str, Any]] = [
            {
                "job_name": job,
                "static_configs": [
                    {"targets": [f"127.0.0.1:{port}"], "labels": {"service": service}}
                ],
            }
            for job, (service, port) in fixed.items()
        ]
        found = {"files": [f"{self._targets}/*.json"], "refresh_interval": "1s"}
        jobs.append({"job_name": "services", "file_sd_configs": [found]})
        config = {
            "global": {
                "scrape_interval": "1s",
                "scrape_timeout": "1s",
                "evaluation_interval": "1s",
            },
            "rule_files": [str(self._folder / "rules.yaml")],
            "alerting": {
                "alertmanagers": [
                    {"static_configs": [{"targets": [alertmanager.removeprefix("http://")]}]}
                ]
            },
            "remote_write": [{"url": write_url, "queue_config": {"batch_send_deadline": "1s"}}],
            "scrape_configs": jobs,
        }
        group = {"name": "services", "interval": "1s", "rules": rules}
        (self._folder / "rules.yaml").write_text(yaml.safe_dump({"groups": [group]}))
        (self._folder / "prometheus.yaml").write_text(yaml.safe_dump(config, sort_keys=False))

    def spec(self) -> Spec:
        """How it is started."""
        return Spec(
            name="prometheus",
            args=[
                str(self._program),
                f"--config.file={self._folder / 'prometheus.yaml'}",
                f"--storage.tsdb.path={self._folder / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{self._port}",
                # its own idea of its address would carry this machine's name into recordings
                f"--web.external-url={self.url}",
                # else it waits a minute for a store that has ended already
                "--storage.remote.flush-deadline=1s",
                "--log.level=warn",
            ],
            output=self._folder / "prometheus.log",
            ready=answers(f"{self.url}/-/ready"),
        )

    def set_targets(self, instance: str, port: int | None, service: str = "") -> None:
        """Scrape an instance of a service from now on; port None: no more."""
        file = self._targets / f"{instance}.json"
        if port is None:
            file.unlink(missing_ok=True)
            return
        labels = {"service": service, "instance": instance}
        # moved into place: Prometheus reads the file the moment it changes
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps([{"targets": [f"127.0.0.1:{port}"], "labels": labels}]))
        fresh.rename(file)

    def value(self, query: str) -> float | None:
        """One number now; None when the query has no series (which is not zero)."""
        rows = ask(self.url, "query", query=query)
        return float(rows[0]["value"][1]) if rows else None

    def range(self, query: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        """Series over time, as the API returns them: `metric` (labels) and `values`."""
        return ask(self.url, "query_range", query=query, start=start, end=end, step=step)


def ask(url: str, what: str, **parameters: Any) -> list[dict[str, Any]]:
    """One query of the HTTP API that Prometheus and VictoriaMetrics share."""
    try:
        return PrometheusApi(url).ask(what, parameters)
    except SourceError as error:
        raise DrillFailed(f"{what} {parameters.get('query')!r}: {error}") from None
