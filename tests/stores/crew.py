"""Workers in processes of their own that are killed in the middle of what they do, and the books
held against what really happened.

`python crew.py FOLDER ARGS...` is the command line in the world of the crash tests: tools and model
write down what they do, and say it on standard output.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from journals import Journal

from roundsman.guard.states import Stopped
from roundsman.ledger import History, fold, new_run_id, settle_unknown

WORLD = Path(__file__).parents[1] / "crash" / "world.py"
FINDINGS = ["the valve was shut", "the pump was off"]
DYING = "waits to be killed"
SILENCE = 600.0
"""Seconds without a word from any worker after which something hangs."""
CALLS = 16
"""Model calls of an investigation that nothing disturbs."""


def world() -> Any:
    """The module of the crash tests."""
    spec = importlib.util.spec_from_file_location("world", WORLD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(folder: str, *args: str) -> None:
    """The command line, with every model call and tool run told on standard output too."""
    from roundsman.adk import current_run

    here = world()
    inner, every, done = here.Truth.line, int(os.environ.get("CREW_DIES_AT", 0)), itertools.count(1)

    def say(*words: object) -> None:
        # one write: a line of two threads at once would be two halves and an empty one
        sys.stdout.write(" ".join(map(str, words)) + "\n")
        sys.stdout.flush()

    def line(truth: Any, **what: Any) -> None:
        inner(truth, run=current_run().run_id, **what)
        say("did", *what.values())
        if next(done) == every and may_die(Path(folder)):
            say(DYING)
            threading.Event().wait()  # here it is killed, however late that comes

    here.Truth.line = line
    here.install(Path(folder), "")
    from roundsman.worker import jobs, service

    carry = jobs.carry

    def timed(job: Any, *rest: Any) -> Any:
        note(Path(folder), job.run_id, "began")
        until = time.monotonic() + SILENCE
        while begun(Path(folder)) < int(os.environ["CREW_TOGETHER"]) and time.monotonic() < until:
            time.sleep(0.01)
        try:
            return carry(job, *rest)
        finally:
            note(Path(folder), job.run_id, "ended")

    service.carry = timed
    if "CREW_MEETS" in os.environ:
        meet(Path(folder))
    from roundsman.cli import main as command_line

    command_line(list(args))


def meet(folder: Path) -> None:
    """The first worker that has counted the jobs under way takes none before another one began some,
    or cannot: the moment between a look and what is done upon it, made long."""
    import sqlalchemy

    def counted(_conn: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if not ("count(" in statement and "workflow_status" in statement):
            return
        try:
            (folder / "counted").touch(exist_ok=False)
        except FileExistsError:
            return
        until = time.monotonic() + 5
        while not (folder / "times.log").exists() and time.monotonic() < until:
            time.sleep(0.01)

    sqlalchemy.event.listen(sqlalchemy.Engine, "after_cursor_execute", counted)


def begun(folder: Path) -> int:
    """Investigations that some worker has begun; one that was taken over counts again."""
    return (folder / "times.log").read_text(encoding="utf-8").count('"began"')


def may_die(folder: Path) -> bool:
    """Whether this worker is one of those to be killed; each leave is given once."""
    for leave in folder.glob("leave-*"):
        with suppress(FileNotFoundError):
            leave.unlink()
            return True
    return False


def note(folder: Path, run: str, what: str) -> None:
    """A line with the clock all processes of a machine share."""
    with (folder / "times.log").open("a", encoding="utf-8") as out:
        row = {"run": run, "what": what, "at": time.monotonic(), "pid": os.getpid()}
        out.write(json.dumps(row) + "\n")


@dataclass
class Crew:
    """Some workers on one journal; `lines` of all of them arrive in one place."""

    journal: Journal
    running: dict[int, subprocess.Popen[str]] = field(default_factory=dict)
    lines: queue.Queue[tuple[int, str | None]] = field(default_factory=queue.Queue)
    killed: dict[int, float] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    through: tuple[str, ...] = ()
    together: int = 1
    """Investigations that have to have begun before the first of them goes on."""

    @property
    def home(self) -> Path:
        """Where truth and journal are."""
        return self.journal.home

    def start(self, *args: str, env: Mapping[str, str] = MappingProxyType({})) -> int:
        """Another worker; its pid, or that of what it runs `through`."""
        own = {"PYTHONPATH": str(Path(__file__).parent), "CREW_TOGETHER": str(self.together)}
        process = subprocess.Popen(
            [*self.through, sys.executable, __file__, str(self.home), "worker", *args],
            env=os.environ | self.journal.env | own | env,
            stdout=subprocess.PIPE,
            stderr=(self.home / "errors.txt").open("a"),
            text=True,
        )
        self.running[process.pid] = process
        threading.Thread(target=self._read, args=(process,), daemon=True).start()
        return process.pid

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.lines.put((process.pid, line.rstrip()))
        process.wait()
        self.lines.put((process.pid, None))

    def kill(self, pid: int) -> None:
        """As a machine that loses its power."""
        self.killed[pid] = time.monotonic()
        self.running[pid].send_signal(signal.SIGKILL)

    def end(self) -> None:
        """Whoever is left."""
        for process in self.running.values():
            process.kill()
            process.wait()

    def submit(self, jobs: int) -> list[str]:
        """Ask for so many investigations."""
        from roundsman.worker import Job, Queue

        folder = self.home / "incident"
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        row = {"ts": "2026-11-30T10:00:00Z", "level": "ERROR", "service": "pump", "msg": "dry"}
        (folder / "logs" / "pump.ndjson").write_text(json.dumps(row) + "\n", encoding="utf-8")
        policy = self.home / "policy.yaml"
        policy.write_text(world().POLICY, encoding="utf-8")
        asked = [Job(new_run_id(), str(folder), policy=str(policy)) for _ in range(jobs)]
        with Queue() as waiting:
            for job in asked:
                waiting.submit(job)
        return [job.run_id for job in asked]

    def work(self, workers: int, every: int, kills: int, *args: str) -> None:
        """Let them work until no job is left; a worker that has done `every` things is killed inside of
        the last and another one started, `kills` times in all. Ways of the person: see `answer`."""
        for number in range(kills):
            (self.home / f"leave-{number}").touch()
        env = {"CREW_DIES_AT": str(every)}
        for _ in range(workers):
            self.start(*args, "--until-empty", env=env)
        while self.running:
            pid, line = self.lines.get(timeout=SILENCE)
            if line is None:
                code = self.running.pop(pid).returncode
                assert code == (-9 if pid in self.killed else 0), (code, self.errors())
                if pid in self.killed:
                    self.start("--until-empty", env=env)
                continue
            self.said.append(line)
            if line == DYING:
                self.kill(pid)

    def errors(self) -> str:
        """What they said on standard error."""
        return (self.home / "errors.txt").read_text(encoding="utf-8")[-1500:]

    def truth(self) -> list[dict[str, Any]]:
        """What really happened."""
        text = (self.home / "truth.log").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def answer(self) -> int:
        """As the person: say of each unknown write what is true, and hand the run back."""
        from roundsman.worker import Job, Queue

        truth, answered = self.truth(), 0
        store = self.journal.open()
        with Queue() as waiting:
            for info in store.runs():
                if info.status == "done":
                    continue
                for action in History(store.records(info.run_id)).unknown:
                    ran = any(t.get("args") == dict(action.args) for t in truth)
                    word = "done" if ran else "again"
                    settle_unknown(store, info.run_id, action.id, word, by="the test")
                waiting.submit(Job(info.run_id, again=True))
                answered += 1
        store.close()
        return answered

    def at_once(self) -> int:
        """The most investigations that were under way at one time."""
        rows = [
            json.loads(line)
            for line in (self.home / "times.log").read_text(encoding="utf-8").splitlines()
        ]
        open_by: dict[int, list[str]] = {}
        dead = set()
        steps = [(row["at"], row["pid"], row["run"], row["what"]) for row in rows]
        steps += [(at, pid, "", "killed") for pid, at in self.killed.items()]
        most = 0
        for _, pid, run, what in sorted(steps):
            mine = open_by.setdefault(pid, [])
            if pid in dead:
                continue  # begun between our clock and its end: who took it over counts it
            if what == "began":
                mine.append(run)
            elif what == "ended" and run in mine:
                mine.remove(run)
            elif what == "killed":
                mine.clear()
                dead.add(pid)
            most = max(most, sum(map(len, open_by.values())))
        return most


def check(crew: Crew, asked: list[str]) -> None:
    """The promises, run by run, against the truth."""
    truth = crew.truth()
    store = crew.journal.open()
    assert sorted(i.run_id for i in store.runs()) == sorted(asked), "one run for each job"
    for run_id in asked:
        mine = [t for t in truth if t["run"] == run_id]
        store.verify(run_id)
        records, report, info = store.records(run_id), store.report(run_id), store.info(run_id)
        assert info.status == "done", run_id
        assert report is not None
        assert [f["statement"] for f in report["findings"]] == FINDINGS, run_id
        begun = [r.body["id"] for r in records if r.kind == "step_begins"]
        ended = [r for r in records if r.kind == "step_ends"]
        actions = [r for r in records if r.kind == "action_begins"]
        went_well = [r for r in records if r.kind == "action_ends" and r.body["status"] == "ok"]
        ran = [t for t in mine if "ran" in t]
        model = [t for t in mine if "asked" in t]
        deaths = sum(1 for r in records if r.kind == "run_resumes")
        assert len(ended) <= len(model) <= len(begun), run_id
        assert len(model) <= CALLS + deaths, run_id
        assert len(went_well) <= len(ran) <= len(actions), run_id
        writes = sorted(t["round"] for t in ran if t["ran"] == "set_valve")
        assert writes == [1, 3], f"{run_id}: each write once, never twice: {writes}"
        account = fold(records)
        assert account.steps == len(begun), run_id
        assert info.usage["steps"] == len(begun), run_id
        assert account.tokens >= 100 * len(ended), run_id
        assert isinstance(account.ending, Stopped)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
