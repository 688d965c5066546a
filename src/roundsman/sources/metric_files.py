"""Metric files of an incident folder, read with DuckDB: CSV or parquet, long or wide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from roundsman.errors import SourceError
from roundsman.sources.protocols import Floats, Series
from roundsman.sources.times import parse_time

_TIME = ("timestamp", "time", "ts", "datetime", "date", "at", "_time", "@timestamp", "epoch")
_METRIC = ("metric", "metric_name", "name", "kpi_name", "kpi", "measurement")
_SERVICE = ("service", "service_name", "cmdb_id", "component", "app", "pod", "podname", "instance")
_VALUE = ("value", "val", "avg", "mean")
_SEPARATORS = (":", "/", "|", ".")


def _pick(columns: list[str], wanted: tuple[str, ...]) -> str | None:
    lower = {column.strip().lower(): column for column in reversed(columns)}
    return next((lower[name] for name in wanted if name in lower), None)


def _quote(name: str) -> str:
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


def split_names(columns: list[str], file_stem: str) -> dict[str, tuple[str, str]]:
    """(service, metric) of each column of a wide file.

    A separator decides when there is one. An underscore does only when several prefixes share their
    endings (`a_cpu, a_mem, b_cpu, b_mem`); else the file's name is the service.
    """
    out: dict[str, tuple[str, str]] = {}
    prefixes: dict[str, set[str]] = {}
    for column in columns:
        head, _, tail = column.partition("_")
        prefixes.setdefault(tail, set()).add(head)
    shared = {tail for tail, heads in prefixes.items() if tail and len(heads) > 1}
    heads = {head for tail in shared for head in prefixes[tail]}
    default = "" if file_stem.lower().startswith(("metric", "data", "series")) else file_stem
    for column in columns:
        mark = next((s for s in _SEPARATORS if s in column.strip(s) and "{" not in column), None)
        head, _, tail = column.partition("_")
        if mark:
            service, _, metric = column.partition(mark)
            out[column] = (service, metric)
        elif tail and head in heads:
            out[column] = (head, tail)
        else:
            out[column] = (default, column)
    return out


def read_metric_file(path: Path) -> list[Series]:
    """All series of one CSV or parquet file.

    Raises SourceError, one line naming the file, when it cannot be read as metrics.
    """
    if path.stat().st_size == 0:
        raise SourceError(f"{path.name}: empty file, expected timestamp,service,metric,value")
    reader = "read_parquet(?)"
    if ".csv" in path.name.lower():
        reader = "read_csv(?, all_varchar=true, header=true, ignore_errors=true, null_padding=true)"
    connection = duckdb.connect(":memory:", config={"memory_limit": "512MB", "threads": "2"})
    try:
        relation = connection.execute(f"SELECT * FROM {reader} LIMIT 0", [str(path)])
        columns = [str(column[0]) for column in relation.description or []]
        time = _pick(columns, _TIME)
        if time is None:
            seen = ", ".join(columns[:6])
            raise SourceError(f"{path.name}: no time column (timestamp) among {seen}")
        names = [c for c in columns if c != time]
        metric, value = _pick(names, _METRIC), _pick(names, _VALUE)
        service = _pick(names, _SERVICE)
        if metric and value:
            return _long(connection, reader, path, time, service, metric, value)
        return _wide(connection, reader, path, time, service, names)
    except (duckdb.Error, UnicodeDecodeError) as error:
        first = str(error).strip().splitlines()[0][:160]
        raise SourceError(f"{path.name}: cannot be read as metrics: {first}") from None
    finally:
        connection.close()


def _long(
    connection: Any,
    reader: str,
    path: Path,
    time: str,
    service: str | None,
    metric: str,
    value: str,
) -> list[Series]:
    who = f"CAST({_quote(service)} AS VARCHAR)" if service else "''"
    rows = connection.execute(
        f"SELECT {_quote(time)} AS t, {who} AS s, CAST({_quote(metric)} AS VARCHAR) AS m, "
        f"TRY_CAST({_quote(value)} AS DOUBLE) AS v FROM {reader} "
        f"WHERE TRY_CAST({_quote(value)} AS DOUBLE) IS NOT NULL ORDER BY s, m",
        [str(path)],
    ).fetchnumpy()
    times = _times(_column(rows, "t"))
    values = np.asarray(rows["v"], dtype=np.float64)
    labels = list(zip(_column(rows, "s"), _column(rows, "m"), strict=True))
    out: list[Series] = []
    begin = 0
    for index in range(1, len(labels) + 1):
        if index == len(labels) or labels[index] != labels[begin]:
            name = labels[begin]
            part = slice(begin, index)
            one = _ordered(str(name[0] or ""), str(name[1] or ""), times[part], values[part])
            out += [one] if one else []
            begin = index
    if not out:
        raise SourceError(f"{path.name}: no row with a readable time and a number in {value}")
    return out


def _wide(
    connection: Any, reader: str, path: Path, time: str, service: str | None, names: list[str]
) -> list[Series]:
    labels = split_names([n for n in names if n != service], path.name.split(".")[0])
    if not labels:
        raise SourceError(f"{path.name}: no value column beside {time}")
    who = f"CAST({_quote(service)} AS VARCHAR)" if service else "''"
    picked = ", ".join(f"TRY_CAST({_quote(c)} AS DOUBLE) AS c{i}" for i, c in enumerate(labels))
    rows = connection.execute(
        f"SELECT {_quote(time)} AS t, {who} AS s, {picked} FROM {reader}", [str(path)]
    ).fetchnumpy()
    times = _times(_column(rows, "t"))
    owners = np.asarray([str(name or "") for name in _column(rows, "s")], dtype=object)
    out: list[Series] = []
    for index, (owner, metric) in enumerate(labels.values()):
        masked = np.ma.masked_invalid(np.ma.asarray(rows[f"c{index}"], dtype=np.float64))
        values = np.asarray(masked.filled(np.nan), dtype=np.float64)
        for row_owner in sorted(set(owners.tolist())):
            mine = owners == row_owner
            one = _ordered(row_owner or owner, metric, times[mine], values[mine])
            out += [one] if one else []
    if not out:
        raise SourceError(f"{path.name}: no readable times in {time} or no numbers beside it")
    return out
