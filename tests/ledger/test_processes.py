"""Several processes on one journal, one of them killed. Pipes order what happens; nothing sleeps."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from journals import Journal

from roundsman.errors import LeaseHeld
from roundsman.ledger import LiveRun
from roundsman.ledger.fold import fold

CHILD = """
import sys
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, open_store

run = LiveRun.start(open_store(), (), policy="p", run_id=sys.argv[1])
for n in range(int(sys.argv[2])):
    step = run.next_step_id()
    run.propose(ev.StepBegins(id=step, agent="a", reserved_tokens=30))
    run.settle(ev.StepEnds(id=step, agent="a", tokens=10))
    action = run.next_action_id()
    run.propose(ev.ActionBegins(id=action, tool="dig", effect="read"))
    run.settle(ev.ActionEnds(id=action, tool="dig"))
run.propose(ev.StepBegins(id=run.next_step_id(), agent="a", reserved_tokens=30))
print("in flight", flush=True)
sys.stdin.readline()
run.end("done")
"""


def child(journal: Journal, run_id: str, loops: int = 5) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, run_id, str(loops)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | journal.env,
    )  # fmt: skip


def wait_in_flight(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "in flight\n"


def close(process: subprocess.Popen[str]) -> int:
    process.communicate("go\n")
    return process.returncode


def test_a_killed_run_is_interrupted_and_readable(journal: Journal) -> None:
    process = child(journal, "r1")
    wait_in_flight(process)
    store = journal.open()
    assert store.info("r1").status == "running"
    process.kill()
    process.communicate()
    assert store.info("r1").status == "interrupted"
    store.verify("r1")
    records = store.records("r1")
    for begins, ends, intents in (
        ("step_begins", "step_ends", 6),
        ("action_begins", "action_ends", 5),
    ):
        begun = {r.body["id"] for r in records if r.kind == begins}
        ended = {r.body["id"] for r in records if r.kind == ends}
        assert ended <= begun
        assert len(begun) == intents
    again = LiveRun.reopen(store, (), "r1")
    # the call in flight at the kill is charged what was reserved for it
    assert (again.account.tokens, again.account.tokens_estimated) == (80, 30)
    assert again.next_step_id() == "s7"
    assert fold(store.records("r1")) == again.account
    store.close()


def test_a_run_of_another_live_process_is_held(journal: Journal) -> None:
    process = child(journal, "r1", 1)
    wait_in_flight(process)
    store = journal.open()
    with pytest.raises(LeaseHeld, match=f"held by process {process.pid} on"):
        LiveRun.reopen(store, (), "r1")
    assert close(process) == 0
    assert store.info("r1").status == "done"
    store.close()


RESUMES = """
import sys
from roundsman.errors import RoundsmanError
from roundsman.ledger import LiveRun, open_store

store = open_store()
print("ready", flush=True)
sys.stdin.readline()
try:
    LiveRun.reopen(store, (), "r1")
except RoundsmanError as error:
    print(error, flush=True)
else:
    print("mine", flush=True)
sys.stdin.readline()
"""


def test_of_processes_that_resume_at_once_one_wins_and_the_others_name_it(journal: Journal) -> None:
    store = journal.open()
    LiveRun.start(store, (), policy="p", run_id="r1")._lease.release()
    many = [
        subprocess.Popen(
            [sys.executable, "-c", RESUMES],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | journal.env,
        )
        for _ in range(3)
    ]  # fmt: skip

    def line(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline().strip()

    assert [line(one) for one in many] == ["ready"] * 3
    for one in many:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    said = {one.pid: line(one) for one in many}
    (winner,) = [pid for pid, text in said.items() if text == "mine"]
    held = f"run r1 is held by process {winner} on {os.uname().nodename} since 20"
    assert all(text.startswith(held) for pid, text in said.items() if pid != winner), said
    for one in many:
        close(one)
    assert [r.kind for r in store.records("r1")] == ["run_begins", "run_resumes"]
    store.verify("r1")
    store.close()


def test_processes_with_runs_of_their_own_do_not_disturb_each_other(journal: Journal) -> None:
    processes = [child(journal, f"r{n}", 40) for n in range(3)]
    for process in processes:
        wait_in_flight(process)
    assert [close(p) for p in processes] == [0, 0, 0]
    store = journal.open()
    assert {i.run_id: i.status for i in store.runs()} == dict.fromkeys(("r0", "r1", "r2"), "done")
    for n in range(3):
        store.verify(f"r{n}")
        assert fold(store.records(f"r{n}")).steps == 41
    store.close()
