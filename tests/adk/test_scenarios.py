"""The three scripted runs under `baseline` give the figures of the specification, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roundsman.investigate.scenarios import SCENARIOS, run_scenario
from roundsman.ledger import Store
from roundsman.policy import Policy, load_policy
from roundsman.testing import assert_refused


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "runs.sqlite")
    yield opened
    opened.close()


def varied(section: str, **values: Any) -> Policy:
    policy = load_policy("baseline")
    part = getattr(policy, section).model_copy(update=values)
    return policy.model_copy(update={section: part})


def figures(report: dict[str, Any]) -> tuple[int, str, int, int]:
    return (
        report["rounds"],
        report["stop"]["reason"],
        report["usage"]["tokens"],
        len(report["findings"]),
    )


TABLE = {
    "converge": (5, "no_progress", 13_500, 3),
    "runaway-tools": (2, "no_progress", 24_000, 0),
    "endless-findings": (5, "tokens", 30_000, 5),
}


@pytest.mark.parametrize("name", sorted(TABLE))
async def test_baseline_gives_the_table(name: str, store: Store) -> None:
    report = await run_scenario(name, load_policy("baseline"), store)
    assert figures(report) == TABLE[name]
    assert report["scenario"]["model_calls"] * 1_500 == report["usage"]["tokens"]
    store.verify(report["run_id"])


async def test_converge_refuses_the_restart_and_lowers_the_window(store: Store) -> None:
    report = await run_scenario("converge", load_policy("baseline"), store)
    assert report["scenario"]["executed"]["restart_pod"] == 0
    assert_refused(report, "restart_pod", times=1)
    assert max(report["scenario"]["log_windows"]) == 60
    assert [(a["arg"], a["from"], a["to"]) for a in report["amended"]] == [
        ("window_minutes", 240, 60)
    ]


async def test_runaway_is_cut_in_both_rounds(store: Store) -> None:
    report = await run_scenario("runaway-tools", load_policy("baseline"), store)
    assert [c["round"] for c in report["cuts"]] == [1, 2]
    assert report["usage"]["steps"] == 16


@pytest.mark.parametrize(
    ("name", "section", "values", "tokens_per_call", "expected"),
    [
        # converge: rounds 1-4 take two calls, round 5 one (9 calls)
        ("converge", "loop", {"max_rounds": 4}, 1500, (4, "max_rounds", 12_000, 3)),
        ("converge", "loop", {"stop_after_idle_rounds": 1}, 1500, (4, "no_progress", 12_000, 3)),
        ("converge", "loop", {"max_rounds": 7}, 1500, (5, "no_progress", 13_500, 3)),
        ("converge", "loop", {}, 1501, (5, "no_progress", 9 * 1501, 3)),
        # runaway: both rounds are cut at the limit
        ("runaway-tools", "round", {"steps": 7}, 1500, (2, "no_progress", 14 * 1500, 0)),
        ("runaway-tools", "round", {"steps": 9}, 1500, (2, "no_progress", 18 * 1500, 0)),
        ("runaway-tools", "loop", {}, 1499, (2, "no_progress", 16 * 1499, 0)),
        # endless: four calls a round; 20 calls reach 30,000 exactly, 1,499 does not: a sixth round
        # begins, its first call passes the budget and its second is cut; then most rounds is
        # looked at before tokens
        ("endless-findings", "loop", {}, 1501, (5, "tokens", 20 * 1501, 5)),
        ("endless-findings", "loop", {}, 1499, (6, "max_rounds", 21 * 1499, 5)),
        ("endless-findings", "run", {"tokens": 30_001}, 1500, (6, "max_rounds", 31_500, 5)),
        ("endless-findings", "run", {"tokens": 29_999}, 1500, (5, "tokens", 30_000, 5)),
        ("endless-findings", "loop", {"max_rounds": 5}, 1500, (5, "max_rounds", 30_000, 5)),
        ("endless-findings", "loop", {"max_rounds": 4}, 1500, (4, "max_rounds", 24_000, 4)),
    ],
)
async def test_a_limit_moved_by_one_moves_the_figures(
    name: str,
    section: str,
    values: dict[str, Any],
    tokens_per_call: int,
    expected: tuple[int, str, int, int],
    store: Store,
) -> None:
    report = await run_scenario(name, varied(section, **values), store, tokens_per_call)
    assert figures(report) == expected


@pytest.mark.parametrize("name", sorted(SCENARIOS))
async def test_default_never_spends_more_than_baseline(name: str, store: Store) -> None:
    plain = await run_scenario(name, load_policy("baseline"), store)
    default = await run_scenario(name, load_policy("default"), store)
    assert default["usage"]["tokens"] <= plain["usage"]["tokens"]
    assert default["usage"]["tokens"] <= 30_000
    assert default["scenario"]["executed"]["restart_pod"] == 0


async def test_under_default_converge_keeps_its_three_and_endless_findings_end_by_content(
    store: Store,
) -> None:
    kept = await run_scenario("converge", load_policy("default"), store)
    assert len(kept["findings"]) == 3
    assert all(one["grounded"] for one in kept["findings"])
    endless = await run_scenario("endless-findings", load_policy("default"), store)
    assert endless["rounds"] <= 3
    assert endless["stop"]["reason"] == "no_progress"
