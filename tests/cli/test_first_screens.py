"""Telemetry as it really comes: what the first screen of the command says of it, and what stands below."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.sources.conftest import Asked, serve  # noqa: F401
from tests.sources.test_prometheus import Store, flat

from roundsman.cli import cli
from roundsman.investigate import metric_tool
from roundsman.sources.times import iso, parse_time

ROOT = Path(__file__).parents[2]
SLOTS = ROOT / "examples" / "incidents" / "connection-slots"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path / "home"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SLOTS, tmp_path / "incident"))


def screens(*args: object) -> tuple[str, str]:
    """The first screen, and all below its line; wrapped lines joined."""
    done = CliRunner().invoke(cli, ["investigate", *map(str, args)])
    assert done.exit_code == 0, done.output
    first, _, below = done.stdout.partition("\n──")
    return " ".join(first.split()), " ".join(below.split())


def rewrite(folder: Path, pattern: str, change: Callable[[str], str]) -> None:
    files = list(folder.glob(pattern))
    assert files
    for file in files:
        file.write_text(change(file.read_text()))


def test_as_it_is_the_change_is_named_and_nothing_is_missing(folder: Path) -> None:
    first, below = screens(folder)
    assert first.startswith("CAUSE")
    assert "POOL_SIZE from 4 to 20" in first
    assert "Caution" not in first
    assert "Not seen" not in below


def test_clocks_an_hour_apart(folder: Path) -> None:
    def later(text: str) -> str:
        rows = [json.loads(line) for line in text.splitlines()]
        for row in rows:
            row["ts"] = iso((parse_time(row["ts"]) or 0) + 3600)
        return "".join(json.dumps(row) + "\n" for row in rows)

    rewrite(folder, "logs/*.ndjson", later)
    for log in (folder / "logs").glob("*.log"):
        log.unlink()
    first, below = screens(folder)
    assert "Caution clocks differ: logs are 1 h ahead of metrics" in first
    assert "times were not corrected" in first
    assert "confidence high" not in first
    assert "one clock for logs and metrics" in below


def test_metrics_that_stop(folder: Path) -> None:
    def cut(text: str) -> str:
        head, *rows = text.splitlines()
        return "\n".join([head, *(row for row in rows if row < "2026-11-30T08:57:45")]) + "\n"

    rewrite(folder, "metrics/*.csv", cut)
    first, below = screens(folder)
    assert first.startswith("CAUSE")
    assert "no series has a sample there" in below


def test_an_alert_that_names_the_victim(folder: Path) -> None:
    alert = json.loads((folder / "alert.json").read_text())
    text = re.sub(r"ticket-api", "box-office", json.dumps(alert))
    (folder / "alert.json").write_text(text)
    first, _ = screens(folder)
    assert "ticket-api" in first.partition("Since")[0]
    assert "POOL_SIZE from 4 to 20" in first


def test_a_service_written_in_two_ways(folder: Path) -> None:
    rewrite(folder, "metrics/http*.csv", lambda text: text.replace(",ticket-api,", ",Ticket-API,"))
    first, _ = screens(folder)
    assert first.startswith("CAUSE")
    affected = first.partition("Also affected")[2].partition("Because")[0]
    assert "ticket-api" not in affected.lower()


def test_a_window_without_data(folder: Path) -> None:
    window = "{start: 2026-11-29T08:00:00Z, end: 2026-11-29T09:00:00Z}"
    (folder / "incident.yaml").write_text(f"window: {window}\n")
    first, below = screens(folder)
    assert first.startswith("No cause found")
    assert "there is no metric and no log line in what was looked at" in first
    assert "all of it outside the window that was given" in below


def test_far_too_many_series(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_tool, "_MOST_FITTED", 20)
    first, below = screens(folder)
    assert first.startswith("CAUSE")
    assert re.search(r"series of one question \(\d+×\): only looked over; the 20", below)


def test_a_backend_that_dies_half_way(folder: Path, serve: Callable[..., object]) -> None:  # noqa: F811
    names = [f"m{n:02}" for n in range(40)]
    store = Store({name: flat({"service": "ticket-api"}) for name in names})
    answered: list[Asked] = []

    def fails(asked: Asked) -> object:
        answered.append(asked)
        return (503, b"") if len(answered) > 12 else None

    store.fails = fails
    stub = serve(store)
    first, below = screens(folder, "--prometheus", stub.url)  # type: ignore[attr-defined]
    assert first.startswith("CAUSE")
    assert "queries not asked" in below
    assert stub.url in below  # type: ignore[attr-defined]
