"""Log lines out of Elasticsearch or OpenSearch, over `_search`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from roundsman.sources.headers import Header
from roundsman.sources.http import HttpFailed
from roundsman.sources.log_server import BAD, PAGE, SERVICE, Asked, LogServer, record_line
from roundsman.sources.protocols import Command, LogLine, Unseen, Window

_TEXT = ["message", "msg", "log", "body", "event.original", "error.message"]
_OWNER = [*SERVICE, "kubernetes.deployment.name", "kubernetes.labels.app"]
_LEVEL = ["log.level", "level", "severity", "severity_text"]


class ElasticSource(LogServer):
    """Satisfies Source with the lines of one server; the path of its address names the indices
    (`/logs-*`), none means all. Times are read from `@timestamp`.

    A text is searched for as words, as the index holds them. Raises SourceError when it does not answer.
    """

    def __init__(
        self, url: str, window: Window, headers: Iterable[Header] = (), option: str = "--logs"
    ) -> None:
        super().__init__(url, window, headers, option)
        self._names: list[str] = []
        body = {"size": 0, "query": _span(window), "track_total_hits": False,
                "aggs": {"services": {"terms": {"field": "service.name", "size": 500}}}}  # fmt: skip
        try:
            found = self._search(body).get("aggregations")
        except HttpFailed as error:
            if error.status != 400:  # the field may be no keyword
                raise
            found = None
        buckets = found.get("services", {}).get("buckets") if isinstance(found, dict) else None
        self._names = sorted(str(one["key"]) for one in buckets or [] if "key" in one)

    def services(self) -> list[str]:
        """The values of `service.name`."""
        return self._names

    def read(self, asked: Asked, window: Window, most: int) -> Iterator[LogLine]:
        """Pages in order of time. The next begins at the last line's millisecond, whose lines are skipped:
        times are no unique key, and a page may end among equals."""
        after: int | None = None
        seen: set[str] = set()
        given = 0
        while given < most:
            size = min(PAGE, most - given + len(seen))
            body: dict[str, Any] = {
                "size": size,
                "query": self._query(asked, window),
                "sort": [{"@timestamp": {"order": "asc", "unmapped_type": "date"}}],
                "track_total_hits": False,
            }
            if after is not None:
                body["search_after"] = [after - 1]
            hits = self._hits(self._search(body))
            fresh = [hit for hit in hits if _id(hit) not in seen]
            for hit in fresh[: most - given]:
                given += 1
                line = record_line(hit.get("_source") or {})
                if line is not None:
                    yield line
            if len(hits) < size:
                return
            last = _millisecond(hits[-1])
            if last is None:
                return
            if not fresh:
                self.note(Unseen(self._where, "milliseconds with more lines than one page holds"))
                after, seen = last + 2, set()
            else:
                after, seen = last, {_id(hit) for hit in hits if _millisecond(hit) == last}

    def count(self, asked: Asked, window: Window) -> int | None:
        """By the total of hits."""
        body = {"size": 0, "query": self._query(asked, window), "track_total_hits": True}
        total = (self._search(body).get("hits") or {}).get("total")
        value = total.get("value") if isinstance(total, dict) else total
        return int(value) if isinstance(value, int) else None

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """A search by address, with the words of the text."""
        words = ["curl", "-sG", f"{self.url}/_search", "-d", "size=100&sort=@timestamp:asc"]
        span = f'@timestamp:["{_ms(window.start)}" TO "{_ms(window.end)}"]'
        wanted = " AND ".join([span, *(f'"{part}"' for part in (service, text) if part)])
        words += ["--data-urlencode", f"q={wanted}"]
        return Command(tuple(words), tuple(map(str, self.http.headers)))

    def _query(self, asked: Asked, window: Window) -> dict[str, Any]:
        filters = [_span(window)]
        if asked.text:
            filters.append({"multi_match": {"query": asked.text, "type": "phrase", "fields": _TEXT,
                                            "lenient": True}})  # fmt: skip
        if asked.service:
            part = {"value": f"*{asked.service}*", "case_insensitive": True}
            filters.append(_any([{"wildcard": {name: part}} for name in _OWNER]))
        if asked.bad:
            words = {"multi_match": {"query": " ".join(BAD), "fields": _TEXT, "lenient": True}}
            level = {"multi_match": {"query": "error fatal panic critical", "fields": _LEVEL,
                                     "lenient": True}}  # fmt: skip
            filters.append(_any([words, level]))
        return {"bool": {"filter": filters}}

    def _search(self, body: dict[str, Any]) -> dict[str, Any]:
        found = self.http.post("/_search", body)
        if not isinstance(found, dict) or not isinstance(found.get("hits"), dict):
            raise HttpFailed(f"{self.url}/_search: JSON, but not the answer of a search")
        failed = (found.get("_shards") or {}).get("failed") or 0
        if failed:
            self.note(Unseen(self._where, "shards that did not answer", int(failed)))
        if found.get("timed_out"):
            self.note(
                Unseen(self._where, "searches the server ended before it had looked everywhere")
            )
        return found

    def _hits(self, found: dict[str, Any]) -> list[dict[str, Any]]:
        hits = found["hits"].get("hits")
        return [hit for hit in hits or [] if isinstance(hit, dict)]


def _any(queries: list[dict[str, Any]]) -> dict[str, Any]:
    return {"bool": {"should": queries, "minimum_should_match": 1}}


def _span(window: Window) -> dict[str, Any]:
    return {
        "range": {
            "@timestamp": {
                # what begins between two milliseconds belongs to the piece before
                "gte": math.ceil(window.start * 1000 - 1e-3),
                "lte": math.floor(window.end * 1000),
                "format": "epoch_millis",
            }
        }
    }


def _ms(at: float) -> int:
    return round(at * 1000)


def _id(hit: dict[str, Any]) -> str:
    return f"{hit.get('_index')}/{hit.get('_id')}"


def _millisecond(hit: dict[str, Any]) -> int | None:
    keys = hit.get("sort")
    return keys[0] if isinstance(keys, list) and keys and isinstance(keys[0], int) else None
