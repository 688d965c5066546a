"""The HTTP API that Prometheus, VictoriaMetrics, Mimir and Thanos share: the part that only reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from roundsman.sources.headers import Header
from roundsman.sources.http import Http, HttpFailed


class PrometheusApi:
    """One server. Every method raises HttpFailed, one line, when it gives no answer."""

    def __init__(self, url: str, headers: Iterable[Header] = (), option: str = "") -> None:
        self.http = Http(url, headers, option)
        self.url = self.http.url

    def query(self, promql: str, at: float | None = None) -> list[dict[str, Any]]:
        """One value of each series: `metric` (labels) and `value` [time, text]."""
        return self.ask("query", {"query": promql, "time": at})

    def query_range(
        self, promql: str, start: float, end: float, step: float
    ) -> list[dict[str, Any]]:
        """Values over time: `metric` (labels) and `values` [[time, text], ...]."""
        fields = {
            "query": promql,
            "start": f"{start:.3f}",
            "end": f"{end:.3f}",
            "step": f"{step:g}",
        }
        return self.ask("query_range", fields)

    def label_values(self, label: str, start: float, end: float) -> list[str]:
        """What a label's values were in a window."""
        path = f"/api/v1/label/{label}/values"
        found = self.http.get(path, {"start": f"{start:.3f}", "end": f"{end:.3f}"})
        data = self._data(found, path)
        return [one for one in data if isinstance(one, str)] if isinstance(data, list) else []

    def label_names(self, start: float, end: float) -> list[str]:
        """Which labels there were in a window."""
        path = "/api/v1/labels"
        found = self.http.get(path, {"start": f"{start:.3f}", "end": f"{end:.3f}"})
        data = self._data(found, path)
        return [one for one in data if isinstance(one, str)] if isinstance(data, list) else []

    def types(self) -> dict[str, str]:
        """metric -> counter, gauge, histogram ..., as far as the server knows; often it does not."""
        data = self._data(self.http.get("/api/v1/metadata"), "/api/v1/metadata")
        rows = data.items() if isinstance(data, dict) else ()
        return {
            str(name): str(told[0].get("type") or "")
            for name, told in rows
            if isinstance(told, list) and told and isinstance(told[0], dict)
        }

    def ask(self, what: str, fields: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The rows that `query` or `query_range` answers."""
        path = f"/api/v1/{what}"
        data = self._data(self.http.form(path, fields), path)
        rows = data.get("result") if isinstance(data, dict) else None
        if not isinstance(rows, list):
            raise HttpFailed(f"{self.url}{path}: JSON, but not the answer of a Prometheus API")
        return [row for row in rows if isinstance(row, dict)]

    def _data(self, body: Any, path: str) -> Any:
        if not isinstance(body, dict) or "status" not in body:
            raise HttpFailed(f"{self.url}{path}: JSON, but not the answer of a Prometheus API")
        if body["status"] != "success":
            raise HttpFailed(f"{self.url}{path}: {str(body.get('error'))[:300]}")
        return body.get("data")
