"""Kill an investigation (SIGKILL) at every write of its store and inside of every call, resume it in
a new process, and hold the journal against what really happened."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from journals import Journal

from roundsman.drill.database_server import DatabaseServer
from roundsman.ledger import Store, fold

WORLD = Path(__file__).with_name("world.py")
CALLS = 16
"""Model calls of a run that nothing disturbs."""
FINDINGS = ["the valve was shut", "the pump was off"]


def small_incident(folder: Path) -> Path:
    """An incident that takes no time to read: what is asked of it is answered by the world."""
    (folder / "logs").mkdir(parents=True)
    line = '{"ts": "2026-11-30T10:00:00Z", "level": "ERROR", "service": "pump", "msg": "dry"}\n'
    (folder / "logs" / "pump.ndjson").write_text(line, encoding="utf-8")
    return folder


@dataclass
class Place:
    """One journal, one truth. `url`: of a database, empty for a file."""

    home: Path
    url: str = ""

    def run(self, kill: str, *args: str) -> int:
        """The command line in a forked child; its exit code, -9 when it was killed."""
        child = os.fork()
        if child == 0:  # pragma: no cover - the child never returns
            code = 70
            try:
                sys.stdout = sys.stderr = (self.home / "out.txt").open("a", encoding="utf-8")  # type: ignore[assignment]
                os.dup2(sys.stdout.fileno(), 1)
                os.dup2(sys.stdout.fileno(), 2)
                os.environ |= Journal(self.home, self.url).env
                spec = importlib.util.spec_from_file_location("world", WORLD)
                assert spec is not None
                assert spec.loader is not None
                world = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(world)
                world.main(str(self.home), kill, *args)
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else 0
            finally:
                sys.stdout.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)

    def begin(self, kill: str = "") -> int:
        policy = self.home / "policy.yaml"
        spec = importlib.util.spec_from_file_location("world_policy", WORLD)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        policy.write_text(module.POLICY, encoding="utf-8")
        folder = small_incident(self.home / "incident")
        return self.run(kill, "investigate", str(folder), "--policy", str(policy), "--json")

    @property
    def points(self) -> list[str]:
        return json.loads((self.home / "points.json").read_text(encoding="utf-8"))

    def truth(self) -> list[dict[str, Any]]:
        file = self.home / "truth.log"
        if not file.exists():
            return []
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    def store(self) -> Store:
        return Journal(self.home, self.url).open()

    def run_id(self) -> str | None:
        store = self.store()
        runs = store.runs()
        store.close()
        return runs[0].run_id if runs else None


def resumed(place: Place, kill: str = "") -> int:
    """Resume, answering for unknown writes by what the truth says, until it ends or is killed."""
    run_id = place.run_id()
    assert run_id is not None
    for _ in range(4):
        code = place.run(kill, "resume", run_id, "--json")
        if code != 5:
            return code
        store = place.store()
        from roundsman.ledger import History

        unknown = History(store.records(run_id)).unknown
        store.close()
        assert unknown, "waits for a person without a question"
        for action in unknown:
            done = any(t.get("args") == dict(action.args) for t in place.truth())
            assert place.run("", "settle", run_id, action.id, "done" if done else "again") == 0
    raise AssertionError("never came to an end")


def check(place: Place, told: str) -> None:
    """The promises, held against the truth."""
    run_id = place.run_id()
    assert run_id is not None
    store = place.store()
    store.verify(run_id)
    records, report = store.records(run_id), store.report(run_id)
    assert store.info(run_id).status == "done", told
    store.close()
    truth = place.truth()
    assert report is not None, told
    assert [f["statement"] for f in report["findings"]] == FINDINGS, told
    assert report["stop"]["reason"] == "done", told

    def ids(kind: str) -> list[str]:
        return [r.body["id"] for r in records if r.kind == kind]

    ran = [t for t in truth if "ran" in t]
    asked = [t for t in truth if "asked" in t]
    assert len(ids("step_ends")) <= len(asked) <= len(ids("step_begins")), told
    ended = [r for r in records if r.kind == "action_ends" and r.body["status"] == "ok"]
    assert len(ended) <= len(ran) <= len(ids("action_begins")), told
    writes = [t for t in ran if t["ran"] == "set_valve"]
    assert sorted(t["round"] for t in writes) == [1, 3], told  # each write once, never twice
    assert not [t for t in ran if t["ran"] == "restart_pod"], told
    account = fold(records)
    assert account.steps == len(ids("step_begins")), told
    assert account.tokens >= 100 * len(ids("step_ends")), told
    assert len(report["cuts"]) == 2, told
    assert [r["tool"] for r in report["refused"]] == ["restart_pod"], told
    assert report["refused"][0]["count"] == 1, told
    # a reply that was recorded is not asked for again: each death costs one call at most
    deaths = sum(1 for r in records if r.kind == "run_resumes")
    assert len(asked) <= CALLS + deaths, told


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """One run to the end, for the points it passes."""
    import roundsman.investigate.resume  # so that children need not load it again

    assert roundsman.investigate.resume
    place = Place(tmp_path_factory.mktemp("whole"))
    assert place.begin() == 0, (place.home / "out.txt").read_text(encoding="utf-8")[-2000:]
    check(place, "not killed")
    assert len([t for t in place.truth() if "asked" in t]) == CALLS
    return place


def test_every_kind_of_record_is_a_point_of_death(whole: Place) -> None:
    store = whole.store()
    kinds = {r.kind for r in store.records(whole.run_id() or "")}
    store.close()
    assert kinds >= {
        "run_begins", "round_begins", "step_begins", "step_ends", "action_begins", "action_ends",
        "ruled", "round_ends", "run_ends",
    }  # fmt: skip
    text = " ".join(whole.points)
    for kind in kinds - {"run_ends"}:  # rides in `finish`
        assert kind in text, f"no point writes {kind}"
    assert {"finish-before:1", "finish-after:1", "save_report-before:1"} <= set(whole.points)


PARTS = 6
"""A matrix is dealt out to tests of the same length, which run side by side."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_any_point_a_run_is_resumed_without_a_loss(
    part: int, whole: Place, tmp_path: Path
) -> None:
    points = whole.points[part::PARTS]
    assert points
    for number, point in enumerate(points):
        place = Place(tmp_path / str(number))
        place.home.mkdir()
        assert place.begin(kill=point) == -9, point
        if place.run_id() is None:  # died before there was a run: nothing to resume, nothing lost
            assert place.truth() == []
            continue
        assert resumed(place) == 0, f"{point}: {(place.home / 'out.txt').read_text()[-1500:]}"
        check(place, point)


@pytest.mark.slow
def test_killed_with_the_journal_in_postgresql(
    whole: Place, tmp_path: Path, postgres: DatabaseServer
) -> None:
    points = [p for p in whole.points if p.startswith(("set_valve", "finish", "save_report"))]
    for number, point in enumerate([*points, *whole.points[7::40]]):
        place = Place(tmp_path / str(number), postgres.new_database())
        place.home.mkdir()
        assert place.begin(kill=point) == -9, point
        assert resumed(place) == 0, f"{point}: {(place.home / 'out.txt').read_text()[-1500:]}"
        check(place, point)


def _some(points: list[str]) -> Iterator[str]:
    yield from points[5::9]


@pytest.mark.slow
@pytest.mark.parametrize(
    "again", ["commit(run_resumes)-after:1", "model-after:1", "commit(step_begins)-before:1"]
)
def test_killed_again_while_being_resumed(again: str, whole: Place, tmp_path: Path) -> None:
    for number, point in enumerate(_some(whole.points)):
        place = Place(tmp_path / str(number))
        place.home.mkdir()
        assert place.begin(kill=point) == -9, point
        if place.run_id() is None:
            continue
        code = resumed(place, kill=again)
        if code == -9:
            code = resumed(place)
        assert code == 0, f"{point}, then {again}"
        check(place, f"{point}, then {again}")


def test_in_a_process_of_its_own_too(whole: Place, tmp_path: Path) -> None:
    point = next(p for p in whole.points if p.startswith("set_valve-after"))
    policy = whole.home / "policy.yaml"
    env = os.environ | {"ROUNDSMAN_HOME": str(tmp_path)}
    command = [
        sys.executable,
        str(WORLD),
        str(tmp_path),
        point,
        "investigate",
        str(small_incident(tmp_path / "incident")),
    ]
    killed = subprocess.run([*command, "--policy", str(policy)], env=env, capture_output=True)
    assert killed.returncode == -9
    place = Place(tmp_path)
    assert resumed(place) == 0
    check(place, point)
