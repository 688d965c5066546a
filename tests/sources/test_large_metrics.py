"""Metric files too large to load: the same series, thinned when they must be, and said so."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.errors import SourceError
from roundsman.sources import Series, Unseen
from roundsman.sources import metric_files as files
from roundsman.sources import metric_stream as streamed
from roundsman.sources.metric_files import read_metric_file


def read_both(path: Path) -> list[dict[tuple[str, str], tuple[list[float], list[float]]]]:
    """What loading and what streaming makes of a file; nothing when it cannot be used."""
    out = []
    for limit in (files._IN_MEMORY, -1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "_IN_MEMORY", limit)
            try:
                found = read_metric_file(path)
            except SourceError:
                found = []
        out.append({(s.service, s.metric): samples(s) for s in found})
    return out


def samples(one: Series) -> tuple[list[float], list[float]]:
    pairs = sorted(zip(one.times.tolist(), one.values.tolist(), strict=True))
    return [at for at, _ in pairs], [value for _, value in pairs]


TIMES = st.sampled_from(
    ["1767261600", "1767261600250", "2026-01-01T10:00:00Z", "2026-01-01 12:00:05,5+02:00",
     "2026-01-01 10:00:00", "never", ""]
)  # fmt: skip
CELLS = st.sampled_from(["1", "2.5", "-3", "NaN", "inf", "", "x", "1e3"])
ROWS = st.lists(st.tuples(TIMES, st.sampled_from(["a", "b", ""]), CELLS, CELLS), max_size=12)


@settings(deadline=None, max_examples=12)
@given(ROWS)
def test_streaming_and_loading_a_long_file_agree(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("m") / "m.csv"
    body = "".join(f'"{t}",{s},cpu,{v}\n' for t, s, v, _ in rows)
    path.write_text("timestamp,service,metric,value\n" + body)
    loaded, through = read_both(path)
    assert loaded == through


@settings(deadline=None, max_examples=12)
@given(ROWS)
def test_streaming_and_loading_a_wide_file_agree(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("m") / "m.csv"
    path.write_text("time,a_cpu,b_cpu\n" + "".join(f'"{t}",{v},{w}\n' for t, _, v, w in rows))
    loaded, through = read_both(path)
    assert loaded == through


def test_typed_times_of_parquet_are_streamed(tmp_path: Path) -> None:
    target = tmp_path / "m.parquet"
    duckdb.sql(
        "COPY (SELECT TIMESTAMP '2026-01-01 10:00:00' + to_seconds(range) AS timestamp, "
        f"'api' AS service, 'errors' AS metric, range AS value FROM range(50)) TO '{target}'"
    )
    loaded, through = read_both(target)
    assert loaded == through
    assert loaded[("api", "errors")][1] == list(range(50))


@pytest.mark.parametrize("limit", [files._IN_MEMORY, -1])
def test_samples_that_cannot_be_used_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(files, "_IN_MEMORY", limit)
    unseen: list[Unseen] = []
    long = tmp_path / "long.csv"
    long.write_text(
        "timestamp,service,metric,value\n1767261600,a,cpu,NaN\n1767261660,a,cpu,1\n"
        "1767261720,a,cpu,n/a\nnever,a,cpu,2\n"
    )
    read_metric_file(long, unseen.append)
    wide = tmp_path / "wide.csv"
    wide.write_text("time,a_cpu,b_cpu\n1767261600,NaN,\n1767261660,1,2\n")
    read_metric_file(wide, unseen.append)
    assert unseen == [
        Unseen("long.csv", files.UNUSABLE, 3),
        Unseen("wide.csv", files.UNUSABLE, 1),  # an empty cell is a gap
    ]


def test_more_samples_than_fit_are_averaged_over_a_step_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_IN_MEMORY", -1)
    monkeypatch.setattr(streamed, "MOST_POINTS", 500)
    path = tmp_path / "m.csv"
    rows = [f"{1767261600 + n},{s},cpu,{n % 2}\n" for n in range(6000) for s in ("a", "b")]
    path.write_text("timestamp,service,metric,value\n" + "".join(rows))
    unseen: list[Unseen] = []
    one, _ = read_metric_file(path, unseen.append)
    assert np.all(np.diff(one.times) == 30)
    assert np.all(one.values == 0.5)
    assert unseen == [
        Unseen("m.csv", "samples averaged over 30 s each: more than 500 in one file", 12_000)
    ]
