"""One case a construct, through the engine's own runner: guarded, and with the guard removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from matrix_agents import AGENTS
from matrix_lab import Case, broken, incomplete, run_case
from matrix_runs import RUNS
from matrix_servers import SERVERS
from matrix_workflows import WORKFLOWS

from roundsman.adk.constructs import CONSTRUCTS, Handling
from roundsman.errors import RefusedToStart
from roundsman.ledger import Store

CASES: dict[str, Case] = {**AGENTS, **WORKFLOWS, **RUNS, **SERVERS}
REFUSED = {k: c for k, c in CASES.items() if CONSTRUCTS[k].handling is Handling.REFUSED}
BOUNDED = {k: c for k, c in CASES.items() if k not in REFUSED}


def test_every_construct_has_a_case_and_every_case_a_construct() -> None:
    assert set(CASES) == set(CONSTRUCTS)


@pytest.mark.parametrize("key", BOUNDED)
async def test_bounded(key: str, tmp_path: Path) -> None:
    case, store = CASES[key], Store(tmp_path / "runs.sqlite")
    run = await run_case(case, store)
    store.close()
    assert run.error is None
    assert broken(run, case) == set()
    assert incomplete(run) == []
    stopped = run.account.stopped
    assert stopped is not None
    assert stopped.reason == (case.stop or "done"), stopped
    assert run.account.ended
    if case.shares is not None:
        assert set(run.account.shares) == case.shares


@pytest.mark.parametrize("key", CASES)
async def test_without_the_guard_it_breaks(key: str) -> None:
    case = CASES[key]
    run = await run_case(case, None)
    assert broken(run, case) == case.checks


@pytest.mark.parametrize("key", REFUSED)
async def test_refused(key: str, tmp_path: Path) -> None:
    case, store = CASES[key], Store(tmp_path / "runs.sqlite")
    with pytest.raises(RefusedToStart, match=case.path):
        await run_case(case, store)
    assert store.runs() == []
    store.close()
