"""Several workers on one queue, killed in the middle of what they do."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from crew import SILENCE, Crew, check
from journals import Journal

from roundsman.worker import Queue
from roundsman.worker.daylimit import admit, set_limit

pytest.importorskip("dbos", reason="the extra worker is not installed")


@pytest.fixture
def crew(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crew]:
    for name, value in journal.env.items():
        monkeypatch.setenv(name, value)
    made = Crew(journal)
    yield made
    made.end()


@pytest.mark.slow
def test_killed_workers_lose_nothing_and_nothing_is_done_twice(crew: Crew) -> None:
    asked, crew.together = crew.submit(6), 2
    crew.work(2, 12, 2, "--at-once", "3", "--per-worker", "2")
    assert len(crew.killed) == 2
    assert any(line.startswith("took over") for line in crew.said)
    for _ in range(3):
        if not crew.answer():
            break
        crew.work(1, 10**9, 0)
    check(crew, asked)
    assert 1 < crew.at_once() <= 3


@pytest.mark.slow
def test_workers_that_look_at_once_do_not_take_more_than_all_may(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREW_MEETS", "1")
    asked, crew.together = crew.submit(6), 3
    crew.work(2, 10**9, 0, "--at-once", "3", "--per-worker", "2")
    assert (crew.home / "counted").exists()
    check(crew, asked)
    assert crew.at_once() == 3


@pytest.mark.slow
@pytest.mark.parametrize("journal", ["file"], indirect=True)
def test_a_worker_that_is_asked_to_end_leaves_what_waits_to_another(crew: Crew) -> None:
    """SIGTERM while a job waits for tokens of another day: it ends, and the job is still there."""
    store = crew.journal.open()
    set_limit(store, 40_000)
    assert admit(store, "another", 20_000)
    store.db.execute("insert into spent select 'tomorrow', day+1, tokens from spent")
    (run_id,) = crew.submit(1)
    first = crew.start()
    while not (crew.lines.get(timeout=SILENCE)[1] or "").startswith(f"waits {run_id}"):
        pass
    crew.running[first].send_signal(signal.SIGTERM)
    while crew.lines.get(timeout=SILENCE)[1] is not None:
        pass
    assert crew.running.pop(first).returncode == 0
    with Queue() as waiting:
        assert [job.status for job in waiting.jobs(open_only=True)] == ["running"]
    set_limit(store, None)
    crew.work(1, 10**9, 0)
    assert any(line.startswith(f"took over {run_id}") for line in crew.said)
    assert store.info(run_id).status == "done"
    store.close()
