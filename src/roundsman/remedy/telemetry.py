"""The metrics that broke, read again from where the investigation read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
import yaml

from roundsman.analysis.symptoms import kinds_of, more_is_better
from roundsman.errors import SourceError
from roundsman.investigate.request import Request
from roundsman.ledger import Store
from roundsman.ledger.view import setup_in
from roundsman.remedy.config import Verifying
from roundsman.remedy.finding import Broken
from roundsman.sources import IncidentFolder, Series, Window
from roundsman.sources.spec import SourceSpec, read_sources

_BEFORE = 600.0
"""Seconds before the onset that are read, too: labels by which series are told apart must have shown."""
_FURTHEST = 3600.0
_PART = 0.1
"""A metric is back when it has come this near to its level before, as a part of the whole way."""
_NOISE = 3.0
_STALE_STEPS, _STEP = 3.0, 15.0
_FRESH_S, _OLDEST_S = 120.0, 1800.0


@dataclass(frozen=True)
class Reading:
    """Series of one metric, when the newest sample of anything came, and whether its service is measured
    at all now: what tells a metric that has no samples any more from a source that is filled no
    more, and from a service that is dead."""

    series: list[Series]
    newest: float
    alive: Callable[[], bool] = lambda: True


class Reads(Protocol):
    """Reads one metric of the last while."""

    def __call__(self, broken: Broken, now: float) -> Reading: ...


@dataclass(frozen=True)
class Look:
    """One look at one metric. `value` is None when nothing new was there; `at` is of the newest sample,
    `step` how far apart its samples are (seconds)."""

    broken: Broken
    at: float
    value: float | None
    back: bool
    step: float = 0.0

    @property
    def text(self) -> str:
        """In words."""
        if self.value is None:
            return f"{self.broken.service} {self.broken.metric}: no new sample"
        said = "back" if self.back else "not back"
        level = limit(self.broken)
        return (
            f"{self.broken.service} {self.broken.metric}: {self.value:.4g}, {said} ({level.text})"
        )


@dataclass(frozen=True)
class Limit:
    """How far a metric may be from its level before; `down`: less is bad."""

    value: float
    down: bool

    @property
    def text(self) -> str:
        """In words."""
        return f"{'at least' if self.down else 'at most'} {self.value:.4g}"

    def holds(self, value: float) -> bool:
        """Whether a value is within it. What is better than before is within it, too."""
        return value >= self.value if self.down else value <= self.value


def limit(broken: Broken) -> Limit:
    """Where a metric counts as back: nine tenths of the way, or within three times its noise before,
    though never less than half of the way."""
    before = broken.before or 0.0
    way = abs(broken.after - before)
    noise = _NOISE * way / broken.far if broken.before is not None and broken.far > 0 else 0.0
    room = max(_PART * way, min(noise, way / 2))
    down = broken.after < before or (broken.before is None and more_is_better(broken.metric))
    return Limit(before - room if down else before + room, down)


def look(reads: Reads, broken: Broken, after: float, now: float) -> Look:
    """What the metric is now, of samples newer than `after` (epoch seconds).

    Errors are looked at as a family: one that comes back as another code is not back. One that had no
    samples before may have none again, as long as something else of its service has: the dead make
    no errors.

    Raises:
        SourceError: the source does not answer.
    """
    reading = reads(broken, now)
    newest = reading.newest
    if newest <= after:
        return Look(broken, newest, None, False)
    current = [
        one for one in reading.series if _of_family(one, broken) and _is_current(one, newest)
    ]
    if not current:
        gone = (broken.before is None or broken.before == 0) and reading.alive()
        return Look(broken, newest, 0.0 if gone else None, gone)
    at = max(float(one.times[-1]) for one in current)
    if at <= after:
        return Look(broken, at, None, False)
    values = [float(one.values[-1]) for one in current]
    value = sum(values)
    step = max(_step(one) for one in current)
    return Look(broken, at, value, limit(broken).holds(value), step)


def _of_family(series: Series, broken: Broken) -> bool:
    if series.service != broken.service:
        return False
    if series.metric == broken.metric:
        return True
    same = series.metric.partition("{")[0] == broken.metric.partition("{")[0]
    return same and "error" in kinds_of(series.metric) and "error" in kinds_of(broken.metric)


def _is_current(series: Series, newest: float) -> bool:
    """Whether it goes on: the last sample of one that ended is no value of now."""
    return float(series.times[-1]) >= newest - _STALE_STEPS * _step(series)


def _step(series: Series) -> float:
    times = series.times[-20:]
    return float(np.median(np.diff(times))) if times.size > 1 else _STEP


def sources_of(store: Store, run_id: str) -> SourceSpec:
    """Where an investigation read its telemetry, also as its folder's `incident.yaml` names it.

    Raises:
        SourceError: that file cannot be read any more.
    """
    spec = Request.from_setup(setup_in(store.records(run_id))).sources
    root = Path(spec.folder)
    file = next((f for n in ("incident.yaml", "incident.yml") if (f := root / n).is_file()), None)
    if not spec.folder or file is None:
        return spec
    try:
        data = yaml.safe_load(file.read_text("utf-8", "replace"))
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise SourceError(f"{file}: {' '.join(str(error).split())[:200]}") from None
    named = data.get("sources") if isinstance(data, dict) else None
    return spec.with_more(read_sources(named, file.name, root))


def reader(spec: SourceSpec) -> Reads:
    """Reads from the folder and the metric servers of an investigation; others hold no metrics.

    Raises:
        SourceError: there is none.
    """
    if not (spec.folder or spec.prometheus):
        raise SourceError(
            "the investigation read no metrics that can be read again; give --prometheus URL"
        )

    def reads(broken: Broken, now: float) -> Reading:
        window = Window(max(broken.onset - _BEFORE, now - _FURTHEST), now)
        readings, failed = list[Reading](), list[SourceError]()
        for read in _readers(spec, broken.service, broken.metric.partition("{")[0]):
            try:
                readings.append(read(window))
            except SourceError as error:
                failed.append(error)
        if not readings:
            raise failed[0]
        series = [one for reading in readings for one in reading.series]
        newest = max(one.newest for one in readings)
        return Reading(series, newest, lambda: any(one.alive() for one in readings))

    return reads


def _readers(spec: SourceSpec, service: str, name: str) -> Iterator[Callable[[Window], Reading]]:
    """Each opens its source anew: a folder is read when it is opened, and a server's window is its
    own."""
    if spec.folder:
        yield lambda window: _from_folder(Path(spec.folder), window, service, name)
    for url in spec.prometheus:
        yield partial(_from_server, url, spec.headers, service, name)


def _from_folder(path: Path, window: Window, service: str, name: str) -> Reading:
    everything = IncidentFolder(path).series(window)
    newest = max((float(one.times[-1]) for one in everything), default=0.0)
    alive = any(one.service == service and _is_current(one, newest) for one in everything)
    named = [one for one in everything if one.metric.partition("{")[0] == name]
    return Reading(named, newest, lambda: alive)


def _from_server(
    url: str, headers: Sequence[str], service: str, name: str, window: Window
) -> Reading:
    from roundsman.sources.headers import parse_header
    from roundsman.sources.prometheus import PrometheusSource

    source = PrometheusSource(url, window, [parse_header(one) for one in headers], only=name)
    extent = source.extent()
    newest = extent.end if extent is not None else 0.0
    return Reading(source.series(window), newest, lambda: source.measured(service))


def state_now(
    reads: Reads, broken: tuple[Broken, ...], verifying: Verifying
) -> tuple[list[Look], str]:
    """How the metrics are now, and why a remedy could not be verified by them; empty when it can.

    Raises:
        SourceError: the source does not answer.
    """
    if not broken:
        return [], "no metric showed the harm, only log lines; no number says whether it helped"
    now = time.time()
    looks = [look(reads, one, now - _FRESH_S, now) for one in broken]
    for n, one in enumerate(looks):
        if one.value is None and now - _OLDEST_S < one.at:  # a metric may be sampled that rarely
            wider = look(reads, one.broken, now - _OLDEST_S, now)
            rarely = wider.step * _STALE_STEPS > now - wider.at
            looks[n] = wider if wider.value is not None and rarely else one
    blind = [one for one in looks if one.value is None]
    if blind:
        old = f"its newest sample is {_age(now - blind[0].at)} old" if blind[0].at else "no sample"
        return looks, (
            f"{blind[0].broken.service} {blind[0].broken.metric} cannot be watched ({old}); give the "
            "live metrics: --prometheus URL"
        )
    slowest = max(looks, key=lambda one: one.step)
    need = verifying.settle + (verifying.looks + 1) * slowest.step
    if need > verifying.within:
        return looks, (
            f"{slowest.broken.service} {slowest.broken.metric} is sampled every {_age(slowest.step)}: "
            f"{verifying.looks} looks do not fit within {verifying.within:g} s; give verify: within"
        )
    if all(one.back for one in looks):
        return (
            looks,
            "every metric that broke is back already; nothing would show whether it helped",
        )
    return looks, ""


def _age(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
