"""What a run that is taken up again must find unchanged."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import roundsman.investigate.run as investigation
from roundsman import load_policy
from roundsman.errors import LeaseHeld, LedgerError, SetupChanged, SourceError
from roundsman.investigate.resume import resume
from roundsman.ledger import LiveRun, Store

INCIDENT = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"


class _Dies(BaseException):
    """The process ends here, as far as the run can tell."""


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Store, str, Path]:
    """A run that died after its first result, over a copy of the shipped outage."""
    folder = tmp_path / "incident"
    shutil.copytree(INCIDENT, folder)
    store = Store(tmp_path / "runs.sqlite")
    held: list[LiveRun] = []

    def watch(event: Any, run: LiveRun) -> None:
        held[:] = [run]
        if event.kind == "action_ends":
            run.store.commit(run.run_id)
            run.broken = "the process died"
            raise _Dies

    with suppress(BaseException):  # whatever the engine makes of a death
        investigation.investigate(folder, load_policy("default"), store=store, watch=watch)
    held[0]._lease.release()
    return store, held[0].run_id, folder


def test_an_interrupted_run_is_taken_to_its_end(interrupted: tuple[Store, str, Path]) -> None:
    store, run_id, _ = interrupted
    assert store.info(run_id).status == "interrupted"
    report, broken_off = resume(run_id, store)
    assert not broken_off
    assert report["cause"]["service"] == "storefront-api"
    again, _ = resume(run_id, store)
    assert again["cause"] == report["cause"]


@pytest.mark.parametrize("change", ["edited", "services", "new file", "policy", "agent"])
def test_a_change_is_refused_or_accepted_and_on_record(
    interrupted: tuple[Store, str, Path], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run_id, folder = interrupted
    source = None
    if change == "edited":
        text = (folder / "deploys.json").read_text(encoding="utf-8")
        (folder / "deploys.json").write_text(text.replace("LEAK", "LEEK"), encoding="utf-8")
    elif change == "services":  # what the agent is told changes with them, and it does not
        deploys = json.loads((folder / "deploys.json").read_text(encoding="utf-8"))
        deploys.append(deploys[0] | {"service": "quite-new-api"})
        (folder / "deploys.json").write_text(json.dumps(deploys), encoding="utf-8")
    elif change == "new file":
        (folder / "logs" / "more.log").write_text("2026-11-30 03:00:30 ERROR more\n")
    elif change == "agent":
        monkeypatch.setattr(investigation, "INSTRUCTION", "Look harder.")
    else:
        source = "strict"
    what = change if change in ("policy", "agent") else "telemetry"
    with pytest.raises(SetupChanged, match=what):
        resume(run_id, store, policy_source=source)
    report, _ = resume(run_id, store, policy_source=source, accept_change=True)
    assert report["stop"]["reason"] in ("done", "no_progress")
    assert report["cause"]["service"] == "storefront-api"
    (resumed,) = [r for r in store.records(run_id) if r.kind == "run_resumes"]
    assert set(resumed.body["accepted"]) == {what}


def test_a_run_somebody_else_resumes_names_them(interrupted: tuple[Store, str, Path]) -> None:
    store, run_id, _ = interrupted
    LiveRun.reopen(store, (), run_id)
    with pytest.raises(LeaseHeld, match=rf"held by process {os.getpid()} on .* since 20"):
        resume(run_id, store)
    assert store.info(run_id).status == "running"


def test_a_run_that_ends_while_it_is_looked_at_gives_its_report(
    interrupted: tuple[Store, str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run_id, _ = interrupted
    first: list[dict[str, Any]] = []

    def meanwhile(*_: Any) -> int:  # between the look at the records and the lease
        if not first:
            first.append({})
            first[0] = resume(run_id, store)[0]
        return 0

    monkeypatch.setattr("roundsman.investigate.resume.ask_the_tools", meanwhile)
    report, _ = resume(run_id, store)
    assert report["cause"] == first[0]["cause"]
    assert report["stop"] == first[0]["stop"]


def test_missing_telemetry_is_named(interrupted: tuple[Store, str, Path]) -> None:
    store, run_id, folder = interrupted
    shutil.rmtree(folder)
    with pytest.raises(SourceError, match="gone"):
        resume(run_id, store)


def test_what_is_no_investigation_is_not_taken_up(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    run._lease.release()
    with pytest.raises(LedgerError, match="no investigation"):
        resume("r1", store)


def test_a_question_is_kept_and_asked_without_what_the_policy_takes_out(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("conversation: {checks: {personal: {}}}\n")
    asked = "Why did ann.lee@example.com see errors?"
    store = Store(tmp_path / "runs.sqlite")
    held: list[LiveRun] = []

    def watch(event: Any, run: LiveRun) -> None:
        held[:] = [run]
        if event.kind == "step_ends":
            run.store.commit(run.run_id)
            run.broken = "the process died"
            raise _Dies

    policy = load_policy(file)
    with suppress(BaseException):
        investigation.investigate(
            INCIDENT, policy, question=asked, store=store, watch=watch, policy_source=str(file)
        )
    held[0]._lease.release()
    report, _ = resume(held[0].run_id, store)
    assert report["cause"]["service"] == "storefront-api"
    assert report["question"] == "Why did [mail address removed] see errors?"
    assert "ann.lee" not in str(store.records(held[0].run_id))
