"""Metric files too large to load: DuckDB streams them, and thins them when it must.

Up to `MOST_POINTS` samples come as they are. More are averaged over equal steps of time, the same for
all series of the file, and the report says over how many seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from roundsman.errors import SourceError
from roundsman.sources.metric_files import (
    Report,
    Shape,
    quote,
    reader_of,
    say_dropped,
    split_names,
    stem_of,
)
from roundsman.sources.protocols import Floats, Series, Unseen
from roundsman.sources.times import LATEST

#: samples of one file that are kept in memory, 24 bytes each
MOST_POINTS = 2_000_000
_MOST_SERIES = 100_000
_STEPS = (1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400)


def stream(connection: Any, path: Path, shape: Shape, report: Report | None) -> list[Series]:
    """All series of a file, thinned when there are more than `MOST_POINTS` samples.

    Times may be epoch numbers or ISO 8601. Raises SourceError when no sample can be used.
    """
    connection.execute("SET TimeZone = 'UTC'")
    source = _rows(path, shape)
    good = f"t IS NOT NULL AND t < {LATEST} AND isfinite(v)"
    connection.execute(
        "CREATE TEMP TABLE known AS SELECT row_number() OVER (ORDER BY s, m) AS id, * FROM ("
        f"SELECT s, m, count(*) FILTER ({good}) AS n, min(t) FILTER ({good}) AS a, "
        f"max(t) FILTER ({good}) AS b, count(*) AS everything FROM ({source}) GROUP BY s, m)",
        [str(path)],
    )
    series, samples, first, last, everything = connection.execute(
        "SELECT count(*) FILTER (n > 0), sum(n), min(a), max(b), sum(everything) FROM known"
    ).fetchone()
    if not samples:
        raise SourceError(f"{path.name}: no row with a readable time in {shape.time} and a number")
    if series > _MOST_SERIES:
        raise SourceError(f"{path.name}: {series:,} series, more than {_MOST_SERIES:,}; split it")
    if report:
        none = connection.execute("SELECT trim(s || ' ' || m) FROM known WHERE n = 0 ORDER BY 1")
        say_dropped(path, int(everything - samples), [name for (name,) in none.fetchall()], report)
    at, value, group = "t", "v", ""
    if samples > MOST_POINTS:
        wide = (last - first) * series
        step = next((s for s in _STEPS if wide / s <= MOST_POINTS), _STEPS[-1])
        at, value, group = f"floor(t / {step}) * {step}", "avg(v)", "GROUP BY ALL"
        if report:
            why = f"samples averaged over {step} s each: more than {MOST_POINTS:,} in one file"
            report(Unseen(path.name, why, int(samples)))
    rows = connection.execute(
        f"SELECT known.id AS id, {at} AS t, {value} AS v FROM ({source}) AS r JOIN known "
        f"ON known.s = r.s AND known.m = r.m WHERE r.t IS NOT NULL AND r.t < {LATEST} "
        f"AND isfinite(r.v) {group} "
        "ORDER BY 1, 2",
        [str(path)],
    ).fetchnumpy()
    names = connection.execute("SELECT id, s, m FROM known").fetchall()
    return _series(rows, {key: (s, m) for key, s, m in names}, path, shape)


def _rows(path: Path, shape: Shape) -> str:
    """The file as t (epoch seconds), s, m, v (DOUBLE), one row a sample."""
    raw, text = quote(shape.time), f"CAST({quote(shape.time)} AS VARCHAR)"
    number = f"TRY_CAST({text} AS DOUBLE)"
    scale = f"CASE WHEN {number} < 1e11 THEN 1 WHEN {number} < 1e14 THEN 1e3 "
    scale += f"WHEN {number} < 1e17 THEN 1e6 ELSE 1e9 END"
    stamp = f"epoch(TRY_CAST(replace({text}, ',', '.') AS TIMESTAMPTZ))"
    at = f"CASE WHEN {number} > 0 THEN {number} / {scale} ELSE {stamp} END AS t"
    who = f"coalesce(CAST({quote(shape.service)} AS VARCHAR), '')" if shape.service else "''"
    if shape.value:
        return (
            f"SELECT {at}, {who} AS s, coalesce(CAST({quote(shape.metric)} AS VARCHAR), '') AS m, "
            f"coalesce(TRY_CAST({quote(shape.value)} AS DOUBLE), 'nan'::DOUBLE) AS v "
            f"FROM {reader_of(path)}"
        )
    owner = f", {quote(shape.service)}" if shape.service else ""
    cells = ", ".join(f"CAST({quote(c)} AS VARCHAR) AS {quote(c)}" for c in shape.columns)
    wide = f"SELECT {raw}{owner}, {cells} FROM {reader_of(path)}"
    on = ", ".join(quote(c) for c in shape.columns)
    return (
        f"SELECT {at}, {who} AS s, _name AS m, coalesce(TRY_CAST(_cell AS DOUBLE), 'nan'::DOUBLE) AS v "
        f"FROM (UNPIVOT ({wide}) ON {on} INTO NAME _name VALUE _cell) WHERE trim(_cell) != ''"
    )


def _series(rows: Any, names: dict[int, tuple[str, str]], path: Path, shape: Shape) -> list[Series]:
    ids = np.asarray(rows["id"])
    times: Floats = np.asarray(rows["t"], dtype=np.float64)
    values: Floats = np.asarray(rows["v"], dtype=np.float64)
    labels = split_names(shape.columns, stem_of(path))
    edges = np.flatnonzero(np.diff(ids)) + 1
    out = []
    for part in np.split(np.arange(ids.size), edges):
        owner, metric = names[int(ids[part[0]])]
        service, metric = (owner, metric) if shape.value else labels[metric]
        span = slice(int(part[0]), int(part[-1]) + 1)
        # one sample a moment may be written twice; order is all that is needed
        out.append(Series(owner or service, metric, times[span], values[span]))
    return out
