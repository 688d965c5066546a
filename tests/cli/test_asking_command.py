from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.adk.agents import LlmAgent

from roundsman import load_policy
from roundsman.cli import cli
from roundsman.errors import RoundsmanError
from roundsman.ledger import open_store
from roundsman.testing import ScriptedModel, run_guarded

INCIDENT = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path))
    return tmp_path


def call(*args: str) -> Any:
    """(exit status, what was printed)."""
    done = CliRunner().invoke(cli, args, standalone_mode=False)
    if done.exception is not None:
        if not isinstance(done.exception, RoundsmanError):
            raise done.exception
        return done.exception.exit_code, str(done.exception)
    return done.return_value or 0, done.stdout


def test_a_run_asks_is_answered_and_goes_on_to_its_end(home: Path) -> None:
    policy = home / "policy.yaml"
    policy.write_text("version: 1\nrun: {on_limit: ask, steps: 1}\n", encoding="utf-8")
    code, printed = call("investigate", str(INCIDENT), "--policy", str(policy), "--json")
    report = json.loads(printed)
    assert (code, report["stop"]["reason"]) == (5, "asked")
    assert report["stop"]["detail"] == "q1: 1 of 1 steps used"
    run_id = report["run_id"]
    assert "waits for a person" in report["cause"]["because"]
    shown = call("runs", "show", run_id)[1]
    assert "Waiting for a person: q1: 1 of 1 steps used" in shown
    assert "No cause found" not in shown
    rows = json.loads(call("pending", "--json")[1])
    assert [(r["run_id"], r["question"], r["limits"]) for r in rows] == [(run_id, "q1", ["steps"])]
    assert f"roundsman grant {run_id} q1 --steps N" in call("pending", run_id[:8])[1]
    assert json.loads(call("runs", "list", "--json")[1])[0]["status"] == "waiting"
    for wrong, why in (
        (("grant", run_id), "give what is granted"),
        (("grant", run_id, "--finish", "--steps", "1"), "not both"),
        (("grant", run_id, "--steps", "-1"), "grants nothing"),
        (("grant", run_id, "--usd", "nan"), "grants nothing"),
        (("grant", run_id, "--time", "5"), "has no unit"),
        (("approve", run_id), "no question to approve"),
        (("approve", "26nothing"), "no run"),
    ):
        code, told = call(*wrong)
        assert (code, why in told) == (2, True), told
    assert call("resume", run_id)[0] == 5
    code, printed = call("grant", run_id, "--steps", "20", "--resume", "--json")
    report = json.loads(printed)
    assert (code, report["stop"]["reason"]) == (0, "done")
    assert report["asked"][0]["answer"]["granted"] == {"steps": 20}
    assert report["usage"]["steps"] > 1
    assert call("pending") == (0, "nothing is asked of a person\n")
    code, told = call("grant", run_id, "--steps", "1")
    assert (code, "is over (done)" in told) == (2, True)


def test_finish_ends_it_with_what_there_is(home: Path) -> None:
    policy = home / "policy.yaml"
    policy.write_text("version: 1\nrun: {on_limit: ask, steps: 1}\n", encoding="utf-8")
    call("investigate", str(INCIDENT), "--policy", str(policy), "--json")
    run_id = open_store().ids()[0]
    row = json.loads(call("grant", run_id, "--finish", "--json")[1])
    assert row["answer"]["decision"] == "finish"
    for row in (
        json.loads(call("runs", "list", "--json")[1])[0],
        json.loads(call("runs", "show", run_id, "--json")[1]),
    ):
        assert (row["status"], row["state"]) == ("waiting", "answered")
    assert "go on with roundsman resume RUN" in call("runs", "list")[1]
    assert f"go on with roundsman resume {run_id}" in call("runs", "show", run_id)[1]
    assert call("pending") == (0, "nothing is asked of a person\n")
    code, printed = call("resume", run_id, "--json")
    report = json.loads(printed)
    assert report["stop"]["reason"] == "steps"
    assert report["usage"]["steps"] == 1
    assert code in (0, 3)


async def test_an_answer_is_not_recorded_when_the_run_cannot_go_on_from_here(home: Path) -> None:
    agent = LlmAgent(name="helper", model=ScriptedModel(["done"]))
    tight = load_policy("default")
    asks = tight.run.model_copy(update={"on_limit": "ask", "steps": 0})
    store = open_store()
    result = await run_guarded(agent, "go", tight.model_copy(update={"run": asks}), store=store)
    assert (result.stop, "temporary" in result.waits) == ("asked", False)
    code, told = call("grant", result.run_id, "--steps", "1", "--resume")
    assert (code, "nothing was answered; leave --resume out" in told) == (2, True)
    assert store.info(result.run_id).status == "waiting"
    code, told = call("grant", result.run_id, "--steps", "1")
    assert (code, "roundsman.adk.resume(app" in told) == (0, True)
    store.close()
