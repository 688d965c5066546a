"""A report at every stop: whatever breaks, what the journal holds is saved and shown."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from roundsman.errors import LedgerError, UsageError
from roundsman.investigate import investigate
from roundsman.ledger import Store
from roundsman.policy import load_policy

OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"
POLICY = load_policy("default")


def breaks(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(
    ("function", "part", "left"),
    [
        ("timeline", "timeline", {"timeline": []}),
        ("charts", "charts", {"charts": []}),
        ("_verdict", "verdict", {"alternatives": []}),
    ],
)
def test_a_part_that_breaks_is_named_and_costs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, part: str, left: dict[str, Any]
) -> None:
    monkeypatch.setattr(f"roundsman.investigate.run.{function}", breaks)
    store = Store(tmp_path / "s.sqlite")
    report, _ = investigate(OUTAGE, POLICY, store=store)
    assert {key: report[key] for key in left} == left
    assert report["findings"]
    assert any(
        part in one["what"] and "ZeroDivisionError" in one["why"] for one in report["unseen"]
    )
    assert (report["cause"]["abstained"]) == (part == "verdict")
    assert store.report(report["run_id"]) == report


def test_the_first_report_is_saved_before_anything_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("roundsman.investigate.run._verdict", killed)
    store = Store(tmp_path / "s.sqlite")
    with pytest.raises(KeyboardInterrupt):
        investigate(OUTAGE, POLICY, store=store)
    (info,) = store.runs()
    saved = store.report(info.run_id)
    assert saved is not None
    assert saved["findings"]
    assert saved["cause"]["abstained"]


def test_a_report_that_cannot_be_saved_is_still_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "s.sqlite")

    def full(*_: Any) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(store, "save_report", full)
    report, _ = investigate(OUTAGE, POLICY, store=store)
    assert not report["cause"]["abstained"]
    assert any(one["why"] == "the disk is full" for one in report["unseen"])


def test_whatever_leaves_a_run_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def leaves(*_: Any) -> None:
        raise SystemExit(7)

    monkeypatch.setattr("roundsman.investigate.run.execute", leaves)
    store = Store(tmp_path / "s.sqlite")
    with pytest.raises(SystemExit):
        investigate(OUTAGE, POLICY, store=store)
    assert [one.status for one in store.runs()] == ["stopped"]


def test_inside_a_running_loop_it_refuses_before_it_begins(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")

    async def go() -> None:
        investigate(OUTAGE, POLICY, store=store)

    with pytest.raises(UsageError, match=r"asyncio\.to_thread"):
        asyncio.run(go())
    assert store.runs() == []
