"""What trace servers have in common: one window is fetched once, within bounds."""

from __future__ import annotations

from collections.abc import Iterable

from roundsman.sources.base import BaseSource
from roundsman.sources.headers import Header
from roundsman.sources.http import Http
from roundsman.sources.protocols import Span, Unseen, Window

#: traces of one window, the spans kept of it, and the seconds it may take
MOST_TRACES, MOST_SPANS, SECONDS = 1_500, 200_000, 45.0
_WINDOWS = 8


class TraceServer(BaseSource):
    """Satisfies Source with the spans of one server. Each kind of server says how a window is fetched."""

    def __init__(self, url: str, headers: Iterable[Header], option: str) -> None:
        super().__init__(["traces"])
        self.http = Http(url, headers, option)
        self.url = self.http.url
        self._where = f"traces of {self.url}"
        self._kept: dict[tuple[float, float], list[Span]] = {}

    def fetch(self, window: Window) -> list[Span]:
        """Spans of traces that touch the window."""
        raise NotImplementedError

    def spans(self, window: Window) -> list[Span]:
        """Spans that begin in the window, oldest first."""
        key = (window.start, window.end)
        if key not in self._kept:
            if len(self._kept) >= _WINDOWS:
                del self._kept[next(iter(self._kept))]
            found = sorted(set(self.fetch(window)), key=lambda span: span.at)
            inside = [span for span in found if window.holds(span.at)]
            if len(inside) > MOST_SPANS:
                self.note(Unseen(self._where, f"spans over the first {MOST_SPANS:,}",
                                 len(inside) - MOST_SPANS))  # fmt: skip
            self._kept[key] = inside[:MOST_SPANS]
        return self._kept[key]
