"""Killed at any write of the store, and inside of applying and undoing: each is done once, and what
became of it is told."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from remedy_deaths import child
from remedy_world import World, broken_world, still_broken

from roundsman.investigate.run import investigate
from roundsman.ledger import Store, fold
from roundsman.policy import load_policy
from roundsman.remedy.outcome import report_of

OWN = "remedy_deaths:Counted"


@dataclass
class Story:
    """A finished investigation, and a remedy that does not help."""

    world: World
    home: Path
    of: str

    @property
    def truth(self) -> list[str]:
        file = self.world.here / "truth"
        return file.read_text().split() if file.exists() else []

    @property
    def points(self) -> list[str]:
        return json.loads((self.world.here / "points.json").read_text())

    def store(self) -> Store:
        return Store(self.home / "runs.sqlite")

    def run_id(self) -> str:
        store = self.store()
        found = [one for one in store.ids() if one != self.of]
        store.close()
        return found[0] if found else ""

    def act(self, what: str, kill: str = "") -> int:
        still_broken(self.world)
        args = ["resume", self.run_id()]
        if what == "begin":
            args = ["remedy", "apply", self.of, "counted", "--remedies", OWN]
            args += ["--remedies", str(self.world.remedies)]
        elif what == "approve":
            args = ["approve", self.run_id()]
        return child(self.world.here, self.home, kill, *args)

    def at(self, home: Path, here: dict[str, str]) -> None:
        """Put journal and world to how they stood."""
        shutil.rmtree(self.home)
        shutil.copytree(home, self.home)
        for name in ("truth", "switch"):
            file = self.world.here / name
            file.unlink(missing_ok=True)
            if name in here:
                file.write_text(here[name])

    def standing(self) -> dict[str, str]:
        files = (self.world.here / name for name in ("truth", "switch"))
        return {file.name: file.read_text() for file in files if file.exists()}

    def to_the_end(self) -> None:
        """What a person does who finds it so: take it up, and answer what is asked."""
        for _ in range(4):
            code = self.act("resume")
            if code == 4:
                return
            assert code == 5, (self.world.here / "out.txt").read_text()[-1500:]
            assert self.act("approve") == 0
        raise AssertionError("never came to an end")


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    import roundsman.remedy.run  # so that children need not load it again

    assert roundsman.remedy.run
    folder = tmp_path_factory.mktemp("deaths")
    world = broken_world(folder / "world")
    world.declare(within="0.25s")
    home = folder / "home"
    home.mkdir()
    store = Store(home / "runs.sqlite")
    report, _ = investigate(world.incident, load_policy("default"), store=store)
    store.close()
    return Story(world, home, report["run_id"])


def check(story: Story, told: str) -> None:
    assert story.truth == ["apply", "undo"], told
    assert (story.world.here / "switch").read_text() == "off", told
    store, run_id = story.store(), story.run_id()
    store.verify(run_id)
    report, records = report_of(store, run_id), store.records(run_id)
    assert (report["outcome"], store.info(run_id).status) == ("rolled back", "done"), told
    assert store.report(run_id) is not None, told
    store.close()
    assert fold(records).ended, told
    approvals = [r.body["approval"] for r in records if r.kind == "action_begins"]
    assert len([one for one in approvals if one]) >= 1, told


@pytest.mark.slow
def test_killed_at_any_point_a_remedy_is_applied_and_undone_once(
    story: Story, tmp_path: Path
) -> None:
    told = []
    for number, (what, code) in enumerate((("begin", 5), ("approve", 0), ("resume", 4))):
        home = tmp_path / f"before-{number}"
        shutil.copytree(story.home, home)
        here = story.standing()
        assert story.act(what) == code, (story.world.here / "out.txt").read_text()[-3000:]
        # what is durable changes only inside of a point: before one it is as after the one before
        durable = ("-after", "run_begins)-before", "apply-before", "undo-before")
        points = [p for p in story.points if any(one in p for one in durable)]
        points = [p for p in points if what == "resume" or "save_report" not in p]
        told += [(home, here, what, point) for point in points]
    check(story, "not killed")
    assert {p for *_, p in told} >= {"apply-before:1", "apply-after:1", "undo-after:1"}
    assert "+asked)" in json.dumps([p for *_, p in told])
    for home, here, what, point in told:
        story.at(home, here)
        assert story.act(what, kill=point) == -9, point
        if not story.run_id():  # died before there was a run
            assert story.truth == []
            continue
        story.to_the_end()
        check(story, f"{what}: {point}")


def fresh(story: Story, tmp_path: Path) -> Story:
    """The same investigation, before any remedy."""
    shutil.copytree(story.home, tmp_path / "home")
    mine = Story(story.world, tmp_path / "home", story.of)
    for name in ("truth", "switch"):
        (mine.world.here / name).unlink(missing_ok=True)
    store = mine.store()
    for one in [one for one in store.ids() if one != mine.of]:
        store.delete(one)
    store.close()
    return mine


def begun(story: Story, tool: str) -> str:
    """The id of the call of a tool that is on record as begun."""
    store = story.store()
    records = store.records(story.run_id())
    store.close()
    return next(
        r.body["id"] for r in records if r.kind == "action_begins" and r.body["tool"] == tool
    )


@pytest.mark.parametrize(
    ("died", "decision"), [("apply-after:1", "done"), ("apply-before:1", "again")]
)
def test_what_nothing_can_tell_a_person_is_asked(
    story: Story, tmp_path: Path, died: str, decision: str
) -> None:
    mine = fresh(story, tmp_path)
    (mine.world.here / "blind").touch()
    try:
        assert (mine.act("begin"), mine.act("approve")) == (5, 0)
        assert mine.act("resume", kill=died) == -9
        assert mine.act("resume") == 5  # nothing more is done before somebody has looked
        store = mine.store()
        assert report_of(store, mine.run_id())["outcome"] == "unknown"
        store.close()
        assert mine.truth == ["apply"] * (decision == "done")
        run_id = mine.run_id()
        action = begun(mine, "apply_counted")
        assert child(mine.world.here, mine.home, "", "settle", run_id, action, decision) == 0
        assert mine.act("resume") == 4
        assert mine.truth == ["apply", "undo"]
    finally:
        (mine.world.here / "blind").unlink()


@pytest.mark.parametrize(
    ("decision", "truth", "outcome"),
    [
        ("again", ["apply", "undo", "undo"], "rolled back"),
        ("not-done", ["apply", "undo"], "roll back failed"),
    ],
)
def test_an_undo_that_cannot_tell_whether_all_of_it_was_done_is_asked_about(
    story: Story, tmp_path: Path, decision: str, truth: list[str], outcome: str
) -> None:
    mine = fresh(story, tmp_path)
    (mine.world.here / "deploys").touch()
    try:
        assert (mine.act("begin"), mine.act("approve")) == (5, 0)
        assert mine.act("resume", kill="undo-after:1") == -9
        assert (
            mine.act("resume") == 5
        )  # the switch is off, and yet it is not said to be rolled back
        store = mine.store()
        assert report_of(store, mine.run_id())["outcome"] == "unknown"
        store.close()
        action = begun(mine, "undo_counted")
        settle = ("settle", mine.run_id(), action, decision)
        assert child(mine.world.here, mine.home, "", *settle) == 0
        assert mine.act("resume") == 4
        assert mine.truth == truth
        store = mine.store()
        assert report_of(store, mine.run_id())["outcome"] == outcome
        store.close()
    finally:
        (mine.world.here / "deploys").unlink()
