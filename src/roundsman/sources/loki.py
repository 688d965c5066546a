"""Log lines out of Grafana Loki, over `query_range`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from roundsman.errors import SourceError
from roundsman.sources.headers import Header
from roundsman.sources.http import HttpFailed
from roundsman.sources.log_server import BAD, PAGE, SERVICE, Asked, LogServer, line_of
from roundsman.sources.protocols import Command, LogLine, Unseen, Window

_API = "/loki/api/v1"
_LEAST_PAGE = 50


class LokiSource(LogServer):
    """Satisfies Source with the lines of one Loki.

    The service is the first usual label that its streams have. Raises SourceError when it does not
    answer, or has no streams in the window.
    """

    def __init__(
        self, url: str, window: Window, headers: Iterable[Header] = (), option: str = "--logs"
    ) -> None:
        super().__init__(url, window, headers, option)
        labels = self._list("/labels", window)
        if not labels:
            raise SourceError(f"{self.url}: no streams in the window")
        self._label = next((one for one in SERVICE if one in labels), labels[0])
        self._page = PAGE

    def services(self) -> list[str]:
        """The values of that label."""
        return sorted(self._list(f"/label/{self._label}/values", self._window))

    def read(self, asked: Asked, window: Window, most: int) -> Iterator[LogLine]:
        """Pages in order of time. The next begins at the last line's instant, whose lines are skipped."""
        query, start, end = self._query(asked), ns(window.start), ns(window.end) + 1
        seen: set[tuple[str, str]] = set()
        given = 0
        while given < most and start < end:
            page = min(self._page, most - given + len(seen))
            rows = self._rows(query, start, end, page)
            page = min(page, self._page)
            fresh = [row for row in rows if (str(row[0]), row[1]) not in seen]
            for at, raw, labels in fresh[: most - given]:
                given += 1
                line = line_of(raw, at / 1e9, labels)
                if line is not None:
                    yield line
            if len(rows) < page:
                return
            last = rows[-1][0]
            if not fresh:  # more lines of one instant than a page holds: the rest cannot be reached
                self.note(Unseen(self._where, "instants with more lines than one page holds"))
                start, seen = last + 1, set()
            else:
                start, seen = last, {(str(at), raw) for at, raw, _ in rows if at == last}

    def _rows(self, query: str, start: int, end: int, page: int) -> list[tuple[int, str, Any]]:
        fields = {"query": query, "start": start, "end": end, "direction": "forward", "limit": page}
        try:
            data = self._data("/query_range", fields)
        except HttpFailed as error:
            if error.status == 400 and "max entries" in str(error) and self._page > _LEAST_PAGE:
                self._page //= 2
                return self._rows(query, start, end, min(page, self._page))
            raise
        streams = data.get("result") if isinstance(data, dict) else None
        rows = [
            (int(value[0]), str(value[1]), stream.get("stream") or {})
            for stream in streams or []
            if isinstance(stream, dict)
            for value in stream.get("values") or []
        ]
        return sorted(rows, key=lambda row: row[0])

    def count(self, asked: Asked, window: Window) -> int | None:
        """By `count_over_time` at the end of the piece."""
        span = max(1, round(window.end - window.start))
        query = f"sum(count_over_time({self._query(asked)}[{span}s]))"
        data = self._data("/query", {"query": query, "time": ns(window.end)})
        rows = data.get("result") if isinstance(data, dict) else None
        return int(float(rows[0]["value"][1])) if rows else None

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """The range query."""
        query = f"query={self._query(Asked(service, text))}"
        span = f"start={ns(window.start)}&end={ns(window.end)}&limit=100"
        words = (
            "curl",
            "-sG",
            f"{self.url}{_API}/query_range",
            "--data-urlencode",
            query,
            "-d",
            span,
        )
        return Command(words, tuple(map(str, self.http.headers)))

    def _query(self, asked: Asked) -> str:
        # a selector must not match the empty value only
        value = f"(?i).*{pattern(asked.service)}.*" if asked.service else ".+"
        query = f'{{{self._label}=~"{escaped(value)}"}}'
        if asked.text:
            query += f' |~ "{escaped("(?i)" + pattern(asked.text))}"'
        return query + (f' |~ "(?i)({"|".join(BAD)})"' if asked.bad else "")

    def _list(self, path: str, window: Window) -> list[str]:
        found = self._data(path, {"start": ns(window.start), "end": ns(window.end)})
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []

    def _data(self, path: str, fields: dict[str, Any]) -> Any:
        body = self.http.get(f"{_API}{path}", fields)
        if not isinstance(body, dict) or body.get("status") != "success":
            raise HttpFailed(f"{self.url}{_API}{path}: JSON, but not the answer of a Loki")
        return body.get("data")


def ns(at: float) -> int:
    """Whole nanoseconds of a time, exact to the microsecond."""
    return round(at * 1e6) * 1000


def pattern(text: str) -> str:
    """The text as a regular expression of RE2."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def escaped(text: str) -> str:
    """The text as it stands inside of double quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
