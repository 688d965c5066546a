"""Traces out of Jaeger, over the HTTP API of its query service."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

from roundsman.errors import SourceError
from roundsman.sources.documents import at, rows, text
from roundsman.sources.headers import Header
from roundsman.sources.http import HttpFailed, TooLarge
from roundsman.sources.patience import checkpoint
from roundsman.sources.protocols import Command, Span, Unseen, Window
from roundsman.sources.trace_records import flat_span, records_of
from roundsman.sources.trace_server import MOST_TRACES, SECONDS, TraceServer

#: traces of one service in one request
_PAGE = 200


class JaegerSource(TraceServer):
    """Satisfies Source with the spans of one Jaeger. Of each service the newest traces and those with an
    error are asked for: Jaeger searches by service only, and has no pages.

    Raises SourceError when it does not answer, or knows no service.
    """

    def __init__(
        self, url: str, window: Window, headers: Iterable[Header] = (), option: str = "--traces"
    ) -> None:
        super().__init__(url, headers, option)
        self._window = window
        found = self._get("/api/services", {})
        self._names = sorted(str(one) for one in at(found, "data") or [] if one)
        if not self._names:
            raise SourceError(f"{self.url}: knows no service; are traces sent to it?")

    def services(self) -> list[str]:
        """All it knows, in the window or not."""
        return self._names

    def calls(self) -> set[tuple[str, str]]:
        """Who calls whom, as it has worked out for the incident's window; often for none."""
        span = round((self._window.end - self._window.start) * 1000)
        fields = {"endTs": round(self._window.end * 1000), "lookback": span}
        try:
            found = self._get("/api/dependencies", fields)
        except HttpFailed:
            return set()
        pairs = ((text(one, "parent"), text(one, "child")) for one in rows(found, "data"))
        return {(a, b) for a, b in pairs if a and b and a != b}

    def fetch(self, window: Window) -> list[Span]:
        """The newest traces of each service and those with an error, until the bounds are reached."""
        end, share = time.monotonic() + SECONDS, max(10, MOST_TRACES // len(self._names))
        limit = min(_PAGE, share)
        spans: list[Span] = []
        full, failed, answered, last = 0, 0, 0, ""
        for number, name in enumerate(self._names):
            checkpoint()
            if time.monotonic() > end:
                why = f"services not asked for: over {SECONDS:.0f} s"
                self.note(Unseen(self._where, why, len(self._names) - number))
                break
            try:
                for tags in (None, json.dumps({"error": "true"})):
                    traces = self._search(name, window, limit, tags)
                    spans += [
                        span for row in records_of({"data": traces}) if (span := flat_span(row))
                    ]
                    full += len(traces) >= limit and tags is None
                answered += 1
            except HttpFailed as error:
                failed, last = failed + 1, str(error)
                if error.lost:
                    left = len(self._names) - number - 1
                    if left:
                        self.note(Unseen(self._where, f"services not asked for: {last}", left))
                    break
        if failed and not answered:
            raise SourceError(last)
        if failed:
            self.note(Unseen(self._where, f"services whose search failed: {last}", failed))
        if full:
            why = f"services with more than the newest {limit} traces and {limit} failed ones"
            self.note(Unseen(self._where, why, full))
        return spans

    def _search(
        self, service: str, window: Window, limit: int, tags: str | None
    ) -> list[dict[str, Any]]:
        fields = {
            "service": service,
            "start": round(window.start * 1e6),
            "end": round(window.end * 1e6),
            "limit": limit,
            "tags": tags,
        }
        try:
            return [dict(one) for one in rows(self._get("/api/traces", fields), "data")]
        except TooLarge:
            if limit < 10:
                raise
            return self._search(service, window, limit // 4, tags)

    def _get(self, path: str, fields: dict[str, Any]) -> Any:
        found = self.http.get(path, fields)
        if not isinstance(found, dict) or "data" not in found:
            raise HttpFailed(f"{self.url}{path}: JSON, but not the answer of a Jaeger")
        errors = rows(found, "errors")
        if errors and not found["data"]:
            raise HttpFailed(f"{self.url}{path}: {text(errors[0], 'msg')[:300]}")
        return found

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """The search of one service."""
        name = next((one for one in self._names if service.lower() in one.lower()), self._names[0])
        span = f"start={window.start * 1e6:.0f}&end={window.end * 1e6:.0f}&limit=20"
        words = (
            "curl",
            "-sG",
            f"{self.url}/api/traces",
            "--data-urlencode",
            f"service={name}",
            "-d",
            span,
        )
        return Command(words, tuple(map(str, self.http.headers)))
