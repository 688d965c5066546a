"""From the finding to its fix, through the command line, on a world of files."""

from __future__ import annotations

import json
import subprocess

import pytest
from remedy_desk import Desk

MINE = """\
from pathlib import Path
from roundsman.remedy import Remedy

class Wrong(Remedy):
    name = "grow-the-pool"
    about = "make the pool larger still"
    def call_for(self, finding):
        return {"service": finding.service, "file": FILE}
    def dry_run(self, file, **rest):
        return [f"set POOL_SIZE to 50 in {file}"]
    def apply(self, file, **rest):
        before = Path(file).read_text()
        Path(file).write_text(before.replace("20", "50"))
        return "POOL_SIZE is 50"
    def undo(self, file, **rest):
        UNDO
        return "POOL_SIZE is 20"
    def was_applied(self, file, **rest):
        return "50" in Path(file).read_text()
    def undo_by_hand(self, file, **rest):
        return f"set POOL_SIZE to 20 in {file}"
"""
GOOD_UNDO = 'Path(file).write_text(Path(file).read_text().replace("50", "20"))'


def mine(desk: Desk, undo: str = GOOD_UNDO) -> str:
    desk.world.declare(within="0.4s")  # it will not help, however long it is watched
    text = MINE.replace("FILE", repr(str(desk.world.config)), 1).replace("UNDO", undo)
    (desk.world.here / "mine.py").write_text(text)
    return f"{desk.world.here / 'mine.py'}:Wrong"


def test_what_helps_is_proposed_approved_applied_and_seen_to_help(desk: Desk) -> None:
    found = desk.data("remedy", "propose", desk.run_id)
    fits = {row["remedy"]: row for row in found["proposals"] if row["fits"]}
    assert list(fits) == ["set-config-back", "restart-service"]
    row = fits["set-config-back"]
    assert row["dry_run"][0] == f"in {desk.world.config}: POOL_SIZE from 20 to 4"
    assert found["verify"]["metrics"][0]["metric"] == "http_requests_5xx_rate"
    assert (desk.world.pool, desk.world.restarts) == (20, 0)

    run_id = desk.apply("set-config-back")
    pending = desk.data("pending", run_id)
    assert (pending[0]["digest"], pending[0]["args"]) == (row["digest"], row["call"]["args"])
    code, told = desk.say("resume", run_id)
    assert (code, "waits for a person" in told) == (5, True)
    assert (desk.world.pool, desk.world.restarts) == (20, 0)

    assert desk.say("approve", run_id)[0] == 0
    code, printed = desk.say("resume", run_id)
    assert code == 0, printed
    assert "applied      POOL_SIZE is 4" in printed
    assert (desk.world.pool, desk.world.restarts) == (4, 1)
    report = desk.data("resume", run_id)  # over: told once more, done no second time
    assert (report["outcome"], report["steps"]["verify"]["back"]) == ("done", True)
    assert "DONE" in desk.say("runs", "show", run_id)[1]
    assert desk.world.restarts == 1
    kinds = [(r.kind, r.body.get("tool")) for r in desk.store().records(run_id)]
    tool = "apply_set_config_back"
    assert kinds.index(("action_begins", tool)) < kinds.index(("action_ends", tool))
    assert ("action_begins", "undo_set_config_back") not in kinds


def test_what_does_not_help_is_rolled_back(desk: Desk) -> None:
    run_id = desk.apply(
        "grow-the-pool", "--remedies", str(desk.world.remedies), "--remedies", mine(desk)
    )
    code, printed = desk.say("approve", run_id, "--resume")
    assert code == 4, printed
    assert printed.startswith(
        "ROLLED BACK: it did not help: not back for 2 looks in a row within 0.4 s"
    )
    assert "looked at again: as before" in printed
    assert desk.world.pool == 20
    assert desk.data("runs", "list")[0]["status"] == "done"


def test_a_roll_back_that_fails_says_what_to_do_by_hand(desk: Desk) -> None:
    own = mine(desk, 'raise OSError("disk is full")')
    run_id = desk.apply("grow-the-pool", "--remedies", str(desk.world.remedies), "--remedies", own)
    code, printed = desk.say("approve", run_id, "--resume")
    assert code == 4
    assert printed.startswith("ROLL BACK FAILED")
    assert printed.count("disk is full") == 1
    assert "undo failed  disk is full" in printed
    assert f"by hand now  set POOL_SIZE to 20 in {desk.world.config}" in printed
    assert desk.world.pool == 50
    assert desk.data("runs", "list")[0]["status"] == "stopped"


def test_an_undo_that_changed_nothing_is_not_believed(desk: Desk) -> None:
    run_id = desk.apply("grow-the-pool", "--remedies", str(desk.world.remedies),
                        "--remedies", mine(desk, "pass"))  # fmt: skip
    printed = desk.say("approve", run_id, "--resume")[1]
    assert printed.startswith("ROLL BACK FAILED")
    assert "looks as if it was not" in printed


def test_what_fails_on_the_way_is_rolled_back(desk: Desk) -> None:
    run_id = desk.apply("set-config-back")
    (desk.world.here / "refuses").touch()
    code, printed = desk.say("approve", run_id, "--resume")
    assert code == 4
    assert "no such unit" in printed
    assert desk.world.pool == 20
    assert (
        desk.world.restarts == 2
    )  # the one that failed, and the roll back's, which failed as well
    assert printed.startswith("ROLL BACK FAILED")
    # the file holds the value already, as the world was looked at: only the command is left
    assert "what it had changed is as before (looked at again)" in printed
    by_hand = next(line for line in printed.splitlines() if "by hand now" in line)
    assert "by hand now  see why the roll back failed" in by_hand
    assert "set POOL_SIZE" not in by_hand
    assert printed.count("restart.py") == 2  # the call, and how it failed
    assert "undo failed  in the same way" in printed
    assert printed.count("no such unit") == 1


def test_what_was_denied_is_not_applied(desk: Desk) -> None:
    run_id = desk.apply("set-config-back")
    assert desk.say("deny", run_id, "--reason", "ask the owners first")[0] == 0
    code, printed = desk.say("resume", run_id)
    assert code == 3
    assert printed.startswith("DENIED: nothing was changed")
    assert "ask the owners first" in printed
    assert (desk.world.pool, desk.world.restarts) == (20, 0)
    assert desk.say("approve", run_id)[0] == 2


def test_a_world_that_changed_since_the_approval_is_left_alone(desk: Desk) -> None:
    run_id = desk.apply("set-config-back")
    desk.world.config.write_text('{"POOL_SIZE": 8}')
    code, printed = desk.say("approve", run_id, "--resume")
    assert code == 3
    assert "POOL_SIZE is 8 now, and 20 was approved" in printed
    assert (desk.world.pool, desk.world.restarts) == (8, 0)


def test_two_remedies_for_one_thing_are_not_under_way_at_once(desk: Desk) -> None:
    run_id = desk.apply("set-config-back")
    code, told = desk.say("remedy", "apply", desk.run_id, "restart-service")
    assert (code, run_id in told, "roundsman stop" in told) == (2, True, True)
    assert desk.say("stop", run_id)[0] == 0
    assert desk.apply("restart-service") != run_id


def test_changed_code_of_a_remedy_is_not_what_was_approved(desk: Desk) -> None:
    own = mine(desk)
    run_id = desk.apply("grow-the-pool", "--remedies", str(desk.world.remedies), "--remedies", own)
    assert desk.say("approve", run_id)[0] == 0
    mine(desk, 'raise OSError("other code")')
    code, told = desk.say("resume", run_id)
    assert (code, "the code of the remedy was" in told) == (2, True)
    assert desk.world.pool == 20
    mine(desk, GOOD_UNDO + "  # the same")
    code, printed = desk.say("resume", run_id, "--accept-change")
    assert (code, printed.startswith("ROLLED BACK")) == (4, True), printed
    assert [
        r.body["accepted"] for r in desk.store().records(run_id) if r.kind == "run_resumes"
    ] != [{}]


def test_an_abstained_verdict_proposes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = desk.world.incident / "metrics" / "till.csv"
    metrics.write_text(
        "\n".join(r for r in metrics.read_text().splitlines() if "pool" not in r)[:3000]
    )
    (desk.world.incident / "logs" / "till-api.ndjson").unlink()
    run_id = json.loads(desk.say("investigate", str(desk.world.incident), "--json")[1])["run_id"]
    found = desk.data("remedy", "propose", run_id)
    assert found["proposals"] == []
    assert "named no cause" in found["because"]
    code, told = desk.say("remedy", "apply", run_id, "set-config-back")
    assert (code, "nothing is proposed" in told) == (2, True)


def test_what_cannot_be_watched_is_not_begun(desk: Desk) -> None:
    metrics = desk.world.incident / "metrics" / "till.csv"
    rows = metrics.read_text().splitlines()
    metrics.write_text("\n".join([rows[0], *rows[1:-180]]))  # the newest sample is minutes old
    code, told = desk.say("remedy", "apply", desk.run_id, "set-config-back")
    assert (code, "cannot be watched" in told, "--prometheus URL" in told) == (2, True, True)
    assert "it cannot be begun" in desk.say("remedy", "propose", desk.run_id)[1]


def test_looks_that_do_not_fit_into_the_time_are_told_before(desk: Desk) -> None:
    metrics = desk.world.incident / "metrics" / "till.csv"
    rows = metrics.read_text().splitlines()
    metrics.write_text("\n".join([rows[0], *rows[1:-90]]))  # a sample every 5 s
    desk.world.declare(within="10s")
    code, told = desk.say("remedy", "apply", desk.run_id, "set-config-back")
    assert (code, "is sampled every 5 s: 2 looks do not fit within 10 s" in told) == (2, True), told


def test_at_a_terminal_it_is_asked_right_away(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from roundsman.cli import remedy as command

    monkeypatch.setattr(command, "_somebody_is_there", lambda: True)
    args = ("remedy", "apply", desk.run_id, "set-config-back")
    code, printed = desk.say(*args, keys="n\n")
    assert (code, "run exactly this call now? [y/N]" in printed) == (5, True), printed
    assert desk.world.restarts == 0
    pending = desk.say("pending")[1]
    assert "would do: in " in pending
    assert "if it does not help: the settings get" in pending
    assert desk.say("stop", "--all")[0] == 0
    code, printed = desk.say(*args, keys="y\n")
    assert (code, desk.world.pool, desk.world.restarts) == (0, 4, 1), printed
    assert "DONE: what broke is back" in printed
    assert "to undo it   in " in printed
    assert "its next deploy brings the trouble back" in printed


def test_code_that_fails_wherever_it_is_called_leaves_no_run_in_the_middle(desk: Desk) -> None:
    own = mine(desk, "raise SystemExit(3)")
    text = (desk.world.here / "mine.py").read_text()
    text = text.replace('return "50" in Path(file).read_text()', "raise ValueError('blind')")
    (desk.world.here / "mine.py").write_text(text)
    run_id = desk.apply("grow-the-pool", "--remedies", str(desk.world.remedies), "--remedies", own)
    code, printed = desk.say("approve", run_id, "--resume")
    assert (code, printed.startswith("ROLL BACK FAILED")) == (4, True), printed
    (desk.world.here / "mine.py").write_text("class (")
    assert desk.say("resume", run_id)[1] == printed  # what is over needs no code to be told
    code, told = desk.say("remedy", "propose", desk.run_id, "--remedies", own)
    assert (code, "fails when loaded" in told) == (2, True)


def test_what_is_back_already_needs_no_remedy(desk: Desk) -> None:
    desk.world.config.write_text('{"POOL_SIZE": 4, "LOG_LEVEL": "info"}')
    subprocess.run(desk.world.command, check=True)
    code, told = desk.say("remedy", "apply", desk.run_id, "restart-service")
    assert (code, "is back already" in told) == (2, True)
    code, told = desk.say("remedy", "apply", desk.run_id, "set-config-back")
    assert (code, "POOL_SIZE is 4 already" in told) == (2, True)


def test_what_somebody_mended_after_the_approval_is_left_alone(desk: Desk) -> None:
    run_id = desk.apply("restart-service")
    assert desk.say("approve", run_id)[0] == 0
    desk.world.config.write_text('{"POOL_SIZE": 4, "LOG_LEVEL": "info"}')
    subprocess.run(desk.world.command, check=True)
    code, printed = desk.say("resume", run_id)
    assert (code, desk.world.restarts) == (3, 1)
    assert printed.startswith("NOT APPLIED: nothing was changed: every metric that broke is back")
    assert desk.say("resume", run_id) == (code, printed)


def test_what_cannot_be_watched_after_the_approval_waits(desk: Desk) -> None:
    run_id = desk.apply("restart-service")
    assert desk.say("approve", run_id)[0] == 0
    metrics = desk.world.incident / "metrics"
    metrics.rename(desk.world.here / "away")
    code, told = desk.say("resume", run_id)
    assert (code, "restart-service is not applied yet: " in told) == (2, True)
    (desk.world.here / "away").rename(metrics)
    assert desk.say("resume", run_id)[0] == 4  # applied, and it did not help
    assert desk.world.restarts == 1


def test_unknown_names_are_told_with_near_ones(desk: Desk) -> None:
    for args, part in (
        (("remedy", "apply", desk.run_id, "set-config-bak"), "did you mean 'set-config-back'?"),
        (("remedy", "propose", "26nothing"), "no run"),
        (("remedy", "propose", desk.run_id, "--remedies", "nowhere.yaml"), "nowhere.yaml"),
        (("remedy", "list", "--remedies", "nocolon"), "FILE.py:CLASS"),
    ):
        code, told = desk.say(*args)
        assert (code, part in told) == (2, True), told
