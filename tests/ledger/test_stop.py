"""The kill switch: a run is ended from another process, whatever it is doing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from journals import Journal

from roundsman.errors import LedgerError, RunOver
from roundsman.guard import Account, Kind, Placed, Verdict
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, RunInfo, Store, stop_run
from roundsman.ledger.stop import await_stop

CHILD = """
import sys
from roundsman.guard import events as ev
from roundsman.ledger import LiveRun, open_store

run = LiveRun.start(open_store(), (), policy="p", run_id="r1")
print("begun", flush=True)
for line in sys.stdin:
    verdict, _ = run.propose(ev.StepBegins(id=run.next_step_id(), agent="a"))
    print(verdict.kind.name, flush=True)
    if verdict.kind.name == "STOP":
        break
stopped = run.account.stopped
run.end(stopped.reason, stopped.rule, stopped.layer, stopped.detail)
"""


class AsksToStop:
    """A rule while which is asked somebody wants the run to end."""

    name, layer, watches = "asks", "model", frozenset({"step_begins"})

    def __init__(self, store: Store) -> None:
        self.store = store

    def judge(self, account: Account, event: ev.Event) -> Verdict | None:
        self.store.request_stop("r1", "eve")
        return None


def test_no_intent_is_on_record_behind_a_request_to_stop(journal: Journal) -> None:
    store, other = journal.open(), journal.open()
    run = LiveRun.start(store, [Placed(AsksToStop(other))], policy="p", run_id="r1")
    run.propose(ev.ActionBegins(id="a1", tool="dig"))
    run.settle(ev.ActionEnds(id="a1", tool="dig"))  # it waits for the next record that is durable
    verdict, _ = run.propose(ev.StepBegins(id="s1", agent="a"))
    assert (verdict.kind, verdict.stop) == (Kind.STOP, "aborted")
    assert (run.account.steps, run.account.reserved) == (0, {})
    kinds = [r.kind for r in other.whole("r1")]
    assert kinds == ["run_begins", "action_begins", "action_ends", "ruled"]
    run.end("aborted")
    other.whole("r1")


class AsksAPerson(AsksToStop):
    def judge(self, account: Account, event: ev.Event) -> Verdict | None:
        super().judge(account, event)
        return Verdict(Kind.ASK, self.name, self.layer, "more?", numbers={"limit": 1})


def test_who_is_asked_to_end_asks_nobody(journal: Journal) -> None:
    store, other = journal.open(), journal.open()
    run = LiveRun.start(store, [Placed(AsksAPerson(other))], policy="p", run_id="r1")
    run.heed()  # a server is not asked again at once for what only waits
    verdict, _ = run.propose(ev.StepBegins(id="s1", agent="a"))
    assert (verdict.kind, verdict.stop, run.account.asks.open) == (Kind.STOP, "aborted", {})
    assert [r.kind for r in other.whole("r1")] == ["run_begins", "ruled"]


def test_a_request_that_is_withdrawn_at_once_stops_nothing(journal: Journal) -> None:
    store, other = journal.open(), journal.open()
    run = LiveRun.start(store, [Placed(AsksToStop(other))], policy="p", run_id="r1")
    look, looks = store.stop_request, list[object]()

    def withdrawn(run_id: str) -> tuple[float, str] | None:
        looks.append(found := look(run_id))
        other.withdraw_stop("r1")
        return found if len(looks) == 1 else None

    store.stop_request = withdrawn  # type: ignore[method-assign]
    verdict, _ = run.propose(ev.StepBegins(id="s1", agent="a"))
    assert (verdict.kind, run.account.stopped, len(looks)) == (Kind.ALLOW, None, 2)
    assert [r.kind for r in other.whole("r1")] == ["run_begins", "step_begins"]


def test_a_run_of_another_process_is_stopped_at_its_next_call(journal: Journal) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | journal.env,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"

    def step() -> str:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("\n")
        child.stdin.flush()
        return child.stdout.readline().strip()

    assert step() == "ALLOW"
    store = journal.open()
    assert stop_run(store, "r1", "eve@desk") == "stopping"
    assert stop_run(store, "r1", "adam@desk") == "stopping"  # the first is on record
    assert step() == "STOP"
    child.communicate()
    assert store.info("r1").status == "stopped"
    ended = store.records("r1")[-1].body
    assert (ended["reason"], ended["rule"]) == ("aborted", "kill_switch")
    assert "stopped by eve@desk at " in ended["detail"]
    assert store.stop_request("r1") is None
    store.verify("r1")
    assert stop_run(store, "r1", "eve@desk") == "stopped already"


def test_a_run_nobody_has_is_ended_at_once_and_for_good(journal: Journal) -> None:
    store = journal.open()
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    run._lease.release()
    assert stop_run(store, "r1", "eve@desk") == "stopped"
    assert store.info("r1").status == "stopped"
    with pytest.raises(LedgerError, match="is over"):
        LiveRun.reopen(store, (), "r1")


def test_a_request_outlives_the_process_it_was_meant_for(journal: Journal) -> None:
    store = journal.open()
    run = LiveRun.start(store, (), policy="p", run_id="r1")
    assert stop_run(store, "r1", "eve@desk") == "stopping"
    run._lease.release()  # it died before its next call
    again = LiveRun.reopen(store, (), "r1")
    verdict, _ = again.propose(ev.StepBegins(id="s1", agent="a"))
    assert verdict.kind is Kind.STOP


def test_a_run_that_is_over_has_nothing_to_stop(journal: Journal) -> None:
    store = journal.open()
    LiveRun.start(store, (), policy="p", run_id="r1").end("done")
    with pytest.raises(RunOver, match="nothing to stop"):
        stop_run(store, "r1", "eve")


@pytest.mark.parametrize("reason", ["done", "tokens"])
def test_a_run_that_ends_between_two_looks_ended_by_itself(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    store, other = journal.open(), journal.open()
    run = LiveRun.start(other, (), policy="p", run_id="r1")
    look = Store.info

    def first(self: Store, run_id: str) -> RunInfo:
        found = look(self, run_id)
        if not run.account.ended:  # looked at, and then it ends
            run.end(reason)
        return found

    monkeypatch.setattr(Store, "info", first)
    if reason == "done":
        with pytest.raises(RunOver, match=r"^run r1 ended by itself \(done\) before it was"):
            stop_run(store, "r1", "eve")
    else:
        assert stop_run(store, "r1", "eve") == "stopped already"
    assert store.stop_request("r1") is None
    store.verify("r1")


def test_waiting_for_many_survives_one_that_ends_or_is_deleted(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = journal.open(), journal.open()
    runs = {name: LiveRun.start(other, (), policy="p", run_id=name) for name in ("r1", "r2", "r3")}
    assert {stop_run(store, name, "eve") for name in runs} == {"stopping"}
    request = Store.request_stop

    def end_them(self: Store, run_id: str, who: str) -> None:
        if run_id in ("r1", "r2"):
            runs[run_id].end("done")
        if run_id == "r2":
            other.delete("r2")
        request(self, run_id, who)

    monkeypatch.setattr(Store, "request_stop", end_them)
    assert await_stop(store, list(runs), 0) == ["r3"]
    assert store.stop_request("r1") is None
    assert store.stop_request("r2") is None
    assert store.rows("r2") == []  # nothing is written to what is gone
