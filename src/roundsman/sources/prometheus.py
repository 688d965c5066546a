"""Metrics out of a store that speaks Prometheus' HTTP API."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

from roundsman.errors import SourceError
from roundsman.sources.base import BaseSource
from roundsman.sources.crew import side_by_side
from roundsman.sources.headers import Header
from roundsman.sources.http import HttpFailed, TooLarge
from roundsman.sources.prometheus_api import PrometheusApi
from roundsman.sources.prometheus_names import SERVICE, Asked, of_itself, plan, selector
from roundsman.sources.prometheus_series import Answer, series_of
from roundsman.sources.prometheus_watch import makers, presence
from roundsman.sources.protocols import Command, Series, Unseen, Window
from roundsman.sources.times import iso

#: samples a series has at most, more or less
POINTS = 240
#: queries for one window, series of one metric that are kept apart, and series in all
MOST_METRICS, PER_METRIC, MOST_SERIES = 2_000, 60, 1_500
#: series behind one metric that a server is asked to keep apart
_BEHIND = 5_000
#: seconds one window may take
SECONDS = 45.0
#: failures in a row after which a server is taken to be gone
_GIVE_UP = 3
#: rates look back at least so long (seconds): less is noise
_LEAST_RATE = 10.0
_WINDOWS = 8
#: seconds without samples at an end of the window that are worth a note
_QUIET = 120.0


class PrometheusSource(BaseSource):
    """Satisfies Source with the metrics of one server, fetched once a window.

    `window` is the incident's: nothing outside of it is asked for. `only`: the name of series (without
    labels) that alone are fetched. Raises SourceError when the server does not answer, or has no
    metrics in the window.
    """

    def __init__(
        self,
        url: str,
        window: Window,
        headers: Iterable[Header] = (),
        option: str = "--prometheus",
        only: str = "",
    ) -> None:
        super().__init__(["metrics"])
        self._api = PrometheusApi(url, headers, option)
        self.url, self._window = self._api.url, window
        self._kept: dict[tuple[float, float], list[tuple[Series, str, float]]] = {}
        self._services: list[str] | None = None
        self._gone = ""
        self._counts = self._sizes()
        names = self._names()
        if not names:
            raise SourceError(f"{self.url}: no metrics between {_span(window)}")
        self._types = self._known(self._api.types, {})
        self._labels = self._known(
            lambda: frozenset(self._api.label_names(window.start, window.end)) or None, None
        )
        self._metrics = sorted(name for name in names if not of_itself(name)) or sorted(names)
        if len(names) > len(self._metrics):
            why = "what runtimes, exporters, kernels and the store say of themselves: not asked for"
            self.note(Unseen(f"metrics of {self.url}", why, len(names) - len(self._metrics)))
        self._probe = "up" if "up" in self._metrics else selector(self._metrics[0])
        if only:
            self._metrics = makers(only, self._metrics, self._types)
        self._interval = self._scrape_interval()
        self._data = self._covered()
        if len(self._metrics) > MOST_METRICS:
            over = len(self._metrics) - MOST_METRICS
            self.note(Unseen(f"metrics of {self.url}", f"over the first {MOST_METRICS:,}", over))

    # --- what there is -----------------------------------------------------------------------

    def _known(self, ask: Any, otherwise: Any) -> Any:
        """An answer that helps but is not needed."""
        try:
            return ask()
        except TooLarge:
            return otherwise
        except HttpFailed as error:
            if error.lost:
                raise
            return otherwise

    def _sizes(self) -> dict[str, int]:
        """How many series each metric has at the window's end; a large server may refuse to count."""
        rows = self._known(
            lambda: self._api.query('count by (__name__) ({__name__!=""})', self._window.end), []
        )
        return {
            str(row.get("metric", {}).get("__name__") or ""): int(float(row["value"][1]))
            for row in rows
            if row.get("value")
        }

    def _names(self) -> set[str]:
        start, end = self._window.start, self._window.end
        try:  # also those that ended before the window's end
            return set(self._api.label_values("__name__", start, end)) - {""}
        except HttpFailed:
            if not self._counts:
                raise
            return set(self._counts) - {""}

    def _scrape_interval(self) -> float:
        """Seconds between samples, as counted at the window's end."""
        for span in (60, 600, 3600):
            promql = f"max(count_over_time({self._probe}[{span}s]))"
            rows = self._known(lambda q=promql: self._api.query(q, self._window.end), [])
            count = float(rows[0]["value"][1]) if rows else 0.0
            if count >= 3:
                return max(1.0, round(span / count))
        return 15.0

    def _covered(self) -> Window:
        """The part of the window in which there are samples."""
        start, end = self._window.start, self._window.end
        step = max(1.0, math.ceil((end - start) / 1000))
        promql = f"count({self._probe})"
        rows = self._known(lambda: self._api.query_range(promql, start, end, step), [])
        times = [float(at) for row in rows for at, _ in row.get("values", [])]
        if not times:
            return Window(start, end)
        first, last = max(start, min(times) - step), min(end, max(times) + step)
        quiet = max(_QUIET, 4 * self._interval, 2 * step)
        if first - start > quiet:
            self.note(Unseen(f"metrics of {self.url}", f"no samples before {iso(round(first))}"))
        if end - last > quiet:
            why = f"no samples after {iso(round(last))}: it is filled no more, or clocks differ"
            self.note(Unseen(f"metrics of {self.url}", why))
        return Window(first, last)

    def services(self) -> list[str]:
        """The values of the first usual label that has some, as long as those are not too many."""
        if self._services is None:
            self._services = self._find_services()
        return self._services

    def _find_services(self) -> list[str]:
        for label in SERVICE:
            if self._labels is None or label in self._labels:
                span = self._window.start, self._window.end
                found = self._known(partial(self._api.label_values, label, *span), [])
                if found:
                    return sorted(found)[:MOST_SERIES]
        return []

    def measured(self, service: str) -> bool:
        """Whether anything a service says of itself is there at the window's end."""
        asked = presence(service, self._labels)
        return any(self._known(partial(self._api.query, q, self._window.end), []) for q in asked)

    def extent(self) -> Window | None:
        """The part of the incident's window that holds samples."""
        return self._data

    # --- series ------------------------------------------------------------------------------

    def series(self, window: Window, service: str = "", metric: str = "") -> list[Series]:
        """Series of the window whose names hold the given texts (any case); fetched once."""
        return [one for one, _, _ in self._matching(window, service, metric)]

    def _matching(
        self, window: Window, service: str, metric: str
    ) -> list[tuple[Series, str, float]]:
        service, metric = service.lower(), metric.lower()
        return [
            row
            for row in self._fetched(window)
            if service in row[0].service.lower() and metric in row[0].metric.lower()
        ]

    def _fetched(self, asked: Window) -> list[tuple[Series, str, float]]:
        data = self._data
        start, end = max(asked.start, data.start), min(asked.end, data.end)
        if start >= end:
            self.note(Unseen(f"metrics of {self.url}", f"no samples between {_span(asked)}"))
            return []
        step = float(max(self._interval, math.ceil((end - start) / POINTS)))
        start = math.ceil(start / step) * step  # the same steps whoever asks
        key = (start, end)
        if key not in self._kept:
            if self._gone:  # waiting for it again would cost the questions to the others their time
                raise HttpFailed(self._gone, lost=True)
            if len(self._kept) >= _WINDOWS:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = self._fetch(start, end, step)
        return self._kept[key]

    def _fetch(self, start: float, end: float, step: float) -> list[tuple[Series, str, float]]:
        look_back = f"[{max(4 * self._interval, step, _LEAST_RATE):.0f}s]"
        todo = [
            (metric, one)
            for metric in self._metrics[:MOST_METRICS]
            for one in plan(metric, self._types.get(_family(metric), ""), look_back, self._labels)
        ]
        return self._collect(todo, start, end, step)

    def _collect(
        self, todo: list[tuple[str, Asked]], start: float, end: float, step: float
    ) -> list[tuple[Series, str, float]]:
        def ask(item: tuple[str, Asked]) -> Answer:
            return self._ask(*item, start, end, step)

        where, found = f"metrics of {self.url}", dict[int, tuple[Answer, Asked]]()
        order = {id(item): number for number, item in enumerate(todo)}
        failed, in_a_row, last = 0, 0, ""
        for item, answer in side_by_side(ask, todo, SECONDS):
            if isinstance(answer, Answer):
                found[order[id(item)]] = (answer, item[1])
                in_a_row = 0
            elif isinstance(answer, HttpFailed):
                failed, in_a_row, last = failed + 1, in_a_row + 1, str(answer)
                if answer.lost and in_a_row >= _GIVE_UP:
                    self._gone = last
                    break
            else:
                raise answer
        missing = len(todo) - failed - len(found)
        if failed and not found:
            raise SourceError(f"{last}; none of {len(todo)} queries was answered")
        if failed:
            self.note(Unseen(where, f"queries that failed, the last with: {last}", failed))
        if missing:
            why = f"stopped answering: {last}" if in_a_row >= _GIVE_UP else f"over {SECONDS:.0f} s"
            self.note(Unseen(where, f"queries not asked: {why}", missing))
        return self._within_bounds([found[n] for n in sorted(found)], step)

    def _ask(self, metric: str, asked: Asked, start: float, end: float, step: float) -> Answer:
        if self._counts.get(metric, 0) <= _BEHIND:
            try:
                rows = self._api.query_range(asked.promql, start, end, step)
            except TooLarge:
                pass
            else:
                answer = Answer(metric, asked.promql, series_of(metric, asked, rows))
                if len(answer.series.found) <= PER_METRIC * max(1, answer.series.services):
                    return answer
        rows = self._api.query_range(asked.summed, start, end, step)
        return Answer(metric, asked.summed, series_of(metric, asked, rows), joined=True)

    def _within_bounds(
        self, answers: list[tuple[Answer, Asked]], step: float
    ) -> list[tuple[Series, str, float]]:
        where = f"metrics of {self.url}"
        out: list[tuple[Series, str, float]] = []
        over = useless = joined = 0
        for answer, _ in answers:
            useless += answer.series.useless
            joined += answer.joined
            room = max(0, MOST_SERIES - len(out))
            over += max(0, len(answer.series.found) - room)
            out += [(one, answer.promql, step) for one in answer.series.found[:room]]
        if joined:
            why = (
                f"metrics with too many series to keep apart (over {PER_METRIC} a service): joined"
            )
            self.note(Unseen(where, why + " into one a service", joined))
        if over:
            self.note(Unseen(where, f"series over the first {MOST_SERIES:,}", over))
        if useless:
            self.note(Unseen(where, "series without one usable sample (NaN or Inf)", useless))
        return out

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """The range query behind the first series asked for, or which metrics there are."""
        headers = tuple(map(str, self._api.http.headers))
        found = self._matching(window, service, text) if text else []
        if not found:
            at, promql = f"time={window.end:.0f}", 'count by (__name__) ({__name__!=""})'
            words = (f"{self.url}/api/v1/query", "--data-urlencode", f"query={promql}", "-d", at)
            return Command(("curl", "-sG", *words), headers)
        one, promql, step = found[0]
        span = f"start={one.times[0]:.0f}&end={one.times[-1]:.0f}&step={step:g}"
        words = (
            f"{self.url}/api/v1/query_range",
            "--data-urlencode",
            f"query={promql}",
            "-d",
            span,
        )
        return Command(("curl", "-sG", *words), headers)


def _family(metric: str) -> str:
    return metric.removesuffix("_bucket") if metric.endswith("_bucket") else metric


def _span(window: Window) -> str:
    return f"{iso(round(window.start))} and {iso(round(window.end))}"
