"""Kill a run that asks a person (for one call, and at a limit), and the commands that answer it, at
every write of the store and inside of every call: a write happens once, an approval serves once."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_kill_anywhere import WORLD, Place, small_incident

from roundsman.drill.database_server import DatabaseServer
from roundsman.guard import events as ev
from roundsman.ledger import History, fold
from roundsman.ledger.asking import asked_in

STORY = ("begin", "approve", "resume", "grant", "resume")


@dataclass
class Story(Place):
    """A place where a run is begun, and then asked about and taken up until it is over."""

    def act(self, what: str, kill: str = "") -> int:
        if what == "begin":
            (self.home / "asking").touch()
            spec = importlib.util.spec_from_file_location("world_asking", WORLD)
            assert spec is not None
            assert spec.loader is not None
            world = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(world)
            policy = self.home / "policy.yaml"
            policy.write_text(world.ASKING, encoding="utf-8")
            folder = small_incident(self.home / "incident")
            return self.run(kill, "investigate", str(folder), "--policy", str(policy), "--json")
        run_id = self.run_id()
        assert run_id is not None
        more = ["--steps", "5"] if what == "grant" else []
        return self.run(kill, what, run_id, *more)

    def to_the_end(self) -> None:
        """Do what a person does: answer what is asked, look at what is unknown, go on."""
        for _ in range(8):
            code = self.act("resume")
            if code == 0:
                return
            assert code == 5, (self.home / "out.txt").read_text(encoding="utf-8")[-1500:]
            self._answer()
        raise AssertionError("never came to an end")

    def _answer(self) -> None:
        run_id = self.run_id()
        assert run_id is not None
        store = self.store()
        records = store.records(run_id)
        store.close()
        open_ = fold(records).asks.open.values()
        unknown = History(records).unknown
        assert unknown or open_, "waits for a person without a question"
        for action in unknown:
            done = any(t.get("args") == dict(action.args) for t in self.truth())
            assert self.run("", "settle", run_id, action.id, "done" if done else "again") == 0
        if not unknown:
            for question in open_:
                assert self.act("grant" if question.limits else "approve") == 0


def check(story: Story, told: str) -> None:
    run_id = story.run_id()
    assert run_id is not None
    store = story.store()
    store.verify(run_id)
    records, report = store.records(run_id), store.report(run_id)
    assert store.info(run_id).status == "done", told
    store.close()
    assert report is not None, told
    assert [f["statement"] for f in report["findings"]] == ["the valve was shut"], told
    truth = story.truth()
    writes = [t["ran"] for t in truth if t.get("ran") in ("set_valve", "open_gate")]
    assert writes == ["set_valve", "open_gate"], told  # once, and none overtook the other
    deaths = sum(1 for r in records if r.kind == "run_resumes")
    assert len([t for t in truth if "asked" in t]) <= 2 + deaths, told
    approvals = [
        r.body["approval"] for r in records if r.kind == "action_begins" and r.body["approval"]
    ]
    assert len(approvals) == len(set(approvals)), told  # each served once
    answers = [r.body["id"] for r in records if r.kind == ev.Answered.kind]
    assert len(answers) == len(set(answers)), told
    assert all(answered for _, answered in asked_in(records).values()), told
    account = fold(records)
    assert account.asks.granted == {"steps": 5}, told
    assert account.steps == len([r for r in records if r.kind == "step_begins"]), told


@dataclass
class Told:
    """The story told once: `points` are (how things stood, what was done then, where it may die)."""

    points: list[tuple[Path, str, str, str]]
    server: DatabaseServer | None = None

    def before(self, home: Path, url: str, to: Path) -> Story:
        """A copy of how things stood."""
        shutil.copytree(home, to)
        return Story(to, self.server.copy_of(url) if self.server else "")


def tell(folder: Path, server: DatabaseServer | None) -> Told:
    """Tell the story, and keep how things stood before each of its parts."""
    import roundsman.investigate.resume  # so that children need not load it again

    assert roundsman.investigate.resume
    (folder / "story").mkdir()
    story = Story(folder / "story", server.new_database() if server else "")
    told = Told([], server)
    for number, what in enumerate(STORY):
        before = told.before(story.home, story.url, folder / f"before-{number}")
        last = number == len(STORY) - 1
        asks = what in ("begin", "resume") and not last
        assert story.act(what) == (5 if asks else 0), (story.home / "out.txt").read_text()
        # what is durable changes only inside of a point: before one it is as after the one before
        points = [p for n, p in enumerate(story.points) if n == 0 or "-before" not in p]
        told.points += [(before.home, before.url, what, point) for point in points]
    check(story, "not killed")
    return told


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return tell(tmp_path_factory.mktemp("told"), None)


def test_asking_and_answering_are_points_of_death(told: Told) -> None:
    assert {what for _, _, what, _ in told.points} == set(STORY)
    points = json.dumps([point for *_, point in told.points])
    for kind in (ev.Asked.kind, ev.Answered.kind, "run_resumes", "action_begins"):
        assert kind in points


def kill_at(told: Told, points: Sequence[tuple[Path, str, str, str]], folder: Path) -> None:
    """Die at each of these points, be taken up by a person, and hold what came of it to the truth."""
    for number, (before, url, what, point) in enumerate(points):
        story = told.before(before, url, folder / str(number))
        assert story.act(what, kill=point) == -9, point
        if story.run_id() is None:  # died before there was a run
            assert story.truth() == []
            continue
        story.to_the_end()
        check(story, f"{what}: {point}")


@pytest.mark.slow
def test_killed_at_any_point_a_write_happens_once(told: Told, tmp_path: Path) -> None:
    kill_at(told, told.points, tmp_path)


@pytest.mark.slow
def test_killed_while_asking_with_the_journal_in_postgresql(
    tmp_path: Path, postgres: DatabaseServer
) -> None:
    told = tell(tmp_path, postgres)
    around = ("asked", "answered", "set_valve", "open_gate", "finish")
    points = [one for one in told.points if one[3].endswith(("-after:1", "-after:2"))]
    points = [one for one in points if any(word in one[3] for word in around)]
    assert len(points) == 7
    kill_at(told, points, tmp_path / "killed")
