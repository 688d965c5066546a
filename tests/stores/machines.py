"""Machines that share a kernel and nothing else a program could tell them by: each has a host name and
process ids of its own, as two containers have, and for whoever is root a network of its own too.

`python tests/stores/machines.py` (root, Linux) lets workers on several of them, with PostgreSQL over
TCP, lose a machine and then the network to one, and prints what became of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

_NAMED = 'hostname "$1"; shift; exec "$@"'


def why_not() -> str:
    """Why there can be no such machines here; empty when there can."""
    if shutil.which("unshare") is None:
        return "unshare (util-linux) is not installed"
    tried = subprocess.run(Machine("probe").command("true"), capture_output=True, text=True)
    return "" if tried.returncode == 0 else f"no namespaces here: {tried.stderr.strip()[:200]}"


@dataclass(frozen=True)
class Machine:
    """A host `name`; `network` names a network namespace made before."""

    name: str
    network: str = ""

    def command(self, *args: str) -> list[str]:
        """The command that runs this there. Who kills it pulls the machine's plug: nothing of it
        goes on."""
        apart = ["--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if os.geteuid() != 0:
            apart += ["--user", "--map-root-user"]
        inside = ["ip", "netns", "exec", self.network] if self.network else []
        return [*inside, "unshare", *apart, "sh", "-c", _NAMED, "sh", self.name, *args]


def _main() -> None:
    import tempfile
    import time
    from collections import Counter
    from pathlib import Path

    from crew import Crew, check
    from journals import Journal

    from roundsman.drill.database_server import database_server

    def ip(*args: str) -> None:
        subprocess.run(["ip", *args], check=True)

    names = ("alpha", "beta", "gamma")
    home = Path(tempfile.mkdtemp(prefix="machines-"))
    with database_server() as server:
        with (server.postgres._data / "postgresql.conf").open("a") as config:
            config.write("listen_addresses = '*'\n")
        server.postgres.let_in("host all all 10.77.0.0/16 trust")
        server.supervisor.stop(server.process)
        server.supervisor.wait_ready(server.supervisor.start(server.postgres.spec()))
        url = server.new_database()
        crew = Crew(Journal(home, url))
        os.environ |= crew.journal.env
        pids: dict[str, int] = {}

        def start(name: str, number: int) -> None:
            ip("netns", "add", name)
            ip("link", "add", f"v{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("addr", "add", f"10.77.{number}.1/30", "dev", f"v{name}")
            ip("link", "set", f"v{name}", "up")
            for command in (
                ("addr", "add", f"10.77.{number}.2/30", "dev", "eth0"),
                ("link", "set", "eth0", "up"),
                ("link", "set", "lo", "up"),
            ):
                ip("-n", name, *command)
            crew.through = tuple(Machine(name, name).command())
            there = {"ROUNDSMAN_DB": url.replace("127.0.0.1", f"10.77.{number}.1")}
            pids[name] = crew.start("--per-worker", "2", "--at-once", "6", env=there)

        began = time.monotonic()

        def say(text: str) -> None:
            print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)

        def until(what: str, *, name: str = "", times: int = 1) -> str:
            seen = 0
            while True:
                pid, line = crew.lines.get(timeout=150)
                whose = next((n for n, p in pids.items() if p == pid), "?")
                if line is None:
                    code = crew.running.pop(pid).returncode
                    line = f"ended with {code}"
                if not line.startswith("did"):
                    say(f"{whose}: {line}")
                done[whose] += line.startswith("did")
                if line.startswith(what) and name in ("", whose):
                    seen += 1
                    if seen == times:
                        return line

        done: Counter[str] = Counter()
        try:
            asked = crew.submit(24)
            for number, name in enumerate(names[:2], start=1):
                start(name, number)
            until("did", name="beta", times=40)
            crew.kill(pids["beta"])
            say("beta lost its power")
            until("took over", name="alpha")
            start("gamma", 3)
            until("ready", name="gamma")
            asked += crew.submit(24)
            until("did", name="gamma", times=20)
            ip("link", "set", "vgamma", "down")
            say("gamma lost its network")
            until("took over", name="alpha")
            ip("link", "set", "vgamma", "up")
            say("gamma has its network again")
            until("stopped:", name="gamma")
            while any(job.status in ("queued", "running") for job in _jobs()):
                until("ended")
            for _ in range(3):
                if not crew.answer():
                    break
                while any(job.status in ("queued", "running") for job in _jobs()):
                    until("ended")
            check(crew, asked)
            writes = sum(t.get("ran") == "set_valve" for t in crew.truth())
            say(f"all {len(asked)} over, each write once ({writes}); done by {dict(done)}")
        finally:
            crew.end()
            for name in names:
                subprocess.run(["ip", "netns", "del", name], capture_output=True)
    shutil.rmtree(home)


def _jobs() -> list[object]:
    from roundsman.worker import Queue

    with Queue() as queue:
        return list(queue.jobs(open_only=True))


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    _main()
