"""Log lines out of VictoriaLogs, over LogsQL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from roundsman.sources.headers import Header
from roundsman.sources.http import HttpFailed
from roundsman.sources.log_server import BAD, SERVICE, Asked, LogServer, record_line
from roundsman.sources.loki import escaped, ns, pattern
from roundsman.sources.protocols import Command, LogLine, Unseen, Window

_QUERY = "/select/logsql/query"


class VictoriaLogsSource(LogServer):
    """Satisfies Source with the lines of one VictoriaLogs. Raises SourceError when it does not answer."""

    def __init__(
        self, url: str, window: Window, headers: Iterable[Header] = (), option: str = "--logs"
    ) -> None:
        super().__init__(url, window, headers, option)
        names = self._values("/select/logsql/field_names", {})
        self._owners = [one for one in SERVICE if one in names]

    def services(self) -> list[str]:
        """The values of the first usual field that lines have."""
        if not self._owners:
            return []
        path, field = "/select/logsql/field_values", self._owners[0]
        return sorted(self._values(path, {"field": field, "limit": 500}))

    def read(self, asked: Asked, window: Window, most: int) -> Iterator[LogLine]:
        """The oldest lines of a piece as one stream; broken lines of it are counted."""
        query = f"{self._query(asked)} | sort by (_time) limit {most}"
        broken = 0
        for raw in self.http.lines(_QUERY, {"query": query, **_times(window)}):
            if not raw.strip():
                continue
            try:
                record = json.loads(raw)
            except (ValueError, RecursionError):
                broken += 1
                continue
            line = record_line(record) if isinstance(record, dict) else None
            if line is not None:
                yield line
        if broken:
            self.note(Unseen(self._where, "lines of an answer that are no JSON", broken))

    def count(self, asked: Asked, window: Window) -> int | None:
        """By `stats count()`."""
        query = f"{self._query(asked)} | stats count() as lines"
        for raw in self.http.lines(_QUERY, {"query": query, **_times(window)}):
            try:
                return int(json.loads(raw)["lines"])
            except (ValueError, KeyError, TypeError):
                return None
        return None

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """The query."""
        query = f"query={self._query(Asked(service, text))}"
        span = "&".join(f"{key}={value}" for key, value in _times(window).items())
        words = (
            "curl",
            "-s",
            f"{self.url}{_QUERY}",
            "--data-urlencode",
            query,
            "-d",
            f"{span}&limit=100",
        )
        return Command(words, tuple(map(str, self.http.headers)))

    def _query(self, asked: Asked) -> str:
        parts = []
        if asked.service and self._owners:
            part = escaped("(?i)" + pattern(asked.service))
            owners = (f'"{name}":~"{part}"' for name in self._owners)
            parts.append(f"({' or '.join(owners)})")
        if asked.text:
            parts.append(f'_msg:~"{escaped("(?i)" + pattern(asked.text))}"')
        if asked.bad:
            words = "|".join(BAD)
            parts.append(f'(_msg:~"(?i)({words})" or level:~"(?i)(err|fatal|crit|panic)")')
        return " ".join(parts) or "*"

    def _values(self, path: str, fields: dict[str, Any]) -> list[str]:
        body = self.http.form(path, {"query": "*", **_times(self._window), **fields})
        rows = body.get("values") if isinstance(body, dict) else None
        if not isinstance(rows, list):
            raise HttpFailed(f"{self.url}{path}: JSON, but not the answer of a VictoriaLogs")
        return [str(row["value"]) for row in rows if isinstance(row, dict) and "value" in row]


def _times(window: Window) -> dict[str, int]:
    return {"start": ns(window.start), "end": ns(window.end)}
