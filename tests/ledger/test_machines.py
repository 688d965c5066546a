"""Two machines on one PostgreSQL over TCP: hosts and process ids of their own, as far as a kernel can
give them without a second computer."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress

import pytest
from journals import Journal
from machines import Machine, why_not

from roundsman.drill.database_server import DatabaseServer
from roundsman.errors import LeaseHeld
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun
from roundsman.ledger.lease import TTL

HOUR = 3600.0
WORKS = """
import os, socket, sys
from roundsman.errors import RoundsmanError
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, open_store

store = open_store()
try:
    begin = sys.argv[1] == "start"
    run = LiveRun.start(store, (), policy="p", run_id="r1") if begin else LiveRun.reopen(store, (), "r1")
except RoundsmanError as error:
    print(error, flush=True)
else:
    run.propose(ev.StepBegins(id=run.next_step_id(), agent="a", reserved_tokens=30))
    print(socket.gethostname(), os.getpid(), flush=True)
for line in sys.stdin:
    try:
        run.propose(ev.StepBegins(id=run.next_step_id(), agent="a"))
        print("wrote", flush=True)
    except RoundsmanError as error:
        print(error, flush=True)
"""


def works(machine: Machine, journal: Journal, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        machine.command(sys.executable, "-c", WORKS, how),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | journal.env,
    )  # fmt: skip


def says(process: subprocess.Popen[str], word: str = "") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    if word:
        process.stdin.write(word + "\n")
        process.stdin.flush()
    return process.stdout.readline().strip()


def test_a_machine_holds_its_run_until_its_heart_stops_even_beside_its_twin(
    journal_url: Journal,
) -> None:
    """The twin has the same host name, and the same process ids."""
    alpha, twin, store = Machine("alpha"), Machine("alpha"), journal_url.open()
    first = works(alpha, journal_url, "start")
    try:
        assert says(first) == "alpha 1"
        late = works(twin, journal_url, "resume")
        held = "run r1 is held by process 1 on alpha since 20"
        assert says(late).startswith(held)
        late.communicate()
        first.kill()  # its plug is pulled
        first.communicate()
        store.db.execute("update leases set beat=beat+?", (HOUR,))  # it starts late, but in time
        late = works(twin, journal_url, "resume")
        assert says(late).startswith(held)  # nobody can know yet
        late.communicate()
        store.db.execute("update leases set beat=beat-?", (HOUR + TTL,))
        taken = works(twin, journal_url, "resume")
        assert says(taken) == "alpha 1"
        taken.kill()
        taken.communicate()
    finally:
        first.kill()
    kinds = [r.kind for r in store.records("r1")]
    assert kinds == ["run_begins", "step_begins", "run_resumes", "step_begins"]
    store.verify("r1")
    store.close()


def test_a_machine_that_was_cut_off_writes_nothing_more(journal_url: Journal) -> None:
    first, store = works(Machine("alpha"), journal_url, "start"), journal_url.open()
    try:
        assert says(first) == "alpha 1"
        assert says(first, "go") == "wrote"
        run = None
        while run is None:
            with suppress(LeaseHeld):  # its heart beat in between
                store.db.execute("update leases set beat=beat-?", (TTL,))
                run = LiveRun.reopen(store, (), "r1")
        assert "has been taken up by another process" in says(first, "go")
        run.propose(ev.StepBegins(id=run.next_step_id(), agent="a"))
        run.end("done")
        first.communicate()
    finally:
        first.kill()
    begun = [r.body["id"] for r in store.records("r1") if r.kind == "step_begins"]
    assert begun == ["s1", "s2", "s3"]
    store.verify("r1")
    store.close()


@pytest.fixture
def journal_url(tmp_path_factory: pytest.TempPathFactory, postgres: DatabaseServer) -> Journal:
    if why := why_not():
        pytest.skip(why)
    return Journal(tmp_path_factory.mktemp("home"), postgres.new_database())
