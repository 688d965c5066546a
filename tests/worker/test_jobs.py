"""One job, from wherever it is to its end."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner
from journals import Journal

from roundsman.cli.queue import queue
from roundsman.cli.runs import list_runs, resolve_id
from roundsman.cli.worker import submit
from roundsman.errors import LedgerError, MissingDependency, UsageError
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, Store, new_run_id
from roundsman.ledger.expected import expect, expected, never_began
from roundsman.worker import Job, Queue
from roundsman.worker.daylimit import admit, set_limit, tokens_today
from roundsman.worker.jobs import Left, carry

OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"


@pytest.fixture
def here(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> Journal:
    for name, value in journal.env.items():
        monkeypatch.setenv(name, value)
    return journal


@pytest.fixture
def stopped() -> Event:
    event = Event()
    event.set()
    return event


def test_a_job_handed_out_twice_is_one_run(here: Journal, stopped: Event) -> None:
    job = Job(new_run_id(), str(OUTAGE))
    first = carry(job, stopped, print)
    assert first["status"] == "done"
    assert carry(job, stopped, print) == first
    store = here.open()
    assert [i.run_id for i in store.runs()] == [job.run_id]
    assert tokens_today(store) == 0  # the analyst spends none, and nothing stays reserved
    store.close()


def test_a_job_that_cannot_begin_says_why_and_holds_nothing(here: Journal, stopped: Event) -> None:
    found = carry(Job(new_run_id(), "/no/such/folder"), stopped, print)
    assert found["status"] == "failed"
    assert "/no/such/folder" in found["detail"]
    assert carry(Job("nobody", again=True), stopped, print)["status"] == "failed"
    store = here.open()
    assert tokens_today(store) == 0
    store.close()


def _begun(store: Store, stopped: Event) -> LiveRun:
    """A run of an investigation that has only just begun."""
    job = Job(new_run_id(), str(OUTAGE))
    carry(job, stopped, print)
    body = store.records(job.run_id)[0].body
    return LiveRun.start(store, (), policy=body["policy"], run_id="r2", setup=dict(body["setup"]))


def test_a_run_somebody_else_is_at_is_left_alone(here: Journal, stopped: Event) -> None:
    store = here.open()
    _begun(store, stopped)
    said: list[str] = []
    with pytest.raises(Left):
        carry(Job("r2", str(OUTAGE)), stopped, said.append)
    assert "held by process" in said[0]
    assert store.info("r2").status == "running"
    store.close()


def test_a_write_of_unknown_outcome_waits_for_a_person(here: Journal, stopped: Event) -> None:
    store = here.open()
    run = _begun(store, stopped)
    run.propose(ev.ActionBegins(id="a1", tool="restart", effect="write", agent="x", call="c"))
    run._lease.release()
    found = carry(Job("r2", again=True), stopped, print)
    assert found["status"] == "waiting"
    assert "roundsman settle r2 a1" in found["detail"]
    store.close()


def test_a_day_that_is_spent_keeps_a_job_from_beginning(here: Journal, stopped: Event) -> None:
    store = here.open()
    set_limit(store, 40_000)
    assert admit(store, "another", 20_000)
    said: list[str] = []
    job = Job(new_run_id(), str(OUTAGE))
    with pytest.raises(Left):
        carry(job, stopped, said.append)
    assert said == [f"waits {job.run_id} the day's tokens are spent or reserved"]
    assert store.ids() == []
    store.close()


def test_a_failed_job_that_is_asked_for_again_is_reserved_anew(
    here: Journal, stopped: Event
) -> None:
    store = here.open()
    _begun(store, stopped)._lease.release()
    assert carry(Job("r2", again=True), stopped, print)["status"] == "done"
    store.close()
    store = here.open()
    run = LiveRun.start(
        store, (), policy="p", run_id="r3",
        setup={**store.records("r2")[0].body["setup"], "agent": "another"},
    )  # fmt: skip
    run.write(ev.Asked(id="q1", about="limit", limits=("tokens",)))
    run.write(ev.Answered(id="q1", decision="grant", granted={"tokens": 5_000}))
    run._lease.release()
    set_limit(store, 60_000)
    assert carry(Job("r3", again=True), stopped, print)["status"] == "failed"
    assert tokens_today(store) == 0
    assert admit(store, "another", 26_000)  # 30,000 would fit, 35,000 do not
    said: list[str] = []
    with pytest.raises(Left):
        carry(Job("r3", again=True), stopped, said.append)
    assert said == ["waits r3 the day's tokens are spent or reserved"]
    store.close()


def test_a_server_that_is_away_is_waited_for(
    stopped: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDSMAN_DB", "postgresql://u:wrong-one@127.0.0.1:1/d")
    said: list[str] = []
    with pytest.raises(Left):
        carry(Job("r1", str(OUTAGE)), stopped, said.append)
    assert "Connection refused" in said[0]
    tries = iter([False] * 20 + [True])
    monkeypatch.setattr(stopped, "wait", lambda seconds: next(tries))
    with pytest.raises(Left):  # however long
        carry(Job("r1", str(OUTAGE)), stopped, said.append)


def test_jobs_are_listed_and_bad_ones_refused(here: Journal) -> None:
    pytest.importorskip("dbos", reason="the extra worker is not installed")
    call = CliRunner().invoke
    run_id = call(submit, [str(OUTAGE)]).output.strip()
    with Queue() as waiting:
        (job,) = waiting.jobs()
    assert (job.run_id, job.status, job.path) == (run_id, "queued", str(OUTAGE))
    head, line = call(queue, []).output.splitlines()
    assert head.split() == ["RUN", "STATUS", "ASKED", "(UTC)", "WORKER", "WHAT"]
    assert line.startswith(f"{run_id}  queued  ")
    assert line.index(str(OUTAGE)) == head.index("WHAT")
    named = call(submit, [str(OUTAGE), "--model", "analist"]).exception
    assert "did you mean 'analyst'" in str(named)
    for bad in (["/no/such"], [__file__], [], [str(OUTAGE), "--run", "x"]):
        assert isinstance(call(submit, bad).exception, UsageError), bad
    assert call(submit, ["--run", "nobody"]).exit_code != 0


def test_what_is_asked_for_is_listed_at_once_until_it_begins(here: Journal, stopped: Event) -> None:
    pytest.importorskip("dbos", reason="the extra worker is not installed")
    call = CliRunner().invoke
    good, bad = (
        Job(new_run_id(), str(OUTAGE), "why?"),
        Job(new_run_id(), "/no/such", model="analyst"),
    )
    with Queue() as waiting:
        waiting.submit(good)
        waiting.submit(bad)
    rows = {row["run_id"]: row for row in json.loads(call(list_runs, ["--json"]).output)}
    assert {(row["status"], row["state"]) for row in rows.values()} == {("waiting", "queued")}
    assert [rows[one.run_id]["question"] for one in (good, bad)] == ["why?", "/no/such"]
    assert rows[good.run_id]["usage"]["tokens"] == 0
    store = here.open()
    with pytest.raises(UsageError, match=f"run {good.run_id} is queued and has not begun"):
        resolve_id(store, good.run_id)
    assert carry(good, stopped, print)["status"] == "done"
    assert carry(bad, stopped, print)["status"] == "failed"
    rows = {row["run_id"]: row for row in json.loads(call(list_runs, ["--json"]).output)}
    assert {name: row["status"] for name, row in rows.items()} == {good.run_id: "done"}
    with pytest.raises(UsageError, match=f"run {bad.run_id} never began: .*/no/such"):
        resolve_id(store, bad.run_id)
    expect(store, good.run_id, "late")  # entered after a worker was quicker
    assert expected(store) == []
    store.close()


def test_why_a_job_never_began_is_known_however_quick_the_worker_was(here: Journal) -> None:
    store = here.open()
    never_began(store, "r9", "the folder is gone")  # before who submitted it has entered it
    expect(store, "r9", "why?")
    never_began(store, "r9", "every worker that had it died")
    assert expected(store) == []
    with pytest.raises(UsageError, match="run r9 never began: the folder is gone"):
        resolve_id(store, "r9")
    store.close()


def test_workers_are_handed_investigations_only(here: Journal) -> None:
    pytest.importorskip("dbos", reason="the extra worker is not installed")
    store = here.open()
    with closing(store):
        run = LiveRun.start(store, (), policy="p", run_id="own-1", setup={"what": "remedy"})
        run._lease.release()
    refused = CliRunner().invoke(submit, ["--run", "own-1"]).exception
    assert "own-1 is no investigation" in str(refused)


def test_a_job_the_queue_gave_up_is_not_listed_as_waiting_for_ever(here: Journal) -> None:
    pytest.importorskip("dbos", reason="the extra worker is not installed")
    call = CliRunner().invoke
    there = call(submit, [str(OUTAGE)]).output.strip()
    store = here.open()
    expect(store, "given-up", "why?")
    assert {one.run_id for one in expected(store)} == {there, "given-up"}
    assert there in call(queue, []).output
    assert [one.run_id for one in expected(store)] == [there]
    with pytest.raises(UsageError, match=r"given-up never began: every worker that had it died"):
        resolve_id(store, "given-up")
    store.close()


def test_a_job_names_sources_as_an_investigation_does_and_no_secret(
    here: Journal, stopped: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dbos", reason="the extra worker is not installed")
    monkeypatch.setenv("TOKEN", "top-secret-value")
    call = CliRunner().invoke
    logs = ["--logs", str(OUTAGE / "logs"), "--alert", str(OUTAGE / "alert.json"), "-q", "why?"]
    header = ["--header", "127.0.0.1:1=Authorization: Bearer ${TOKEN}"]
    for given in (logs, ["--prometheus", "http://127.0.0.1:1", *header]):
        assert call(submit, given).exit_code == 0, given
    with Queue() as waiting:
        server, files = (
            one.input["args"][0] for one in waiting._client.list_workflows(sort_desc=True)
        )
    assert "top-secret-value" not in json.dumps([server, files])
    assert server["request"]["sources"]["headers"] == header[1:]
    start, end = server["request"]["window"]  # of when it was asked for
    assert round(end - start) == 3600
    found = carry(Job(**files), stopped, print)
    assert found["status"] == "done"
    store = here.open()
    setup = store.records(files["run_id"])[0].body["setup"]
    assert (setup["question"], setup["alert"]["name"]) == ("why?", "StorefrontApiHighErrorRate")
    store.close()
    failed = carry(Job(**server), stopped, print)
    assert (failed["status"], "connection refused" in failed["detail"]) == ("failed", True)
    for bad in (
        ["--prometheus", "http://me:top-secret-value@h:9090"],
        ["--prometheus", "http://h", "--header", "h=Authorization: Bearer top-secret-value"],
        ["--logs", "/no/such"], ["--since", "3", *logs], ["--run", "x", *logs],
    ):  # fmt: skip
        error = call(submit, bad).exception
        assert isinstance(error, UsageError), bad
        assert "top-secret" not in str(error)


def test_without_the_queue_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)
    with pytest.raises(MissingDependency, match=r"pip install 'roundsman\[worker\]'"):
        Queue()


def test_the_queues_errors_show_no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dbos", reason="the extra worker is not installed")
    monkeypatch.setenv("ROUNDSMAN_DB", "postgresql://u:wrong-one@127.0.0.1:1/d")
    with pytest.raises(LedgerError, match="unset ROUNDSMAN_DB") as caught:
        Queue()
    shown = str(caught.value) + repr(caught.value.__cause__)
    assert "wrong-one" not in shown
    assert "\n" not in shown
