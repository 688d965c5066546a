"""Kill a run that asks a person (for one call, and at a limit), and the commands that answer it, at
every write of the store and inside of every call: a write happens once, an approval serves once."""

from __future__ import annotations

import importlib.util
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from test_kill_anywhere import WORLD, Place, small_incident

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


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, str, str]]:
    """The story told once: (how things stood, what was done then, a point it passes)."""
    import roundsman.investigate.resume  # so that children need not load it again

    assert roundsman.investigate.resume
    story = Story(tmp_path_factory.mktemp("told"))
    found = []
    for number, what in enumerate(STORY):
        before = tmp_path_factory.mktemp(f"before-{number}") / "home"
        shutil.copytree(story.home, before)
        last = number == len(STORY) - 1
        asks = what in ("begin", "resume") and not last
        assert story.act(what) == (5 if asks else 0), (story.home / "out.txt").read_text()
        # what is durable changes only inside of a point: before one it is as after the one before
        points = [p for n, p in enumerate(story.points) if n == 0 or "-before" not in p]
        found += [(before, what, point) for point in points]
    check(story, "not killed")
    return found


def test_asking_and_answering_are_points_of_death(told: list[tuple[Path, str, str]]) -> None:
    assert {what for _, what, _ in told} == set(STORY)
    points = json.dumps([point for _, _, point in told])
    for kind in (ev.Asked.kind, ev.Answered.kind, "run_resumes", "action_begins"):
        assert kind in points


@pytest.mark.slow
def test_killed_at_any_point_a_write_happens_once(
    told: list[tuple[Path, str, str]], tmp_path: Path
) -> None:
    for number, (before, what, point) in enumerate(told):
        story = Story(tmp_path / str(number))
        shutil.copytree(before, story.home)
        assert story.act(what, kill=point) == -9, point
        if story.run_id() is None:  # died before there was a run
            assert story.truth() == []
            continue
        story.to_the_end()
        check(story, f"{what}: {point}")
