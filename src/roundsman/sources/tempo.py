"""Traces out of Grafana Tempo: a search for their ids, then each by its id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from roundsman.errors import SourceError
from roundsman.sources.crew import side_by_side
from roundsman.sources.documents import rows, text
from roundsman.sources.headers import Header
from roundsman.sources.http import HttpFailed
from roundsman.sources.protocols import Command, Span, Unseen, Window
from roundsman.sources.trace_records import flat_span, records_of
from roundsman.sources.trace_server import SECONDS, TraceServer

#: traces of one search: any, and failed ones; parts of a window that are searched by themselves
_LIMIT, _PARTS = 40, 6
_ID = re.compile(r"[0-9a-fA-F]{1,32}")


class TempoSource(TraceServer):
    """Satisfies Source with spans of one Tempo: of each sixth of a window some traces, and some with an
    error. It samples, since Tempo gives whole traces one by one only. Raises SourceError when it does not
    answer.
    """

    def __init__(
        self, url: str, window: Window, headers: Iterable[Header] = (), option: str = "--traces"
    ) -> None:
        super().__init__(url, headers, option)
        self._window, self._names = window, set[str]()
        for one in self._search(window, None):
            self._names.add(text(one, "rootServiceName"))

    def services(self) -> list[str]:
        """Those that some traces of the window begin in."""
        return sorted(name for name in self._names if name and not name.startswith("<"))

    def fetch(self, window: Window) -> list[Span]:
        """Traces found part by part, then fetched a few at a time."""
        width = (window.end - window.start) / _PARTS
        ids: dict[str, None] = {}
        full = 0
        for number in range(_PARTS):
            part = Window(window.start + number * width, window.start + (number + 1) * width)
            for query in ("{ status = error }", None):
                found = self._search(part, query)
                full += len(found) >= _LIMIT and query is None
                ids |= dict.fromkeys(text(one, "traceID") for one in found)
        wanted = [one for one in ids if _ID.fullmatch(one)]
        spans: list[Span] = []
        failed, got, last = 0, 0, ""
        for _, trace in side_by_side(self._trace, wanted, SECONDS):
            if isinstance(trace, HttpFailed):
                failed, last = failed + 1, str(trace)
                if trace.lost and failed > 3:
                    break
            elif isinstance(trace, Exception):
                raise trace
            else:
                got += 1
                spans += trace
        if wanted and not got:
            raise SourceError(last or f"{self.url}: no trace came within {SECONDS:.0f} s")
        if got < len(wanted):
            why = f"traces that were found but not fetched: {last or f'over {SECONDS:.0f} s'}"
            self.note(Unseen(self._where, why, len(wanted) - got))
        if full:
            why = f"sixths of a window with more than {_LIMIT} traces: a sample was read"
            self.note(Unseen(self._where, why, full))
        return spans

    def _search(self, window: Window, query: str | None) -> list[Mapping[str, Any]]:
        # whole seconds; a search of no width is refused
        start, end = int(window.start), max(int(window.start) + 1, round(window.end))
        fields = {"start": start, "end": end, "limit": _LIMIT, "q": query or "{ }"}
        found = self.http.get("/api/search", fields)
        if not isinstance(found, dict) or not ("traces" in found or "metrics" in found):
            raise HttpFailed(f"{self.url}/api/search: JSON, but not the answer of a Tempo")
        return rows(found, "traces")

    def _trace(self, trace_id: str) -> list[Span]:
        found = self.http.get(f"/api/traces/{trace_id}")
        body = found.get("trace", found) if isinstance(found, dict) else {}
        if "batches" in body:
            body = {"resourceSpans": body["batches"]}
        return [span for record in records_of(body) if (span := flat_span(record)) is not None]

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """A search for failed traces."""
        span = f"start={window.start:.0f}&end={window.end:.0f}&limit=20"
        words = (
            "curl",
            "-sG",
            f"{self.url}/api/search",
            "--data-urlencode",
            "q={ status = error }",
        )
        return Command((*words, "-d", span), tuple(map(str, self.http.headers)))
