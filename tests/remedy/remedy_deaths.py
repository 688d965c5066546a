"""A remedy that counts what it really does, in a process that can be killed at any write of its store or
inside of any of its calls."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roundsman.ledger import Store
from roundsman.remedy import Finding, Remedy
from roundsman.remedy.names import NODES

STEERING = {*NODES} - {"after_apply", "after_verify"}
"""Nodes that only hand on: two of them stand for the rest as places to die at."""


@dataclass
class Deaths:
    """Points this process passes; the one named `kill` ends it."""

    here: Path
    kill: str = ""
    seen: dict[str, int] = field(default_factory=dict)
    points: list[str] = field(default_factory=list)

    def point(self, kind: str) -> None:
        self.seen[kind] = self.seen.get(kind, 0) + 1
        name = f"{kind}:{self.seen[kind]}"
        self.points.append(name)
        if name == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)

    def line(self, what: str) -> None:
        with (self.here / "truth").open("a") as out:
            out.write(what + "\n")


DEATHS: list[Deaths] = []


class Counted(Remedy):
    name = "counted"
    about = "switch a switch"

    def call_for(self, finding: Finding) -> dict[str, Any]:
        return {"switch": str(DEATHS[0].here / "switch")}

    def dry_run(self, switch: str, **rest: Any) -> list[str]:
        return [f"write on into {switch}"]

    def apply(self, switch: str, **rest: Any) -> str:
        return self._set(switch, "apply", "on")

    def undo(self, switch: str, **rest: Any) -> str:
        return self._set(switch, "undo", "off")

    def was_applied(self, switch: str, **rest: Any) -> bool | None:
        if (DEATHS[0].here / "blind").exists():
            return None
        return Path(switch).exists() and Path(switch).read_text() == "on"

    def was_undone(self, switch: str, **rest: Any) -> bool | None:
        if (
            DEATHS[0].here / "deploys"
        ).exists():  # as if undoing ran a command that leaves no trace
            return None
        return super().was_undone(switch=switch, **rest)

    def _set(self, switch: str, what: str, value: str) -> str:
        DEATHS[0].point(f"{what}-before")
        DEATHS[0].line(what)
        Path(switch).write_text(value)
        DEATHS[0].point(f"{what}-after")
        return f"it is {value}"


def child(here: Path, home: Path, kill: str, *args: str) -> int:
    """The command line in a forked child; its exit code, -9 when it was killed. Its points are left in
    `points.json`."""
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the child never returns
        code = 70
        try:
            sys.stdout = sys.stderr = (here / "out.txt").open("a")  # type: ignore[assignment]
            os.environ["ROUNDSMAN_HOME"] = str(home)
            DEATHS[:] = [Deaths(here, kill)]
            for name in (*COMMITS, "finish", "save_report"):
                setattr(Store, name, _watched(name, getattr(Store, name)))
            from roundsman.cli import main

            main(list(args))
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0
        finally:
            (here / "points.json").write_text(json.dumps(DEATHS[0].points))
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


COMMITS = ("commit", "begin_unless_stopped")


def _watched(name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, run_id: str, *args: Any) -> Any:
        rows = self._waiting.get(run_id, ())
        tools = [json.loads(row[4]).get("tool") for row in rows if row[2].startswith("action_")]
        if len(tools) == len(rows) > 0 and set(tools) <= STEERING:
            return inner(self, run_id, *args)
        kinds = "+".join(row[2] for row in rows)
        if name in COMMITS and not kinds:
            return inner(self, run_id, *args)
        label = f"commit({kinds})" if name in COMMITS else name
        DEATHS[0].point(f"{label}-before")
        result = inner(self, run_id, *args)
        DEATHS[0].point(f"{label}-after")
        return result

    return call
