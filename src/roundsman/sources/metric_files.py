"""Metric files of an incident folder, read with DuckDB: CSV or parquet, long or wide."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np

from roundsman.errors import SourceError
from roundsman.sources.protocols import Floats, Series, Unseen
from roundsman.sources.times import parse_time

_TIME = ("timestamp", "time", "ts", "datetime", "date", "at", "_time", "@timestamp", "epoch")
_METRIC = ("metric", "metric_name", "name", "kpi_name", "kpi", "measurement")
_SERVICE = ("service", "service_name", "cmdb_id", "component", "app", "pod", "podname", "instance")
_VALUE = ("value", "val", "avg", "mean")
_SEPARATORS = (":", "/", "|", ".")
#: names of files that hold everybody's series
_GENERAL = ("metric", "data", "series", "telemetry", "timeseries", "export", "all", "kpi", "wide")
_ENDINGS = (".csv.gz", ".csv", ".parquet")
#: larger files (bytes; packed ones are taken to be `_PACKED` times their size) are not loaded whole
_IN_MEMORY = 32 * 1024 * 1024
_PACKED = 8
UNUSABLE = "samples without a readable time or a finite number"
_NAMED = 5

Report = Callable[[Unseen], None]


def _pick(columns: list[str], wanted: tuple[str, ...]) -> str | None:
    lower = {column.strip().lower(): column for column in reversed(columns)}
    return next((lower[name] for name in wanted if name in lower), None)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _times(raw: list[Any]) -> Floats:
    known: dict[Any, float] = {}
    out = np.empty(len(raw), dtype=np.float64)
    for index, value in enumerate(raw):
        if value not in known:
            at = parse_time(value)
            known[value] = np.nan if at is None else at
        out[index] = known[value]
    return out


def _column(rows: dict[str, Any], name: str) -> list[Any]:
    return list(rows[name].tolist() if hasattr(rows[name], "tolist") else rows[name])


def _ordered(service: str, metric: str, times: Floats, values: Floats) -> Series | None:
    good = np.isfinite(times) & np.isfinite(values)
    if not good.any():
        return None
    times, values = times[good], values[good]
    order = np.argsort(times, kind="stable")
    return Series(service, metric, times[order], values[order])


_STATISTIC = re.compile(
    r"^(p\d+|q\d+|\d+|avg|mean|median|max|min|sum|count|rate|total|std(dev)?|last)$", re.IGNORECASE
)


def stem_of(path: Path) -> str:
    """A metric file's name without its ending; a dot in it is part of the name."""
    ending = next((one for one in _ENDINGS if path.name.lower().endswith(one)), path.suffix)
    return path.name[: len(path.name) - len(ending)] if ending else path.name


def _shared(columns: list[str], mark: str) -> set[str]:
    """What stands before the mark in columns that share what stands behind it with others."""
    prefixes: dict[str, set[str]] = {}
    for column in columns:
        head, _, tail = column.partition(mark)
        prefixes.setdefault(tail, set()).add(head)
    return {head for tail, heads in prefixes.items() if tail and len(heads) > 1 for head in heads}


def _counted(columns: list[str], heads: set[str]) -> set[str]:
    """What stands before the dot in columns where that only sets off a statistic (`a_latency.p95`): behind
    it are nothing but statistics, and the prefix before the underscore has other endings, too."""
    behind: dict[str, set[str]] = {}
    endings: dict[str, set[str]] = {}
    for column in columns:
        base, _, statistic = column.partition(".")
        behind.setdefault(base, set()).add(statistic)
        head, _, tail = base.partition("_")
        endings.setdefault(head, set()).add(tail)
    return {
        base
        for base, found in behind.items()
        if len(endings[base.partition("_")[0]]) > 1
        and base.partition("_")[0] in heads
        and all(not one or _STATISTIC.match(one) for one in found)
    }


def split_names(columns: list[str], file_stem: str) -> dict[str, tuple[str, str]]:
    """(service, metric) of each column of a wide file.

    A colon, slash or bar decides when there is one. An underscore does only when several prefixes share
    their endings (`a_cpu, a_mem, b_cpu, b_mem`), and so does a dot in a file that is named after
    something: metrics are named with dots, too (`process.cpu.time`). Else the file's name is the service.
    """
    out: dict[str, tuple[str, str]] = {}
    default = "" if file_stem.lower().startswith(_GENERAL) else file_stem
    heads, dotted = _shared(columns, "_"), _shared(columns, ".")
    counted = _counted(columns, heads)
    for column in columns:
        mark = next((s for s in _SEPARATORS if s in column.strip(s) and "{" not in column), None)
        if mark == "." and default and column.partition(".")[0] not in dotted:
            mark = None
        if mark == "." and column.partition(".")[0] in counted:
            service, _, metric = column.partition("_")
            out[column] = (service, metric)
            continue
        head, _, tail = column.partition("_")
        if mark:
            service, _, metric = column.partition(mark)
            out[column] = (service, metric)
        elif tail and head in heads and "." not in column:
            out[column] = (head, tail)
        else:
            out[column] = (default, column)
    return out


class Shape(NamedTuple):
    """How a file holds its series: the columns, and `value` empty for one column a series."""

    time: str
    service: str
    metric: str
    value: str
    columns: list[str]


def reader_of(path: Path) -> str:
    """The table function that reads the file; its name is the only parameter."""
    if ".csv" not in path.name.lower():
        return "read_parquet(?)"
    return "read_csv(?, all_varchar=true, header=true, ignore_errors=true, null_padding=true)"


def shape_of(connection: Any, path: Path) -> Shape:
    """The columns of a file by their names; SourceError when there is none for the time."""
    head = connection.execute(f"SELECT * FROM {reader_of(path)} LIMIT 0", [str(path)])
    columns = [str(column[0]) for column in head.description or []]
    time = _pick(columns, _TIME)
    if time is None:
        seen = ", ".join(columns[:6])
        raise SourceError(f"{path.name}: no time column (timestamp) among {seen}")
    names = [c for c in columns if c != time]
    metric, value = _pick(names, _METRIC), _pick(names, _VALUE)
    service = _pick(names, _SERVICE) or ""
    if metric and value:
        return Shape(time, service, metric, value, [])
    wide = [name for name in names if name != service]
    if not wide:
        raise SourceError(f"{path.name}: no value column beside {time}")
    return Shape(time, service, "", "", wide)


def read_metric_file(path: Path, report: Report | None = None) -> list[Series]:
    """All series of one CSV or parquet file; a large one may be thinned (see metric_stream).

    `report` hears how many samples could not be used. Raises SourceError, one line naming the file,
    when it cannot be read as metrics.
    """
    size = path.stat().st_size
    if size == 0:
        raise SourceError(f"{path.name}: empty file, expected timestamp,service,metric,value")
    packed = path.suffix.lower() in (".gz", ".parquet")
    with tempfile.TemporaryDirectory(prefix="roundsman-") as spill:
        config = {"memory_limit": "256MB", "threads": "2", "temp_directory": spill}
        connection = duckdb.connect(":memory:", config=config)
        try:
            connection.execute("SET enable_progress_bar = false")  # it would go to the output
            shape = shape_of(connection, path)
            if size * (_PACKED if packed else 1) > _IN_MEMORY:
                from roundsman.sources.metric_stream import stream

                return stream(connection, path, shape, report)
            return _load(connection, path, shape, report)
        except (duckdb.Error, UnicodeDecodeError) as error:
            first = str(error).strip().splitlines()[0][:160]
            raise SourceError(f"{path.name}: cannot be read as metrics: {first}") from None
        finally:
            connection.close()


def _load(connection: Any, path: Path, shape: Shape, report: Report | None) -> list[Series]:
    series, dropped, lost = (_long if shape.value else _wide)(connection, path, shape)
    if not series:
        what = f"a number in {shape.value}" if shape.value else "numbers beside it"
        raise SourceError(f"{path.name}: no row with a readable time in {shape.time} and {what}")
    if report:
        say_dropped(path, dropped, lost, report)
    return series


def say_dropped(path: Path, dropped: int, lost: list[str], report: Report) -> None:
    """Count the samples that could not be used, and name the series of which none could."""
    if dropped:
        report(Unseen(path.name, UNUSABLE, dropped))
    if lost:
        more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        names = ", ".join(lost[:_NAMED]) + more
        report(Unseen(path.name, f"series without one usable sample: {names}", len(lost)))


def _long(connection: Any, path: Path, shape: Shape) -> tuple[list[Series], int, list[str]]:
    who = f"CAST({quote(shape.service)} AS VARCHAR)" if shape.service else "''"
    value = f"TRY_CAST({quote(shape.value)} AS DOUBLE)"
    rows = connection.execute(
        f"SELECT {quote(shape.time)} AS t, {who} AS s, CAST({quote(shape.metric)} AS VARCHAR) AS m,"
        f" coalesce({value}, 'nan'::DOUBLE) AS v FROM {reader_of(path)} ORDER BY s, m",
        [str(path)],
    ).fetchnumpy()
    times = _times(_column(rows, "t"))
    values = np.asarray(rows["v"], dtype=np.float64)
    labels = list(zip(_column(rows, "s"), _column(rows, "m"), strict=True))
    out: list[Series] = []
    lost: list[str] = []
    begin = 0
    for index in range(1, len(labels) + 1):
        if index == len(labels) or labels[index] != labels[begin]:
            name = labels[begin]
            part = slice(begin, index)
            one = _ordered(str(name[0] or ""), str(name[1] or ""), times[part], values[part])
            out += [one] if one else []
            lost += [] if one else [f"{name[0] or ''} {name[1] or ''}".strip()]
            begin = index
    return out, len(labels) - sum(one.times.size for one in out), lost


def _wide(connection: Any, path: Path, shape: Shape) -> tuple[list[Series], int, list[str]]:
    labels = split_names(shape.columns, stem_of(path))
    who = f"CAST({quote(shape.service)} AS VARCHAR)" if shape.service else "''"
    picked = ", ".join(
        f"TRY_CAST({quote(c)} AS DOUBLE) AS c{i}, "
        f"coalesce(trim(CAST({quote(c)} AS VARCHAR)), '') != '' AS n{i}"
        for i, c in enumerate(labels)
    )
    rows = connection.execute(
        f"SELECT {quote(shape.time)} AS t, {who} AS s, {picked} FROM {reader_of(path)}",
        [str(path)],
    ).fetchnumpy()
    times = _times(_column(rows, "t"))
    owners = np.asarray([str(name or "") for name in _column(rows, "s")], dtype=object)
    out: list[Series] = []
    lost: list[str] = []
    written = 0  # an empty cell is a gap, not a sample that was lost
    for index, (owner, metric) in enumerate(labels.values()):
        masked = np.ma.masked_invalid(np.ma.asarray(rows[f"c{index}"], dtype=np.float64))
        values = np.asarray(masked.filled(np.nan), dtype=np.float64)
        filled = int(np.sum(rows[f"n{index}"]))
        written += filled
        usable = sum(one.times.size for one in out)
        for row_owner in sorted(set(owners.tolist())):
            mine = owners == row_owner
            one = _ordered(row_owner or owner, metric, times[mine], values[mine])
            out += [one] if one else []
        if filled and usable == sum(one.times.size for one in out):
            lost.append(f"{owner} {metric}".strip())
    return out, written - sum(one.times.size for one in out), lost
