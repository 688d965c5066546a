"""What a person reads of a remedy can be done as it stands there, and is true."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from remedy_deaths import child
from remedy_desk import Desk
from remedy_world import RESTART, SERVICE

import roundsman.remedy.run as runs
from roundsman.ledger.view import evidence
from roundsman.remedy import commands


def row(printed: str, name: str) -> str:
    """The text of a row of the screen."""
    found = [line for line in printed.splitlines() if line.startswith(f"  {name} ")]
    assert found, printed
    return found[0].removeprefix(f"  {name}").strip()


def test_the_command_that_is_proposed_runs_as_printed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ROUNDSMAN_REMEDIES")
    file = tmp_path / "our remedies.yaml"
    file.write_text(desk.world.declare().read_text().replace("config.json", str(desk.world.config)))
    more = ("--prometheus", "http://127.0.0.1:9", "--header", "127.0.0.1=X-Scope: ${SCOPE} 'a'")
    printed = desk.say("remedy", "propose", desk.run_id, "--remedies", str(file))[1]
    command = shlex.split(row(printed, "start it"))
    assert desk.say(*command[1:])[0] == 5

    from roundsman.cli import remedy_view
    from roundsman.cli.remedy import _as_given

    found = desk.data("remedy", "propose", desk.run_id, "--remedies", str(file))
    options = _as_given((str(file), "mine.py:Own"), more[1:2], more[3:4])
    lines = "\n".join(remedy_view.proposal_lines(found, options))
    given = ["--remedies", str(file), "--remedies", "mine.py:Own", *more]
    assert shlex.split(row(lines, "start it"))[5:] == given


def test_a_restart_that_did_not_help_needs_no_roll_back(desk: Desk) -> None:
    desk.world.declare(within="0.4s")
    run_id = desk.apply("restart-service")
    code, printed = desk.say("approve", run_id, "--resume")
    assert code == 4
    assert printed.startswith("DID NOT HELP: it did not help: not back for 2 looks in a row")
    assert "nothing is to be undone" in printed
    assert "NOT BACK (limit" in printed  # the last looks
    assert "ROLLED BACK" not in printed
    assert desk.data("runs", "list")[0]["status"] == "done"


@pytest.mark.parametrize("fails", [True, False])
def test_progress_says_why_it_is_rolled_back(desk: Desk, fails: bool) -> None:
    desk.world.declare(within="0.4s")
    run_id = desk.apply("restart-service")
    if fails:
        (desk.world.here / "refuses").touch()
    assert desk.say("approve", run_id)[0] == 0
    told = list[str]()
    runs.resume(run_id, desk.store(), tell=told.append)
    (last,) = [one for one in told if "rolling" in one]
    assert last.startswith("it failed on the way (" if fails else "it did not help: ")
    assert ("no such unit" in last) == fails


def test_no_restart_is_promised_where_none_is_declared(desk: Desk) -> None:
    desk.world.declare(restart=[])
    printed = desk.say("remedy", "propose", desk.run_id)[1]
    assert "no restart is declared" in printed
    assert "the service is restarted" not in printed


def test_a_program_that_is_not_here_is_told_before(desk: Desk, tmp_path: Path) -> None:
    desk.world.declare(restart=["/nope/cmd", "x"])
    printed = desk.say("remedy", "propose", desk.run_id)[1]
    assert printed.count("run: /nope/cmd x (WARNING: no program '/nope/cmd' is found here)") == 2
    (tmp_path / "deploy").write_text("")
    (tmp_path / "deploy").chmod(0o755)
    assert "WARNING" not in commands.to_run(["./deploy"], str(tmp_path))
    assert "WARNING" in commands.to_run(["./deploy"], str(tmp_path / "else"))
    assert "WARNING" not in commands.to_run([sys.executable, "-V"])


def test_a_missing_file_is_told_once(desk: Desk) -> None:
    from roundsman.remedy.builtin.set_config_back import SetConfigBack
    from roundsman.remedy.config import load_config
    from roundsman.remedy.finding import Finding

    desk.world.declare(settings="gone.json")
    settings = {"A": ("1", "2"), "B": ("3", "4")}
    finding = Finding("r", SERVICE, "config", "high", "", since=0.0, settings=settings)
    said = SetConfigBack(load_config(desk.world.remedies)).call_for(finding)
    assert isinstance(said, str)
    assert said.count("No such file") == 1


KILLS = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"


def cut_off(desk: Desk) -> tuple[str, str]:
    """A remedy whose process died after its file was written, in its restart: the run, and the write."""
    run_id = desk.apply("set-config-back")
    assert desk.say("approve", run_id)[0] == 0
    (desk.world.here / "restart.py").write_text(KILLS)
    home = Path(os.environ["ROUNDSMAN_HOME"])
    assert child(desk.world.here, home, "", "resume", run_id) == -9
    (desk.world.here / "restart.py").write_text(RESTART)
    assert desk.world.pool == 4
    rows = evidence(desk.store().records(run_id), 0)
    return run_id, next(str(r["id"]) for r in rows if r["tool"] == "apply_set_config_back")


def test_of_a_write_that_was_cut_off_a_person_is_told_what_to_look_at_and_who_settled_it(
    desk: Desk,
) -> None:
    run_id, action = cut_off(desk)
    code, told = desk.say("resume", run_id)
    assert code == 5
    assert f"it would: in {desk.world.config}: POOL_SIZE from 20 to 4" in told
    assert f"now: in {desk.world.config}: POOL_SIZE is 4; whether " in told
    assert "was run cannot be told" in told
    pending = desk.say("pending")[1]
    assert f"would do: in {desk.world.config}: POOL_SIZE from 20 to 4" in pending
    assert f"roundsman settle {run_id} {action} done|not-done|again" in pending

    subprocess.run(desk.world.command, check=True)  # a person has it done
    assert desk.say("settle", run_id, action, "done")[0] == 0
    code, told = desk.say("settle", run_id, action, "again")
    assert code == 2
    assert f"{action} of run {run_id} was settled by " in told
    assert told.endswith(": done; nothing was changed")
    code, printed = desk.say("resume", run_id)
    assert (code, printed.startswith("DONE"), desk.world.restarts) == (0, True, 1), printed
    for screen in (printed, desk.say("runs", "show", run_id)[1]):
        assert row(screen, "applied").startswith(
            "cut off, nothing was told of it; settled as done by "
        )
        assert "@" in row(screen, "applied")


def test_who_stops_a_remedy_in_the_middle_is_told_what_stays(desk: Desk) -> None:
    run_id, action = cut_off(desk)
    assert desk.say("settle", run_id, action, "done")[0] == 0
    code, printed = desk.say("stop", run_id)
    assert (code, desk.world.pool) == (0, 4)
    assert "APPLIED, NOT VERIFIED: it was broken off" in printed
    assert f"see: roundsman runs show {run_id}" in printed
    code, printed = desk.say("resume", run_id)
    assert (code, printed.split(":")[0]) == (4, "APPLIED, NOT VERIFIED")
    other = desk.apply("restart-service")
    (told,) = desk.data("stop", other)
    assert told["left"].startswith("NOT APPLIED: nothing was changed: it ended before anybody had")
    assert "roundsman approve" not in desk.say("runs", "show", other)[1]
