"""Kill apps in which agents are below agents (SIGKILL) at writes of their journal and inside of calls,
take them up in a new process, and hold what came of it against the run that nothing disturbed."""

from __future__ import annotations

import json
import os
import re
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import below
import pytest

from roundsman.ledger import History, Store, fold, settle_unknown
from roundsman.ledger.records import Record

EVERY = 79
"""One in so many points of an app is a death of the matrix; a prime, so that kinds of points take turns."""


@dataclass
class Place:
    """One journal, one truth."""

    home: Path
    app: str

    def run(self, kill: int = 0, run_id: str = "") -> int:
        """The app in a forked child; its exit code, -9 when it was killed."""
        child = os.fork()
        if child == 0:  # pragma: no cover - the child never returns
            code = 70
            try:
                out = os.open(self.home / "out.txt", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
                os.dup2(out, 1)
                os.dup2(out, 2)
                below.main(self.home, self.app, kill, run_id)
                code = 0
            except BaseException:
                (self.home / "error.txt").write_text(traceback.format_exc(), encoding="utf-8")
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)

    def records(self) -> list[Record]:
        store = Store(self.home / "runs.sqlite")
        records = [r for run_id in store.ids() for r in store.whole(run_id)]
        store.close()
        return records

    def truth(self) -> list[dict[str, Any]]:
        file = self.home / "truth.log"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]

    def resumed(self) -> int | None:
        """Settle what is unknown by the truth and go on; None when there is nothing to go on with."""
        store = Store(self.home / "runs.sqlite")
        try:
            ids = store.ids()
            if not ids or store.info(ids[0]).status == "done":
                return None
            records = store.records(ids[0])
            for action in History(records).unknown:
                real = sum(
                    (t["did"], t["what"]) == (action.tool, action.args["what"])
                    for t in self.truth()
                )
                known = sum(
                    r.kind == "action_ends" and r.body["call"] == action.call for r in records
                )
                settle_unknown(
                    store, ids[0], action.id, "done" if real > known else "again", by="eve"
                )
        finally:
            store.close()
        return self.run(run_id=ids[0])


@dataclass
class Told:
    """What came of a run."""

    status: str
    said: str
    rounds: int
    writes: Counter[str]
    reads: Counter[str]
    asked: Counter[str]
    under_way: Counter[str]
    """Of steps by agent and of actions by tool: begun, and without an end."""

    @classmethod
    def of(cls, place: Place) -> Told:
        records, truth = place.records(), place.truth()
        store = Store(place.home / "runs.sqlite")
        [run_id] = store.ids()
        store.verify(run_id)
        status = store.info(run_id).status
        store.close()
        account = fold(records)
        assert account.steps == sum(r.kind == "step_begins" for r in records)
        over = {r.body["id"] for r in records if r.kind in ("step_ends", "action_ends")}
        begun = [r.body for r in records if r.kind in ("step_begins", "action_begins")]
        said = json.loads((place.home / "out.json").read_text(encoding="utf-8"))["said"]
        return cls(
            status,
            re.sub(r"adk-[0-9a-f-]+", "call", json.dumps(said)),
            account.rounds,
            Counter(t["what"] for t in truth if t["did"] == "paint"),
            Counter(t["what"] for t in truth if t["did"] == "look"),
            Counter(t["what"] for t in truth if t["did"] == "asked"),
            Counter(b.get("tool") or b["agent"] for b in begun if b["id"] not in over),
        )


def check(told: Told, whole: Told, point: str) -> None:
    assert told.status == "done", f"{point}: {told.said}"
    assert told.said == whole.said, point
    assert told.rounds == whole.rounds, point
    assert told.writes == whole.writes, point  # each once
    assert not whole.reads - told.reads, point
    assert (told.reads - whole.reads).total() <= told.under_way["look"], point
    assert not whole.asked - told.asked, point
    assert not told.asked - whole.asked - told.under_way, point  # none that is on record


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What an app loads when it first runs, once for all children."""
    below.undisturbed(tmp_path_factory.mktemp("loaded"), next(iter(below.APPS)))


@pytest.mark.slow
@pytest.mark.parametrize("app", below.APPS)
def test_killed_with_agents_below_agents_a_run_ends_as_if_nothing_had_happened(
    app: str, tmp_path: Path
) -> None:
    undisturbed = Place(tmp_path / "whole", app)
    undisturbed.home.mkdir()
    assert undisturbed.run() == 0, (undisturbed.home / "error.txt").read_text()[-1500:]
    whole = Told.of(undisturbed)
    assert whole.status == "done"
    assert whole.writes
    points = json.loads((undisturbed.home / "out.json").read_text(encoding="utf-8"))["points"]
    for number in range(1 + 7 * len(app) % EVERY, len(points), EVERY):
        place = Place(tmp_path / str(number), app)
        place.home.mkdir()
        assert place.run(kill=number) == -9
        code = place.resumed()
        if code is None:
            continue
        assert code == 0, (place.home / "error.txt").read_text()[-1500:]
        check(Told.of(place), whole, f"{number}: {points[number - 1]}")
